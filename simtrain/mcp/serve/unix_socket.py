"""A Unix socket to listen on, for its owner alone, gone when serving ends."""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from simtrain.values.errors import InputError


@contextmanager
def unix_socket(path: Path, *, backlog: int) -> Generator[socket.socket]:
    """Listen at a path while the block runs. A socket that a killed server left there is replaced. Raises InputError."""
    _make_room(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        try:
            bound.bind(str(path))
            # Before it listens: until then nobody can connect, whatever the file's mode.
            path.chmod(0o600)
            bound.listen(backlog)
        except OSError as error:
            raise _refused(path, f"cannot listen here: {error.strerror or error}") from None
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def _make_room(path: Path) -> None:
    if not path.exists():
        return
    if not path.is_socket():
        raise _refused(path, "this is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trying, suppress(ConnectionRefusedError):
        # A socket file outlives a killed server; only a connection shows whether somebody still listens.
        trying.connect(str(path))
        raise _refused(path, "somebody listens here already")
    path.unlink(missing_ok=True)


def _refused(path: Path, problem: str) -> InputError:
    return InputError(problem, remedy="name another path with --socket", file=path)

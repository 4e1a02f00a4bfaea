"""Cost of a call in a session: in this process, over a Unix socket, and in batches; memory of 2,000 open sessions."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from depot import CALLS, SEARCH, freeze, scenario
from report import Figure, apart, arguments, cpu, resident, show

from simtrain import Sessions

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parent / "simtrain" / "integrations" / "client"
TOGETHER = 32
OPEN = 2_000
CALL: tuple[str, dict[str, Any]] = (SEARCH, {"text": "an"})

Batch: TypeAlias = "Sequence[tuple[Any, str, dict[str, Any]]]"


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    freeze()
    figures = [*_in_process(options.rounds), *_over_a_socket(options.rounds), *_memory()]
    show("sessions", figures, as_json=options.json)


def _in_process(rounds: int) -> list[Figure]:
    with Sessions() as sessions:
        open_one = partial(sessions.open, scenario("read"))
        one = _best(open_one, _one_by_one, rounds=rounds)
        many = _best(open_one, partial(_batches, sessions.calls), rounds=rounds)
    return [
        Figure("call in-process", one, "ms", 0.15),
        Figure(f"call in-process, in batches of {TOGETHER}", many, "ms", 0.2),
    ]


def _over_a_socket(rounds: int) -> list[Figure]:
    sys.path.insert(0, str(CLIENT))
    from simtrain_client import Sessions as Remote  # pyright: ignore[reportMissingImports]

    with (
        tempfile.TemporaryDirectory() as folder,
        _serving(Path(folder) / "s.sock") as (address, server),
        Remote(address) as sessions,
    ):
        one = _best(sessions.open, _one_by_one, rounds=rounds, server=server)
        many = _best(sessions.open, partial(_batches, sessions.calls), rounds=rounds, server=server)
    return [
        Figure("call over a Unix socket, client and server", one, "ms", 1.2),
        Figure(f"call over a Unix socket, client and server, in batches of {TOGETHER}", many, "ms", 0.2),
    ]


@contextmanager
def _serving(socket: Path) -> Generator[tuple[str, int]]:
    """A server of sessions in a process of its own: its address and process id."""
    words = [str(HERE / "scenarios" / "read.yaml"), "--sessions", "--socket", str(socket), "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "simtrain", "serve", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            json.loads(process.stdout.readline())
            yield str(socket), process.pid
        finally:
            process.terminate()


def _best(
    open_one: Callable[[], Any], play: Callable[[Sequence[Any]], None], *, rounds: int, server: int | None = None
) -> float:
    """CPU milliseconds of a call, of this process and of the server's, best of several rounds."""
    return min(_round(open_one, play, server) for _ in range(rounds)) * 1000 / (TOGETHER * CALLS)


def _round(open_one: Callable[[], Any], play: Callable[[Sequence[Any]], None], server: int | None) -> float:
    opened = [open_one() for _ in range(TOGETHER)]
    before = _cpu_of(server)
    spent = cpu(lambda: play(opened), rounds=1)
    spent += _cpu_of(server) - before
    for session in opened:
        session.close()
    return spent


def _cpu_of(process: int | None) -> float:
    """CPU seconds of another process so far, from its threads' own accounts, which are finer than clock ticks."""
    if process is None:
        return 0.0
    time.sleep(0.02)
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def _one_by_one(opened: Sequence[Any]) -> None:
    for _ in range(CALLS):
        for session in opened:
            session.call(*CALL)


def _batches(calls: Callable[[Batch], Sequence[object]], opened: Sequence[Any]) -> None:
    for _ in range(CALLS):
        calls([(session, *CALL) for session in opened])


def _memory() -> list[Figure]:
    return [
        Figure(f"{OPEN:,} open sessions, after a call each, beyond the first", apart(_open_many) / 1024 / OPEN, "KB")
    ]


def _open_many() -> int:
    with Sessions() as sessions:
        found = scenario("read")
        sessions.open(found).call(*CALL)
        before = resident()
        for _ in range(OPEN):
            sessions.open(found).call(*CALL)
        assert len(sessions) == OPEN + 1
        return resident() - before


if __name__ == "__main__":
    main()

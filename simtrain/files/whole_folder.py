"""Folders that appear whole or not at all, and files of which all are written or none."""

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from simtrain.files.jsonl import temporary_name, unwritable
from simtrain.values.errors import InputError


@contextmanager
def whole_folder(out: Path) -> Generator[Path]:
    """Open a folder for writing, which replaces `out` if the block ends without an error. Raises InputError if it
    cannot be written.
    """
    temporary = temporary_name(out)
    try:
        # A killed process may have left one.
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        # A rename cannot replace a folder that has content.
        if out.is_dir():
            shutil.rmtree(out)
        temporary.rename(out)
    except OSError as error:
        raise unwritable(out, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_files(contents: Mapping[Path, str | bytes]) -> list[Path]:
    """Write all files, or none if one cannot be written. Raises InputError."""
    before = {path: path.read_bytes() if path.exists() else None for path in contents}
    begun: list[Path] = []
    try:
        for path, text in contents.items():
            # Outermost first, so that undoing in reverse empties the inner ones first.
            begun += reversed([folder for folder in path.parents if not folder.exists()])
            path.parent.mkdir(parents=True, exist_ok=True)
            begun.append(path)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
    except OSError as error:
        for path in reversed(begun):
            if (old := before.get(path)) is not None:
                path.write_bytes(old)
            elif path.is_dir():
                path.rmdir()
            elif path.exists():
                path.unlink()
        raise InputError(
            f"cannot be written: {error.strerror}", remedy="choose another folder", file=error.filename
        ) from None
    return list(contents)

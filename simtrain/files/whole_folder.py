"""Write folders atomically: whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from simtrain.files.jsonl import temporary_name, unwritable


@contextmanager
def whole_folder(out: Path) -> Generator[Path]:
    """Open a folder for writing, which replaces `out` if the block ends without an error. Raises InputError if it
    cannot be written.
    """
    temporary = temporary_name(out)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        if out.is_dir():
            shutil.rmtree(out)
        temporary.rename(out)
    except OSError as error:
        raise unwritable(out, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)

"""The file in which `simtrain serve` says where its control plane is: whole or not there, for its owner alone, gone when serving ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from simtrain.errors import InputError

if TYPE_CHECKING:
    from simtrain.serving.listening import Door


@contextmanager
def control_file(path: Path) -> Generator[Callable[[Door], None]]:
    """What writes the file; it goes with the block. Raises InputError at once for a place that cannot be written."""
    remedy = "name another file with --control-file"
    if path.is_dir():
        raise InputError("this is a folder", remedy=remedy, file=path)
    begun = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with ExitStack() as stack:
        try:
            descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            stack.callback(begun.unlink, missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", remedy=remedy, file=path) from None
        file = stack.enter_context(os.fdopen(descriptor, "wb"))

        def publish(door: Door) -> None:
            file.write(orjson.dumps({"url": door.control_url, "token": door.control_token, "mcp": door.url}))
            file.flush()
            begun.replace(path)
            stack.callback(path.unlink, missing_ok=True)

        yield publish

"""Wheels of pure Python beside a world file (https://packaging.python.org/en/latest/specifications/binary-distribution-format/)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from io import BytesIO
from zipfile import BadZipFile, ZipFile

from simtrain.files.file_bytes import file_bytes
from simtrain.files.yaml_files import Document, Place
from simtrain.worlds.machine.spec import MachineSpec

_NAME = re.compile(r"[^-]+-[^-]+(?:-\d[^-]*)?-[\w.]+-none-any\.whl")
_LARGEST = 20_000_000


@dataclass(frozen=True, slots=True)
class Wheel:
    """What a wheel says and holds: files by path in site-packages."""

    version: str
    summary: str
    requires: tuple[str, ...]
    files: dict[str, bytes]


def wheels(spec: MachineSpec) -> Iterator[str]:
    """Yield the wheels that a world names."""
    for versions in spec.index.pip.values():
        yield from (one.wheel for one in versions if one.wheel is not None)


def read_wheel(document: Document, name: str, place: Place) -> Wheel:
    """Read a wheel. Raises InputError if it is missing, damaged, too large, or holds more than pure Python."""
    path = document.path.parent / name
    if not _NAME.fullmatch(path.name):
        raise document.error(place, f"{path.name!r} is no wheel of pure Python", "its name ends in -none-any.whl")
    if not path.is_file():
        raise document.error(place, f"there is no file {name!r} beside the world file", "the path is relative to it")
    try:
        with ZipFile(BytesIO(file_bytes(path, most=_LARGEST))) as opened:
            if sum(one.file_size for one in opened.infolist()) > _LARGEST:
                raise document.error(place, f"{path.name!r} unpacks to more than {_LARGEST} bytes")
            files = {one.filename: opened.read(one) for one in opened.infolist() if not one.is_dir()}
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise document.error(place, f"{path.name!r} cannot be unpacked: {error}") from None
    for inside in files:
        if inside.startswith("/") or ".." in inside.split("/"):
            raise document.error(place, f"{path.name!r} holds {inside!r}, which leads out of site-packages")
    told = next((content for inside, content in files.items() if inside.endswith(".dist-info/METADATA")), None)
    if told is None:
        raise document.error(place, f"{path.name!r} has no METADATA", "build it anew")
    head = HeaderParser().parsestr(told.decode("utf-8", "replace"))
    # What only an extra needs is not installed without it.
    needed = tuple(line.partition(";")[0].strip() for line in head.get_all("Requires-Dist", []) if "extra" not in line)
    return Wheel(head.get("Version", "0"), head.get("Summary", ""), needed, files)

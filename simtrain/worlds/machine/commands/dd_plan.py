"""The operands of `dd`: what is copied from where to where, in blocks of which size."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.worlds.machine.commands.ls import quoted

_STREAMS = ("/dev/stdin", "/dev/stdout")
_UNITS = {"": 1, "c": 1, "w": 2, "b": 512}
_NUMBER = re.compile(r"(\d+)(?:([cwb])|([kKMGTPEZY])(iB|B)?)?", re.ASCII)
_FLAGS = frozenset(
    {"append", "cio", "count_bytes", "direct", "directory", "dsync", "fullblock", "noatime", "nocache", "noctty", "nofollow",
     "nolinks", "nonblock", "seek_bytes", "skip_bytes", "sync"}
)  # fmt: skip
_CONVERSIONS = frozenset(
    {"excl", "fdatasync", "fsync", "lcase", "nocreat", "noerror", "notrunc", "sparse", "swab", "sync", "ucase"}
)
_NOT_MODELLED = frozenset({"ascii", "block", "ebcdic", "ibm", "unblock"})
_SIZES = ("bs", "ibs", "obs", "cbs")
_STATUS = ("none", "noxfer", "progress")
_COUNTED = {"count": "count_bytes", "skip": "skip_bytes", "seek": "seek_bytes"}
"""What counts blocks, and the flag with which it counts bytes."""
_ALSO = {"iseek": "skip", "oseek": "seek"}


class DdRefused(Exception):
    """Raised for operands that dd refuses; `hint` says that the line about --help follows."""

    def __init__(self, text: str, *, hint: bool = False) -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What is copied where: `read` and `written` are sizes of blocks, `skip`, `seek` and `most` numbers of bytes.

    `source` and `target` are None for standard input and output, `most` for all that there is.
    """

    source: str | None
    target: str | None
    read: int
    written: int
    skip: int
    seek: int
    most: int | None
    conversions: frozenset[str]
    appends: bool
    status: str


def copy_plan(operands: Sequence[str]) -> CopyPlan:
    """Return what the operands ask for. Raises DdRefused."""
    given: dict[str, str] = {}
    lists: dict[str, set[str]] = {"conv": set(), "iflag": set(), "oflag": set()}
    for word in operands:
        name, equals, value = word.partition("=")
        name = _ALSO.get(name, name)
        if equals and name in lists:
            lists[name] |= _names(name, value)
        elif equals and name in ("if", "of", "status", *_COUNTED, *_SIZES):
            given[name] = value
        else:
            raise DdRefused(f"unrecognized operand {quoted(word)}", hint=True)
    status = given.get("status", "")
    if status and status not in _STATUS:
        raise DdRefused(f"invalid status level: {quoted(status)}", hint=True)
    if {"lcase", "ucase"} <= lists["conv"]:
        raise DdRefused("cannot combine lcase and ucase")
    sizes = {name: _size(given[name]) for name in _SIZES if name in given}
    read, written = (sizes.get("bs", sizes.get(name, 512)) for name in ("ibs", "obs"))
    lengths: dict[str, int] = {}
    for name, flag in _COUNTED.items():
        block = written if name == "seek" else read
        if name in given:
            in_bytes = flag in lists["oflag" if name == "seek" else "iflag"]
            lengths[name] = _length(given[name], 1 if in_bytes else block)
    source, target = (None if given.get(name) in _STREAMS else given.get(name) for name in ("if", "of"))
    return CopyPlan(
        source, target, read, written, lengths.get("skip", 0), lengths.get("seek", 0), lengths.get("count"),
        frozenset(lists["conv"]), "append" in lists["oflag"], status,
    )  # fmt: skip


def _names(kind: str, value: str) -> set[str]:
    names = set(value.split(","))
    known = _CONVERSIONS if kind == "conv" else _FLAGS
    what = {"conv": "conversion", "iflag": "input flag", "oflag": "output flag"}[kind]
    for name in sorted(names - known):
        if kind == "conv" and name in _NOT_MODELLED:
            raise DdRefused(f"conv={name}: Operation not supported")
        raise DdRefused(f"invalid {what}: {quoted(name)}", hint=True)
    return names


def _number(text: str) -> int:
    number = 1
    for part in text.split("x"):
        found = _NUMBER.fullmatch(part)
        if found is None or len(found[1]) > 19:
            raise DdRefused(f"invalid number: {quoted(text)}")
        unit = _UNITS[found[2] or ""]
        if found[3]:
            unit = (1000 if found[4] == "B" else 1024) ** ("KMGTPEZY".index(found[3].upper()) + 1)
        number *= int(found[1]) * unit
    if number >= 2**63:
        raise DdRefused(f"invalid number: {quoted(text)}: Value too large for defined data type")
    return number


def _size(text: str) -> int:
    number = _number(text)
    if number == 0:
        raise DdRefused(f"invalid number: {quoted(text)}")
    return number


def _length(text: str, block: int) -> int:
    """Return a length in bytes: a number of blocks, or of bytes if it ends in B."""
    if text.endswith("B") and text[-2:-1].isdigit():
        return _number(text[:-1])
    return _number(text) * block

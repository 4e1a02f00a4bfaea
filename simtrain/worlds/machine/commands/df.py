"""df: how full the disks are."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.commands.sizes import NumberRefused, human, whole_number
from simtrain.worlds.machine.invocation import Invocation, Result

_LONG = {
    "human-readable": "h", "si": "H", "inodes": "i", "print-type": "T", "portability": "P", "all": "a", "local": "l",
    "total": "total", "block-size=": "B", "type=": "t", "exclude-type=": "x", "output=?": "output", "sync": "sync",
    "no-sync": "sync",
}  # fmt: skip
_INODES = 1_310_720
_FIELDS: tuple[str, ...] = (
    "source", "fstype", "itotal", "iused", "iavail", "ipcent", "size", "used", "avail", "pcent", "file", "target",
)  # fmt: skip
_CAPTIONS: dict[str, str] = dict(
    zip(
        _FIELDS,
        (
            "Filesystem",
            "Type",
            "Inodes",
            "IUsed",
            "IFree",
            "IUse%",
            "Size",
            "Used",
            "Avail",
            "Use%",
            "File",
            "Mounted on",
        ),
        strict=True,
    )
)
_WIDTHS = {"source": 14, "fstype": 4, "ipcent": 4, "pcent": 4, "file": 0, "target": 0}
"""The least width of a column; 5 for all others."""
_LEFT = frozenset({"source", "fstype", "file", "target"})
_LETTERS = re.compile(r"[kKMGTPE](?:iB|B)?")


class _SizeRefused(Exception):
    """Raised for a size of blocks that is none."""


@dataclass(frozen=True, slots=True)
class _Mount:
    """A file system: where it is mounted, and its sizes in bytes; `file` is the operand that asked for it."""

    source: str
    fstype: str
    size: int
    used: int
    nodes: int
    target: str
    file: str = "-"
    used_nodes: int = 0


@dataclass(frozen=True, slots=True)
class _Scale:
    """How sizes are written: in blocks of `block` bytes, with `suffix` behind them, or in short if `unit` is 1000 or 1024."""

    block: int = 1024
    caption: str = "1K"
    suffix: str = ""
    unit: int = 0

    def written(self, amount: int) -> str:
        """Return an amount of bytes, rounded up."""
        return human(amount, self.unit) if self.unit else f"{-(-amount // self.block)}{self.suffix}"


def df(call: Invocation) -> Result:
    """Print size, use and rest of the disks on which files lie, or of all of them."""
    options = parsed(call, "ahHiklmPTvB:t:x:", _LONG)
    if isinstance(options, Result):
        return options
    try:
        scale = _scale(options)
        fields = _fields(options)
    except _SizeRefused as error:
        return call.fail(str(error))
    except ValueError as error:
        return usage(call, str(error))
    mounts, errors = _asked(call, options)
    kinds, without = set(options.values("t")), set(options.values("x"))
    mounts = [mount for mount in mounts if mount.fstype not in without and (not kinds or mount.fstype in kinds)]
    if not mounts:
        return Result(stderr=errors or "df: no file systems processed\n", exit_code=1)
    if options.has("total"):
        size, used, nodes, taken = (sum(each) for each in zip(*map(_sums, mounts), strict=True))
        mounts.append(_Mount("total", "-", size, used, nodes, "-", used_nodes=taken))
    rows = [[_CELLS[field](mount, scale) for field in fields] for mount in mounts]
    return Result(_table(fields, [_header(options, fields, scale), *rows]), errors, int(bool(errors)))


def _asked(call: Invocation, options: Options) -> tuple[list[_Mount], str]:
    tree = call.files.tree
    size, used = call.files.disk.size, min(tree.used, call.files.disk.size)
    mounts = [
        _Mount("udev", "devtmpfs", 2_000_000_000, 0, 488_281, "/dev", used_nodes=300),
        _Mount("/dev/vda1", "ext4", size, used, _INODES, "/", used_nodes=tree.count()),
        _Mount("tmpfs", "tmpfs", 400_000_000, 0, 97_656, "/run", used_nodes=400),
    ]
    if not options.operands:
        return mounts, ""
    found, errors = list[_Mount](), ""
    for name in options.operands:
        if not call.files.exists(call.path(name)):
            errors += f"df: {name}: No such file or directory\n"
            continue
        real = f"{call.files.real(call.path(name))}/"
        there = next(
            (mount for mount in mounts if mount.target != "/" and real.startswith(f"{mount.target}/")), mounts[1]
        )
        found.append(replace(there, file=name))
    return found, errors


def _sums(mount: _Mount) -> tuple[int, int, int, int]:
    return mount.size, mount.used, mount.nodes, mount.used_nodes


def _scale(options: Options) -> _Scale:
    last = options.last("h", "H", "k", "m", "B")
    if last in ("h", "H"):
        return _Scale(unit=1024 if last == "h" else 1000)
    text = {"k": "1K", "m": "1M"}.get(last or "k", options.value("B") or "1K")
    try:
        block = whole_number(text, least=1, units=True)
    except NumberRefused as error:
        raise _SizeRefused(f"invalid -B argument {quoted(text)}{error}") from None
    bare = _LETTERS.fullmatch(text) is not None
    return _Scale(block, _block_caption(block), text.removesuffix("iB") if bare else "")


def _block_caption(block: int) -> str:
    """Return a size of blocks as the heading has it: 1K, 1MB, 512B."""
    for unit, ending in ((1024, ""), (1000, "B")):
        power = 0
        rest = block
        while rest % unit == 0:
            rest, power = rest // unit, power + 1
        if power:
            letters = "KMGTPE" if unit == 1024 else "kMGTPE"
            return f"{rest}{letters[power - 1]}{ending}"
    return f"{block}B"


def _fields(options: Options) -> list[str]:
    if options.has("output"):
        clash = next((letter for letter in "iPT" if options.has(letter)), None)
        if clash is not None:
            raise ValueError(f"options -{clash} and --output are mutually exclusive")
        named = [name for value in options.values("output") if value for name in value.split(",")]
        for name in named:
            if name not in _FIELDS:
                raise ValueError(f"option --output: field {quoted(name)} unknown")
        for place, name in enumerate(named):
            if name in named[:place]:
                raise ValueError(f"option --output: field {quoted(name)} used more than once")
        return named or list(_FIELDS)
    counted = ["itotal", "iused", "iavail", "ipcent"] if options.has("i") else ["size", "used", "avail", "pcent"]
    return ["source", *(["fstype"] if options.has("T") else []), *counted, "target"]


def _header(options: Options, fields: list[str], scale: _Scale) -> list[str]:
    captions = dict(_CAPTIONS)
    if not scale.unit:
        captions["size"] = f"{scale.caption}-blocks"
        if not options.has("output"):
            captions["avail"] = "Available"
    if options.has("P") and not scale.unit:
        captions["pcent"] = "Capacity"
        captions["size"] = f"{scale.block}-blocks"
    return [captions[field] for field in fields]


def _share(used: int, size: int) -> str:
    return f"{-(-used * 100 // size)}%" if size else "-"


_CELLS: dict[str, Callable[[_Mount, _Scale], str]] = {
    "source": lambda mount, _: mount.source,
    "fstype": lambda mount, _: mount.fstype,
    "itotal": lambda mount, scale: human(mount.nodes, scale.unit) if scale.unit else str(mount.nodes),
    "iused": lambda mount, scale: human(mount.used_nodes, scale.unit) if scale.unit else str(mount.used_nodes),
    "iavail": lambda mount, scale: (
        human(mount.nodes - mount.used_nodes, scale.unit) if scale.unit else str(mount.nodes - mount.used_nodes)
    ),
    "ipcent": lambda mount, _: _share(mount.used_nodes, mount.nodes),
    "size": lambda mount, scale: scale.written(mount.size),
    "used": lambda mount, scale: scale.written(mount.used),
    "avail": lambda mount, scale: scale.written(mount.size - mount.used),
    "pcent": lambda mount, _: _share(mount.used, mount.size),
    "file": lambda mount, _: mount.file,
    "target": lambda mount, _: mount.target,
}  # fmt: skip


def _table(fields: list[str], rows: list[list[str]]) -> str:
    widths = [max(_WIDTHS.get(field, 5), *(len(row[place]) for row in rows)) for place, field in enumerate(fields)]
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.ljust(width) if field in _LEFT else cell.rjust(width)
            for field, cell, width in zip(fields, row, widths, strict=True)
        ]
        # Nothing is filled up behind the last column.
        lines.append(" ".join([*cells[:-1], row[-1] if fields[-1] in _LEFT else cells[-1]]))
    return "".join(f"{line}\n" for line in lines)

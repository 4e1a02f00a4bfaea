"""df: how full the disk is."""

from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.sizes import human
from simtrain.worlds.machine.invocation import Invocation, Result

_LONG = {
    "human-readable": "h",
    "si": "H",
    "inodes": "i",
    "print-type": "T",
    "portability": "P",
    "all": "a",
    "total": "t0",
    "block-size=": "B",
}


def df(call: Invocation) -> Result:
    """Print size, use and rest of the disk on which files lie."""
    options = parsed(call, "hHiTPakmt:x:B:", _LONG)
    if isinstance(options, Result):
        return options
    for name in options.operands:
        if not call.files.exists(call.path(name)):
            return call.fail(f"{name}: No such file or directory")
    size, used = call.files.disk.size, min(call.files.tree.used, call.files.disk.size)
    mounts = [("/dev/vda1", "ext4", size, used, "/")]
    if not options.operands:
        mounts = [("udev", "devtmpfs", 2_000_000_000, 0, "/dev"), *mounts, ("tmpfs", "tmpfs", 400_000_000, 0, "/run")]
    lines = [_row(mount, options.last("h", "H"), _scale(options), typed=options.has("T")) for mount in mounts]
    header = ["Filesystem", *(["Type"] if options.has("T") else []), _unit(options.last("h", "H"), _scale(options)), "Used",
              "Avail" if options.has("h", "H") else "Available", "Use%", "Mounted on"]  # fmt: skip
    if options.has("i"):
        header = ["Filesystem", "Inodes", "IUsed", "IFree", "IUse%", "Mounted on"]
        count = sum(1 for _ in call.files.tree.below("/"))
        most = 1_310_720
        lines = [
            [name, str(most), str(count), str(most - count), f"{-(-count * 100 // most)}%", at]
            for name, _, _, _, at in mounts
        ]
    return Result(_table([header, *lines]))


def _scale(options: Options) -> int:
    """Return the bytes of a block: 1024 unless -m or -B say otherwise."""
    return {"1": 1, "1M": 1024**2, "M": 1024**2}.get(options.value("B") or "", 1024**2 if options.has("m") else 1024)


def _unit(style: str | None, scale: int) -> str:
    return "Size" if style else {1: "1B-blocks", 1024**2: "1M-blocks"}.get(scale, "1K-blocks")


def _row(mount: tuple[str, str, int, int, str], style: str | None, scale: int, *, typed: bool) -> list[str]:
    name, kind, size, used, at = mount
    share = -(-used * 100 // size)

    def shown(amount: int) -> str:
        if style:
            return human(amount, 1000 if style == "H" else 1024)
        return str(-(-amount // scale))

    return [name, *([kind] if typed else []), shown(size), shown(used), shown(size - used), f"{share}%", at]


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    least = [14, *[5] * (len(widths) - 3), 4, 0]
    widths = [max(width, most) for width, most in zip(widths, least, strict=True)]
    lines: list[str] = []
    for row in rows:
        # The first column and the last are set flush left, the others right.
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)),
            row[-1],
        ]
        lines.append(" ".join(cells))
    return "".join(f"{line}\n" for line in lines)

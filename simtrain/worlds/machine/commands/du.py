"""du: how much room files take."""

from fnmatch import fnmatchcase

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.sizes import NumberRefused, blocks, human, whole_number
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_LONG = {
    "all": "a", "apparent-size": "apparent", "bytes": "b", "total": "c", "dereference": "L", "max-depth=": "d",
    "human-readable": "h", "si": "si", "summarize": "s", "one-file-system": "x", "exclude=": "exclude",
    "separate-dirs": "S", "block-size=": "B", "null": "0", "threshold=": "t",
}  # fmt: skip
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "KB": 1000, "MB": 1000**2, "1": 1}


def du(call: Invocation) -> Result:
    """Print the room that each directory takes, in KiB."""
    options = parsed(call, "abcd:hHkLlmPsSxB:t:0", _LONG)
    if isinstance(options, Result):
        return options
    depth = options.value("d")
    if depth is not None and not depth.isdigit():
        return Result(
            stderr=f"du: invalid maximum depth {quoted(depth)}\nTry 'du --help' for more information.\n", exit_code=1
        )
    try:
        least = _threshold(options.value("t") or "0")
    except NumberRefused:
        return call.fail(f"invalid --threshold argument '{options.value('t')}'")
    run = _Run(call, options, least, 0 if options.has("s") else int(depth) if depth is not None else None)
    total = 0
    for name in options.operands or ["."]:
        path = call.path(name)
        follow = options.has("L") or name.endswith("/")
        node = attempt(lambda path=path, follow=follow: call.files.node(path, follow=follow))
        if isinstance(node, OSError):
            run.errors += f"du: cannot access {quoted(name)}: {node.strerror}\n"
            continue
        total += run.add(name, path, node, 0)
    if options.has("c"):
        run.output += run.line(total, "total")
    return Result(run.output, run.errors, 1 if run.errors else 0)


def _threshold(text: str) -> int:
    """Return the size, in bytes, below which nothing is printed; a negative one is that above which nothing is."""
    number = whole_number(text.removeprefix("-"), units=True)
    return -number if text.startswith("-") else number


class _Run:
    def __init__(self, call: Invocation, options: Options, least: int, depth: int | None) -> None:
        self._call = call
        self._options = options
        self._depth = depth
        self._least = least
        self.output = ""
        self.errors = ""

    def line(self, size: int, name: str) -> str:
        options = self._options
        if options.has("h", "si"):
            shown = human(size, 1000 if options.has("si") else 1024)
        else:
            unit = (
                1
                if options.has("b")
                else _UNITS.get(options.value("B") or "", 1024 * 1024 if options.has("m") else 1024)
            )
            shown = str(-(-size // unit))
        return f"{shown}\t{name}" + ("\0" if options.has("0") else "\n")

    def add(self, name: str, path: str, node: TreeNode, level: int) -> int:
        size = node.size if self._options.has("b", "apparent") else blocks(node) * 1024
        if node.kind == "directory":
            names = attempt(lambda: self._call.files.names(path))
            if isinstance(names, OSError):
                self.errors += f"du: cannot read directory {quoted(name)}: {names.strerror}\n"
                names = []
            for each in names:
                if any(fnmatchcase(each, pattern) for pattern in self._options.values("exclude")):
                    continue
                inner = f"{path.rstrip('/')}/{each}"
                below = attempt(lambda inner=inner: self._call.files.node(inner, follow=False))
                if not isinstance(below, OSError):
                    size += self.add(f"{name.rstrip('/')}/{each}", inner, below, level + 1)
        shown = node.kind == "directory" or self._options.has("a") or level == 0
        shown = shown and (size >= self._least if self._least >= 0 else size <= -self._least)
        if shown and (self._depth is None or level <= self._depth):
            self.output += self.line(size, name)
        return size

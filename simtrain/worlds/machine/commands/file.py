"""file: what kind of file each one is."""

from simtrain.worlds.machine.accounts import READ
from simtrain.worlds.machine.binary import as_bytes
from simtrain.worlds.machine.commands.file_kinds import FileKind, kind_of
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_USAGE = "Usage: file [OPTION]... FILE..."
_LONG = {
    "brief": "b", "dereference": "L", "exclude=": "e", "exclude-quiet=": "e", "files-from=": "f", "keep-going": "k", "mime": "i",
    "mime-encoding": "mime-encoding", "mime-type": "mime-type", "no-buffer": "n", "no-dereference": "h", "no-pad": "N",
    "parameter=": "P", "preserve-date": "p", "print0": "0", "raw": "r", "separator=": "F",
    "special-files": "s",
}  # fmt: skip
_NUMBERS = {
    "null": "1/3", "zero": "1/5", "full": "1/7", "random": "1/8", "urandom": "1/9", "tty": "5/0", "console": "5/1",
    "ptmx": "5/2",
}  # fmt: skip
"""Name of a device -> its numbers."""


def file(call: Invocation) -> Result:
    """Print the kind of each file, behind its name."""
    options = parsed(call, "bEe:f:F:hikLnNpP:rsS0", _LONG, hint=_USAGE)
    if isinstance(options, Result):
        return options
    lists: list[list[str]] = []
    for name in options.values("f"):
        if name == "-":
            lists.append((call.stdin or "").splitlines())
            continue
        content = attempt(lambda name=name: call.files.read(call.path(name)))
        if isinstance(content, OSError):
            return call.fail(f"Cannot open `{name}' ({content.strerror})")
        lists.append(content.decode("utf-8", "replace").splitlines())
    if not lists and not options.operands:
        return Result(stderr=f"{_USAGE}\n", exit_code=1)
    output, code = "", 0
    for names in [*lists, options.operands]:
        # Names of a list are lined up among themselves.
        width = 0 if options.has("N") else max((len(name) for name in map(_shown, names)), default=0)
        for name in names:
            told, failed = _told(call, options, name)
            output += _line(options, _shown(name), told, width)
            code = max(code, failed)
    return Result(output, exit_code=code)


def _shown(name: str) -> str:
    if name == "-":
        return "/dev/stdin"
    return "".join(letter if letter.isprintable() else f"\\{ord(letter):03o}" for letter in name)


def _line(options: Options, name: str, told: str, width: int) -> str:
    if options.has("b"):
        return f"{told}\n"
    zeros = sum(letter == "0" for letter, _ in options.given)
    if zeros > 1:
        return f"{name}\0{told}\0"
    mark = options.value("F")
    return f"{name}{chr(0) if zeros else ''}{':' if mark is None else mark}{' ' * (width - len(name))} {told}\n"


def _told(call: Invocation, options: Options, name: str) -> tuple[str, int]:
    """Return what is said of a file, and the exit code that it leads to."""
    if name == "-":
        return _put(options, kind_of(as_bytes(call.stdin or ""))), 0
    path = call.path(name)
    follow = options.last("L", "h") == "L" or name.endswith("/")
    node = (
        attempt(lambda: call.files.node(path, follow=follow))
        if name
        else FileNotFoundError(2, "No such file or directory")
    )
    if isinstance(node, OSError):
        if options.has("E"):
            return f"ERROR: cannot stat `{name}' ({node.strerror})", 1
        return f"cannot open `{name}' ({node.strerror})", 0
    return _put(options, _kind(call, options, path, node)), 0


def _kind(call: Invocation, options: Options, path: str, node: TreeNode) -> FileKind:
    bits = "".join(
        word for bit, word in ((0o4000, "setuid, "), (0o2000, "setgid, "), (0o1000, "sticky, ")) if node.mode & bit
    )
    if node.kind == "directory":
        return FileKind(f"{bits}directory", "inode/directory")
    if node.kind == "link":
        there = call.files.exists(path)
        text = f"{'' if there else 'broken '}symbolic link to {node.target}"
        return FileKind(text, "inode/symlink", "binary" if there else "")
    if node.kind == "device" and not options.has("s"):
        numbers = _NUMBERS.get(call.files.real(path).rpartition("/")[2], "1/3")
        return FileKind(f"character special ({numbers})", "inode/chardevice")
    if node.kind == "file" and not node.size:
        return FileKind(f"{bits}empty", "inode/x-empty")
    if not call.user.may(READ, node):
        runs = "executable, " if node.mode & 0o111 else ""
        return FileKind(f"{bits}{runs}regular file, no read permission", "application/x-not-regular-file")
    found = kind_of(call.files.read(path))
    return FileKind(bits.replace(",", " ,") + found.text, found.mime, found.charset)


def _put(options: Options, kind: FileKind) -> str:
    both = options.has("i") or (options.has("mime-type") and options.has("mime-encoding"))
    if both:
        return f"{kind.mime}; charset={kind.charset}" if kind.charset else kind.mime
    if options.has("mime-type"):
        return kind.mime
    return (kind.charset or "binary") if options.has("mime-encoding") else kind.text

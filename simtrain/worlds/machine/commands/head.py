"""head: the first lines or bytes. The engine's takes minutes for as many lines as a large file has."""

from dataclasses import dataclass, replace

from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.sizes import NumberRefused, whole_number
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_LONG = {
    "bytes=": "c", "lines=": "n", "quiet": "q", "silent": "q", "verbose": "v", "zero-terminated": "z",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Amount:
    """How much is printed: `count` lines or bytes, or all but the last `count`."""

    count: int = 10
    bytes: bool = False
    all_but: bool = False


def head(call: Invocation) -> Result:
    """Print the beginning of each file, or of standard input."""
    call = replace(call, name="head")
    first, *rest = call.arguments or ("",)
    if first[:1] == "-" and first[1:2].isdigit():
        call = _modern(call, first, rest)
    options = parsed(call, "c:n:qvz", _LONG)
    if isinstance(options, Result):
        return options
    try:
        amount = _amount(options)
    except ValueError as error:
        return call.fail(str(error))
    end = b"\0" if options.has("z") else b"\n"
    names = options.operands or ["-"]
    style = options.last("q", "v")
    named = style == "v" or (len(names) > 1 and style != "q")
    printed, errors = list[bytes](), ""
    for name in names:
        content = attempt(lambda name=name: _content(call, name))
        if isinstance(content, OSError):
            opened = content.strerror == "Is a directory"
            problem = f"error reading {quoted(name)}" if opened else f"cannot open {quoted(name)} for reading"
            errors += f"head: {problem}: {content.strerror}\n"
            if not opened:
                continue
            content = b""
        if named:
            title = "standard input" if name == "-" else name
            printed.append(b"\n" * bool(printed) + f"==> {title} <==\n".encode("utf-8", "surrogateescape"))
        printed.append(_beginning(content, amount, end))
    return Result(as_text(b"".join(printed)), errors, int(bool(errors)))


def _modern(call: Invocation, first: str, rest: list[str]) -> Invocation:
    """Return a call in which `-5` or `-5c` is written as `-n 5` or `-c 5`."""
    digits = first[1:].rstrip("bcklmqvz")
    letters = first[1 + len(digits) :]
    unit = next((letter for letter in letters if letter in "bkm"), "")
    counted = "-c" if unit or "c" in letters else "-n"
    flags = [f"-{letter}" for letter in letters if letter in "qvz"]
    arguments = (counted, digits + {"k": "K", "m": "M"}.get(unit, unit), *flags, *rest)
    return replace(call, arguments=arguments)


def _amount(options: Options) -> _Amount:
    kind = options.last("c", "n")
    text = options.value(kind) if kind else None
    if kind is None or text is None:
        return _Amount()
    digits = text.removeprefix("-")
    try:
        count = whole_number(digits, units=True)
    except NumberRefused as error:
        raise ValueError(f"invalid number of {'bytes' if kind == 'c' else 'lines'}: {quoted(digits)}{error}") from None
    return _Amount(count, kind == "c", text.startswith("-"))


def _content(call: Invocation, name: str) -> bytes:
    return as_bytes(call.stdin or "") if name in ("-", "/dev/stdin") else call.files.read(call.path(name))


def _beginning(content: bytes, amount: _Amount, end: bytes) -> bytes:
    if amount.bytes:
        return content[: max(0, len(content) - amount.count)] if amount.all_but else content[: amount.count]
    if amount.all_but:
        # A last line without an end is a line.
        at = len(content) - (content[-1:] == end)
        for _ in range(amount.count):
            at = content.rfind(end, 0, max(0, at))
            if at < 0:
                return b""
        return content[: at + 1] if amount.count else content
    at = -1
    for _ in range(amount.count):
        at = content.find(end, at + 1)
        if at < 0:
            return content
    return content[: at + 1]

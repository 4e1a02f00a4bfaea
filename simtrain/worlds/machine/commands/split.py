"""split: pieces of a file as files of their own. The engine's refuses most options, and cuts `-n` otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, repeat

from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.commands.ls import needs_quotes, quoted
from simtrain.worlds.machine.commands.options import Options, parsed, usage
from simtrain.worlds.machine.commands.sizes import NumberRefused, whole_number
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

MOST_PIECES = 10_000
"""The most files that one call makes: then the disk has no more of them."""
MOST_FILTERS = 200
"""The most commands that one call starts."""
_LONGEST_SUFFIX = 4096
_ALPHABETS = {"": "abcdefghijklmnopqrstuvwxyz", "d": "0123456789", "x": "0123456789abcdef"}
_WAYS = ("l", "b", "C", "n")
_LONG = {
    "bytes=": "b", "lines=": "l", "line-bytes=": "C", "number=": "n", "elide-empty-files": "e", "unbuffered": "u",
    "suffix-length=": "a", "additional-suffix=": "additional-suffix", "numeric-suffixes=?": "d", "hex-suffixes=?": "x",
    "filter=": "filter", "verbose": "verbose", "separator=": "t",
}  # fmt: skip


class _SplitRefused(Exception):
    """Raised for options that split refuses; `hint` says that the line about --help follows."""

    def __init__(self, text: str, *, hint: bool = False) -> None:
        super().__init__(text)
        self.hint = hint


def split(call: Invocation) -> Result:
    """Write the pieces of a file, or of what is read, to files whose names count up."""
    options = parsed(call, "a:b:C:del:n:t:ux0123456789", _LONG)
    if isinstance(options, Result):
        return options
    try:
        plan = _plan(call, options)
    except _SplitRefused as error:
        return usage(call, str(error)) if error.hint else call.fail(str(error))
    return _run(call, plan)


@dataclass(frozen=True, slots=True)
class _Way:
    """How pieces are cut: by `kind`, a letter of an option or of `-n`, `size` of them or of each; `part` is the only one asked for."""

    kind: str = "l"
    size: int = 1000
    part: int = 0

    @property
    def counts(self) -> bool:
        """Whether the number of pieces is given."""
        return self.kind.startswith("n")


@dataclass(frozen=True, slots=True)
class _SplitPlan:
    way: _Way
    source: str
    prefix: str
    suffixes: Iterator[str]
    ending: str
    separator: bytes
    elides: bool
    told: bool
    command: str | None


def _plan(call: Invocation, options: Options) -> _SplitPlan:
    way = _way(options)
    given = options.value("a")
    length = 0 if given is None else _number(given, "suffix length", least=0)
    separator = _separator(options.values("t"))
    ending = options.value("additional-suffix") or ""
    if "/" in ending:
        raise _SplitRefused(f"invalid suffix '{ending}', contains directory separator", hint=True)
    alphabet = _ALPHABETS[options.last("d", "x") or ""]
    start = _start(options)
    width = _width(way, len(alphabet), start, length)
    if len(options.operands) > 2:
        raise _SplitRefused(f"extra operand {quoted(options.operands[2])}", hint=True)
    if len(start) > width:
        raise _SplitRefused("numerical suffix start value is too large for the suffix length", hint=True)
    command = options.value("filter")
    if command is not None and way.part:
        raise _SplitRefused("--filter does not process a chunk extracted to stdout", hint=True)
    grows = not length and not start and not way.counts
    return _SplitPlan(
        way,
        source=options.operands[0] if options.operands else "-",
        prefix=options.operands[1] if len(options.operands) > 1 else "x",
        suffixes=_suffixes(alphabet, width, int(start or "0", len(alphabet)) if alphabet[0] == "0" else 0, grows=grows),
        ending=ending,
        separator=separator,
        elides=options.has("e"),
        told=options.has("verbose"),
        command=command,
    )


def _number(text: str, what: str, *, least: int = 1, units: bool = False) -> int:
    try:
        return whole_number(text, least=least, units=units)
    except NumberRefused as error:
        raise _SplitRefused(f"invalid {what}: {quoted(text)}{error}") from None


def _way(options: Options) -> _Way:
    digits = "".join(name for name, _ in options.given if name.isdigit())
    ways = [(name, value) for name, value in options.given if name in _WAYS]
    if len(ways) + bool(digits) > 1:
        raise _SplitRefused("cannot split in more than one way", hint=True)
    if digits:
        ways = [("l", digits)]
    for name, value in ways:
        if name == "n":
            return _chunks(value)
        return _Way(name, _number(value, "number of lines" if name == "l" else "number of bytes", units=name != "l"))
    return _Way()


def _chunks(value: str) -> _Way:
    kind, text = ("n" + value[0], value[2:]) if value[:2] in ("l/", "r/") else ("n", value)
    before, _, whole = text.rpartition("/")
    if "/" in before:
        before, _, whole = text.partition("/")
    size = _number(whole, "number of chunks")
    if not before:
        return _Way(kind, size)
    part = _number(before, "chunk number")
    if part > size:
        raise _SplitRefused(f"invalid chunk number: {quoted(before)}: Numerical result out of range")
    return _Way(kind, size, part)


def _separator(given: list[str]) -> bytes:
    for text in given:
        if not text:
            raise _SplitRefused("empty record separator")
        if text != "\\0" and len(as_bytes(text)) > 1:
            raise _SplitRefused(f"multi-character separator {quoted(text)}")
    if len(set(given)) > 1:
        raise _SplitRefused("multiple separator characters specified")
    return b"\n" if not given else b"\0" if given[0] == "\\0" else as_bytes(given[0])


def _start(options: Options) -> str:
    """Return the digits that suffixes begin with, without zeros before them; empty if none are given."""
    start = ""
    for name, value in options.given:
        if name in ("d", "x") and value:
            if set(value) - set(_ALPHABETS[name]):
                kind = "numerical" if name == "d" else "hexadecimal"
                raise _SplitRefused(f"{quoted(value)}: invalid start value for {kind} suffix", hint=True)
            start = value.lstrip("0") or "0"
    return start


def _width(way: _Way, letters: int, start: str, length: int) -> int:
    needed = 0
    if way.counts:
        last = way.size - 1
        # A first number beyond the number of files tells of several calls, whose names are to sort as one.
        if start.isdigit() and len(start) < 20 and int(start) < way.size:
            last += int(start)
        needed = 1
        while letters**needed <= last:
            needed += 1
    if length and length < needed:
        raise _SplitRefused(f"the suffix length needs to be at least {needed}")
    return min(length, _LONGEST_SUFFIX) or max(2, needed)


def _suffixes(alphabet: str, width: int, start: int, *, grows: bool) -> Iterator[str]:
    """Yield suffixes in order. If they may grow, those that begin with the last letter are kept for longer ones."""
    base, level = len(alphabet), 0
    while True:
        digits = width + level
        end = base**digits - base ** (digits - 1) if grows else base**digits
        for number in range(start, end):
            letters = ""
            for _ in range(digits):
                number, digit = divmod(number, base)
                letters = alphabet[digit] + letters
            yield alphabet[-1] * level + letters
        if not grows:
            return
        level += 1


def _run(call: Invocation, plan: _SplitPlan) -> Result:
    name, way = plan.source, plan.way
    shown = _plain(name)
    if name != "-":
        node = attempt(lambda: call.files.node(call.path(name)))
        if not isinstance(node, OSError) and node.kind == "directory":
            return call.fail(f"{shown}: {'cannot determine file size: ' if way.counts else ''}Is a directory")
        content = attempt(lambda: call.files.read(call.path(name)))
        if isinstance(content, OSError):
            return call.fail(f"cannot open {quoted(name)} for reading: {content.strerror}")
    elif way.kind in ("n", "nl") and call.stdin:
        # What is piped has no size.
        return call.fail("-: cannot determine file size")
    else:
        content = as_bytes(call.stdin or "")
    if way.part:
        parts = _parts(content, way, plan.separator)
        return Result(as_text(next((piece for place, piece in parts if place == way.part - 1), b"")))
    return _write(call, plan, _pieces(content, way, plan.separator, elides=plan.elides))


def _plain(name: str) -> str:
    return quoted(name) if needs_quotes(name) else name


def _records(content: bytes, separator: bytes) -> list[bytes]:
    parts = content.split(separator)
    last = parts.pop()
    return [part + separator for part in parts] + ([last] if last else [])


def _pieces(content: bytes, way: _Way, separator: bytes, *, elides: bool) -> Iterator[bytes]:
    if way.kind == "b":
        for at in range(0, len(content), way.size):
            yield content[at : at + way.size]
    elif way.kind == "l":
        records = _records(content, separator)
        for at in range(0, len(records), way.size):
            yield b"".join(records[at : at + way.size])
    elif way.kind == "C":
        yield from _filled(_records(content, separator), way.size)
    else:
        reached = 0
        for place, piece in _parts(content, way, separator):
            yield from repeat(b"", 0 if elides else place - reached)
            yield piece
            reached = place + 1
        yield from repeat(b"", 0 if elides else way.size - reached)


def _filled(records: list[bytes], size: int) -> Iterator[bytes]:
    """Yield pieces of whole records as far as they fit; a longer record is cut."""
    piece: list[bytes] = []
    held = 0
    for record in records:
        rest = record
        if held and held + len(rest) > size:
            yield b"".join(piece)
            piece, held = [], 0
        start = 0
        while len(rest) - start > size:
            yield rest[start : start + size]
            start += size
        rest = rest[start:]
        piece.append(rest)
        held += len(rest)
    if held:
        yield b"".join(piece)


def _parts(content: bytes, way: _Way, separator: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a given number that are not empty, each with its place, in order."""
    length, last = max(1, len(content) // way.size), way.size - 1
    if way.kind == "n":
        for place in range(min(last, len(content))):
            yield place, content[place * length : (place + 1) * length]
        rest = content[last * length :]
        if rest:
            yield last, rest
        return
    records = _records(content, separator)
    if way.kind == "nr":
        for place in range(min(way.size, len(records))):
            yield place, b"".join(records[place :: way.size])
        return
    start, held, place = 0, list[bytes](), 0
    for record in records:
        # A record belongs to the part in which its first byte lies.
        begun = min(start // length, last)
        if begun != place and held:
            yield place, b"".join(held)
            held = []
        place = begun
        held.append(record)
        start += len(record)
    if held:
        yield place, b"".join(held)


def _write(call: Invocation, plan: _SplitPlan, found: Iterator[bytes]) -> Result:
    output: list[str] = []
    errors: list[str] = []
    source = None if plan.source == "-" else attempt(lambda: call.files.real(call.path(plan.source)))
    limit = MOST_PIECES if plan.command is None else MOST_FILTERS

    def failed(text: str, code: int = 1) -> Result:
        return Result("".join(output), "".join(errors) + f"split: {text}\n", code)

    for count, piece in enumerate(islice(found, limit + 1)):
        suffix = next(plan.suffixes, None)
        if suffix is None:
            return failed("output file suffixes exhausted")
        name = plan.prefix + suffix + plan.ending
        if plan.command is not None:
            if count == limit:
                return failed("fork system call failed: Resource temporarily unavailable")
            output.append(f"executing with FILE={_plain(name)}\n" if plan.told else "")
            environment = {**call.environment, "FILE": name}
            done = call.run(plan.command, stdin=as_text(piece), environment=environment)
            output.append(done.stdout)
            errors.append(done.stderr)
            if done.exit_code:
                return failed(
                    f"with FILE={_plain(name)}, exit {done.exit_code} from command: {plan.command}", done.exit_code
                )
            continue
        output.append(f"creating file {quoted(name)}\n" if plan.told else "")
        path = call.path(name)
        if count == limit:
            return failed(f"{_plain(name)}: No space left on device")
        if source is not None and attempt(lambda path=path: call.files.real(path)) == source:
            return failed(f"{quoted(name)} would overwrite input; aborting")
        done = attempt(lambda path=path, piece=piece: call.files.write(path, piece))
        if isinstance(done, OSError):
            return failed(f"{_plain(name)}: {done.strerror}")
    return Result("".join(output), "".join(errors))

"""mktemp, shuf and uuidgen: what is drawn by chance comes from the episode's seed."""

from uuid import UUID

from simtrain.values.seeding import Stream
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.invocation import Invocation, Result

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def mktemp(call: Invocation) -> Result:
    """Make a new file, or a directory with -d, and print its path."""
    options = parsed(call, "dup:tq", {"directory": "d", "dry-run": "u", "tmpdir": "p=?", "quiet": "q", "suffix": "s="})
    if isinstance(options, Result):
        return options
    given = options.operands[0] if options.operands else "tmp.XXXXXXXXXX"
    stem = given.rstrip("X")
    count = len(given) - len(stem)
    if count < 3:
        return call.fail(f"too few X's in template '{given}'")
    inside = options.value("p") or (
        call.environment.get("TMPDIR") or "/tmp" if options.has("p", "t") or not options.operands else ""
    )
    stream = Stream(call.machine.draw("mktemp"))
    name = stem + "".join(stream.choose(_LETTERS) for _ in range(count)) + (options.value("s") or "")
    shown = f"{inside.rstrip('/')}/{name}" if inside else name
    if not options.has("u"):
        if options.has("d"):
            call.files.make_directory(call.path(shown), mode=0o700)
        else:
            call.files.write(call.path(shown), b"", mode=0o600)
    return Result(f"{shown}\n")


def shuf(call: Invocation) -> Result:
    """Print lines, operands (-e) or numbers (-i) in random order; -n at most so many, -r with repetition."""
    options = parsed(
        call,
        "en:i:o:rz",
        {"echo": "e", "head-count": "n=", "input-range": "i=", "output": "o=", "repeat": "r", "zero-terminated": "z"},
    )
    if isinstance(options, Result):
        return options
    spread = options.value("i")
    if spread is not None:
        low, _, high = spread.partition("-")
        if not low.isdigit() or not high.isdigit() or int(low) > int(high) + 1 or int(high) - int(low) > 1_000_000:
            return call.fail(f"invalid input range: '{spread}'")
        lines = [str(number) for number in range(int(low), int(high) + 1)]
    elif options.has("e"):
        lines = options.operands
    else:
        name = options.operands[0] if options.operands else "-"
        text = (call.stdin or "") if name == "-" else call.files.read(call.path(name)).decode("utf-8", "replace")
        lines = text.splitlines()
    most = options.value("n")
    if most is not None and not most.isdigit():
        return call.fail(f"invalid line count: '{most}'")
    count = len(lines) if most is None else int(most)
    stream = Stream(call.machine.draw("shuf"))
    repeated = options.has("r") and lines
    chosen = (
        [stream.choose(lines) for _ in range(min(count, 100_000))]
        if repeated
        else stream.sample(lines, min(count, len(lines)))
    )
    end = "\0" if options.has("z") else "\n"
    text = "".join(f"{line}{end}" for line in chosen)
    target = options.value("o")
    if target is not None:
        call.files.write(call.path(target), text.encode())
        return Result()
    return Result(text)


def uuidgen(call: Invocation) -> Result:
    """Print a random UUID."""
    number = call.machine.draw("uuid") << 64 | call.machine.draw("uuid")
    return Result(f"{UUID(int=number, version=4)}\n")

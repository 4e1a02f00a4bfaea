"""dd: copies blocks from a file or device to another. The engine's is killed by a large copy, and knows of no disk that fills up."""

from dataclasses import dataclass, replace
from errno import EEXIST, EFBIG, EISDIR, ENOSPC

from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.commands.dd_plan import CopyPlan, DdRefused, copy_plan
from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import parsed, usage
from simtrain.worlds.machine.commands.sleep import FOREVER, STOPPED
from simtrain.worlds.machine.devices import ZEROS
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt, problem

_ENDLESS = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_RATE = 5e8
"""Bytes that are copied in a virtual second: as many as on a plain disk."""
_START = 0.0001


def dd(call: Invocation) -> Result:
    """Copy blocks, and tell on standard error how many."""
    call = replace(call, name="dd")
    options = parsed(call, "")
    if isinstance(options, Result):
        return options
    try:
        plan = copy_plan(options.operands)
    except DdRefused as error:
        return usage(call, str(error)) if error.hint else call.fail(str(error))
    try:
        source = _source(call, plan)
    except OSError as error:
        return call.fail(f"failed to open {quoted(plan.source or '')}: {error.strerror}")
    if plan.target is None:
        return _printed(call, plan, source)
    try:
        kept = _opened(call, plan, plan.target)
    except OSError as error:
        return call.fail(f"failed to open {quoted(plan.target)}: {error.strerror}")
    return _stored(call, plan, source, plan.target, kept)


@dataclass(frozen=True, slots=True)
class _Source:
    """What can be read: `content`, or a device without an end; and what was said about it."""

    content: bytes = b""
    device: str = ""
    errors: str = ""
    exit_code: int = 0

    def length(self, plan: CopyPlan) -> int | None:
        """Return how many bytes are to be copied; None for no end of them."""
        if self.device:
            return plan.most
        there = max(0, len(self.content) - plan.skip)
        return there if plan.most is None else min(there, plan.most)

    def bytes(self, call: Invocation, plan: CopyPlan, length: int) -> bytes:
        """Return the first of these bytes, converted."""
        data = b"" if self.device else self.content[plan.skip : plan.skip + length]
        while self.device and len(data) < length:
            data += call.files.read(self.device)
        return _converted(plan, data[:length])


def _source(call: Invocation, plan: CopyPlan) -> _Source:
    if plan.source is None:
        found = _Source(as_bytes(call.stdin or ""))
    elif call.plain_path(plan.source) in _ENDLESS:
        return _Source(device=call.plain_path(plan.source))
    else:
        content = attempt(lambda: call.files.read(call.path(plan.source or "")))
        if isinstance(content, OSError):
            if content.errno != EISDIR:
                raise content
            return _Source(errors=f"dd: error reading {quoted(plan.source)}: {content.strerror}\n", exit_code=1)
        found = _Source(content)
    if plan.skip > len(found.content) and plan.status != "none":
        name = plan.source or quoted("standard input")
        return replace(found, errors=f"dd: {name}: cannot skip to specified offset\n")
    return found


def _converted(plan: CopyPlan, data: bytes) -> bytes:
    if "sync" in plan.conversions and len(data) % plan.read:
        data += bytes(plan.read - len(data) % plan.read)
    if "lcase" in plan.conversions:
        data = data.lower()
    if "ucase" in plan.conversions:
        data = data.upper()
    if "swab" in plan.conversions:
        even = len(data) // 2 * 2
        pairs = bytearray(data)
        pairs[0:even:2], pairs[1:even:2] = data[1:even:2], data[0:even:2]
        data = bytes(pairs)
    return data


def _printed(call: Invocation, plan: CopyPlan, source: _Source) -> Result:
    length = source.length(plan)
    if length is None or length > ZEROS:
        # More than a pipe of the shell holds.
        return Result(stderr="Killed\n", exit_code=137)
    data = source.bytes(call, plan, length)
    return Result(as_text(data), source.errors + _summary(call, plan, length, len(data)), source.exit_code)


def _opened(call: Invocation, plan: CopyPlan, target: str) -> bytes | None:
    """Open a file to be written, which empties it from `seek` on, and return what stays in it; None for a device. Raises OSError."""
    path = call.path(target)
    there = call.files.find(path)
    if there is None and "nocreat" in plan.conversions:
        call.files.node(path)
    if there is not None and "excl" in plan.conversions:
        raise problem(EEXIST, path)
    if there is not None and there.kind == "device":
        call.files.write(path, b"")
        return None
    before = b"" if there is None or there.kind == "directory" else there.content
    kept = before
    if "notrunc" not in plan.conversions:
        # Less than a block is not kept: the file is opened empty, and written behind its end.
        at = plan.seek if plan.seek >= plan.written else 0
        kept = before[:at].ljust(min(at, call.files.disk.largest_file), b"\0")
    call.files.write(path, kept)
    return kept


def _stored(call: Invocation, plan: CopyPlan, source: _Source, target: str, kept: bytes | None) -> Result:
    length = source.length(plan)
    if kept is None:
        full = call.plain_path(target) == "/dev/full" and length != 0
        if full:
            return _cut_short(call, plan, target, problem(ENOSPC, target), 0)
        if length is None:
            call.sleep(FOREVER)
            return Result(exit_code=STOPPED if call.machine.jobs.cut else 0)
        return Result("", source.errors + _summary(call, plan, length or 0, length or 0), source.exit_code)
    largest = call.files.disk.largest_file
    # A little more than the largest file is as good as all: it does not fit.
    data = source.bytes(call, plan, min(largest + plan.read if length is None else length, largest + plan.read))
    at = len(kept) if plan.appends else plan.seek
    path = call.path(target)

    def store(count: int) -> None:
        call.files.write(path, kept[:at].ljust(at, b"\0") + data[:count] + kept[at + count :])

    failed = attempt(lambda: store(len(data))) if data else None
    if not isinstance(failed, OSError):
        return Result("", source.errors + _summary(call, plan, length or 0, len(data)), source.exit_code)
    room = {EFBIG: largest - at, ENOSPC: min(largest, call.files.free + len(kept)) - at}.get(failed.errno or 0, 0)
    room = max(0, min(room, len(data)))
    written = 0 if isinstance(attempt(lambda: store(room)), OSError) else room
    return _cut_short(call, plan, target, failed, written)


def _cut_short(call: Invocation, plan: CopyPlan, target: str, error: OSError, written: int) -> Result:
    """Return what dd says where a file took only so many bytes: the block at which that happened was read, and not written."""
    whole = written // plan.read
    told = _told(plan, f"{whole + 1}+0", f"{whole}+0", written, _START + written / _RATE)
    return Result("", f"dd: error writing {quoted(target)}: {error.strerror}\n{told}", 1)


def _summary(call: Invocation, plan: CopyPlan, taken: int, out: int) -> str:
    seconds = _START + out / _RATE
    if seconds >= 0.01:
        call.sleep(seconds)
    read, written = (
        f"{count // size}+{int(count % size > 0)}" for count, size in ((taken, plan.read), (out, plan.written))
    )
    return _told(plan, read, written, out, seconds)


def _told(plan: CopyPlan, read: str, written: str, count: int, seconds: float) -> str:
    if plan.status == "none":
        return ""
    lines = f"{read} records in\n{written} records out\n"
    if plan.status == "noxfer":
        return lines
    scaled = [_scaled(count, unit) for unit in (1000, 1024) if count >= unit]
    more = f" ({', '.join(scaled)})" if scaled else ""
    amount = "1 byte" if count == 1 else f"{count} bytes"
    return f"{lines}{amount}{more} copied, {seconds:g} s, {_scaled(round(count / seconds), 1000)}/s\n"


def _scaled(count: float, unit: int) -> str:
    """Return a size as `human_readable` of gnulib writes it, rounded to the nearest: one digit behind the point below ten."""
    letters = " kMGTPE" if unit == 1000 else " KMGTPE"
    power = 0
    while count >= unit and power < len(letters) - 1:
        count /= unit
        power += 1
    if not power:
        return f"{count} B"
    number = f"{count:.1f}" if float(f"{count:.1f}") < 10 else f"{count:.0f}"
    return f"{number} {letters[power]}{'i' if unit == 1024 else ''}B"

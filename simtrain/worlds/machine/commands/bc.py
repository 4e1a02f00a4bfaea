"""bc: a calculator of any precision, and its language. It reads files, then standard input."""

from collections.abc import Iterator

from simtrain.worlds.machine.commands.bc_lexing import BcTooDeep, BcWords
from simtrain.worlds.machine.commands.bc_library import library
from simtrain.worlds.machine.commands.bc_machine import BcEndless, BcHalt, BcMachine
from simtrain.worlds.machine.commands.bc_numbers import BcTooLarge
from simtrain.worlds.machine.commands.bc_output import BcOutput, line_length
from simtrain.worlds.machine.commands.bc_reading import BcQuit, BcReader
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.sleep import FOREVER
from simtrain.worlds.machine.commands.usages import help_text
from simtrain.worlds.machine.engine import TIMED_OUT
from simtrain.worlds.machine.invocation import Invocation, Result

_SHORT = "hilqswv"
_LONG = {
    "interactive": "i", "mathlib": "l", "quiet": "q", "standard": "s", "warn": "w",
}  # fmt: skip
_RELEASE = "bc 1.07.1\n"


class BcUnavailable(Exception):
    """Says that a file of a program cannot be read."""


def bc(call: Invocation) -> Result:
    """Reckon what files and standard input say."""
    options = parsed(call, _SHORT, _LONG)
    if isinstance(options, Result):
        return options
    asked = next((name for name, _ in options.given if name in ("h", "v")), None)
    if asked is not None:
        return Result((help_text("bc", _SHORT, _LONG) or "") if asked == "h" else _RELEASE)
    return _run(call, options)


def _run(call: Invocation, options: Options) -> Result:
    output = BcOutput(line_length(call.environment.get("BC_LINE_LENGTH")))
    functions = library() if options.has("l") else {}
    machine = BcMachine(output, call.stdin or "", _RELEASE, functions)
    machine.scale = 20 if options.has("l") else 0
    files = _texts(call, options.operands, machine)
    words = BcWords(lambda: next(files, None), strict=options.has("s"), warned=options.has("w"))
    # Both say what is wrong in one order.
    machine.errors = words.errors
    if options.has("i") and not options.has("q"):
        output.write(_RELEASE)
    code = 0
    try:
        _carry_out(BcReader(words, functions), machine)
    except (BcHalt, BcQuit):
        # The program has ended itself, which is no error.
        pass
    except BcUnavailable as problem:
        machine.errors.append(f"File {problem} is unavailable.\n")
        code = 1
    except BcTooDeep:
        machine.errors.append(words.told("memory exhausted"))
    except BcTooLarge:
        machine.errors.append("Fatal error: Out of memory for malloc.\n")
        code = 1
    except BcEndless:
        # It goes on until the script around it is stopped.
        call.sleep(FOREVER)
        code = TIMED_OUT
    return Result(output.text, "".join(machine.errors), code)


def _carry_out(reader: BcReader, machine: BcMachine) -> None:
    while (steps := reader.next_steps()) is not None:
        machine.run(steps)


def _texts(call: Invocation, names: list[str], machine: BcMachine) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            text = call.files.read(call.path(name)).decode("utf-8", "surrogateescape")
        except OSError as error:
            raise BcUnavailable(name) from error
        yield name, text
    # What `read()` has read is no program.
    text, machine.stdin = machine.stdin, ""
    yield "(standard_in)", text

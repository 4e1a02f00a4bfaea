"""tee: writes what it reads into files and passes it on. A file that cannot be written ends the whole script in the engine's own."""

from simtrain.worlds.machine.binary import as_bytes
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import TEXTS, attempt

_LONG = {"append": "a", "ignore-interrupts": "i", "output-error=?": "p"}


def tee(call: Invocation) -> Result:
    """Write standard input to each file, with -a behind what is in it, and to standard output."""
    options = parsed(call, "aip", _LONG)
    if isinstance(options, Result):
        return options
    text = call.stdin or ""
    content = as_bytes(text)
    passed, errors, code = text, "", 0
    for name in options.operands:
        path = call.path(name)
        if path in ("/dev/stdout", "/dev/tty"):
            passed += text
        elif path == "/dev/stderr":
            errors += text
        else:
            write = call.files.append if options.has("a") else call.files.write
            done = attempt(lambda write=write, path=path: write(path, content))
            if isinstance(done, OSError):
                errors += f"tee: {name}: {done.strerror or TEXTS.get(done.errno or 0, '')}\n"
                code = 1
    return Result(passed, errors, code)

"""chmod: sets permissions; umask: those that new files lack."""

import re
from dataclasses import replace

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.modes import letters_of, new_mode
from simtrain.worlds.machine.commands.options import parsed, usage
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_LONG = {"changes": "c", "silent": "f", "quiet": "f", "verbose": "v", "recursive": "R", "reference=": "reference",
         "preserve-root": "preserve", "no-preserve-root": "no-preserve"}  # fmt: skip
_MINUS = re.compile(r"-[rwxXstugo]+(,.*)?")


def chmod(call: Invocation) -> Result:
    """Set the permissions of files."""
    # `-x` is a mode, no option.
    words = list(call.arguments)
    mode = next((word for word in words if _MINUS.fullmatch(word) and not set(word[1:]) <= set("cfvR")), None)
    if mode is not None:
        words.remove(mode)
    options = parsed(replace(call, arguments=tuple(words)), "cfvR", _LONG)
    if isinstance(options, Result):
        return options
    names = list(options.operands)
    reference = options.value("reference")
    if mode is None and reference is None:
        if not names:
            return usage(call, "missing operand")
        mode = names.pop(0)
    if not names:
        return usage(call, f"missing operand after '{mode}'" if mode else "missing operand")
    if reference is not None:
        mode = f"{call.files.node(call.path(reference)).mode:05o}"
    assert mode is not None
    if new_mode(mode, 0, directory=False, umask=0) is None:
        return usage(call, f"invalid mode: {quoted(mode)}")
    output, errors = "", ""
    for name in names:
        top = call.path(name)
        found = attempt(lambda top=top: call.files.node(top))
        if isinstance(found, OSError):
            errors += f"chmod: cannot access {quoted(name)}: {found.strerror}\n"
            continue
        for path in list(call.files.walk(top)) if options.has("R") else [top]:
            shown = name + path[len(top) :]
            node = attempt(lambda path=path, top=top: call.files.node(path, follow=path == top))
            if isinstance(node, OSError) or node.kind == "link":
                continue
            after = new_mode(mode, node.mode, directory=node.kind == "directory", umask=call.files.umask)
            assert after is not None
            done = attempt(lambda path=path, after=after: call.files.change_mode(path, after))
            if isinstance(done, OSError):
                errors += f"chmod: changing permissions of {quoted(shown)}: {done.strerror}\n"
            elif node.mode != after and options.has("v", "c"):
                output += (
                    f"mode of {quoted(shown)} changed from {node.mode:04o} ({letters_of(node.mode)}) "
                    f"to {after:04o} ({letters_of(after)})\n"
                )
            elif options.has("v"):
                output += f"mode of {quoted(shown)} retained as {after:04o} ({letters_of(after)})\n"
    return Result(output, "" if options.has("f") else errors, 1 if errors else 0)


def umask(call: Invocation) -> Result:
    """Print or set the permissions that new files of this shell lack."""
    options = parsed(call, "Sp", permuted=False, code=2, hint="umask: usage: umask [-p] [-S] [mode]")
    if isinstance(options, Result):
        return options
    if not options.operands:
        now = call.files.umask
        if options.has("S"):
            allowed = letters_of(~now & 0o777)
            return Result(
                ",".join(f"{who}={allowed[at : at + 3].replace('-', '')}" for who, at in (("u", 0), ("g", 3), ("o", 6)))
                + "\n"
            )
        return Result(f"{'umask ' if options.has('p') else ''}{now:04o}\n")
    text = options.operands[0]
    if text[:1].isdigit():
        if not re.fullmatch("[0-7]{1,4}", text):
            return Result(stderr=f"bash: line 1: umask: {text}: octal number out of range\n", exit_code=1)
        call.files.umask = int(text, 8) & 0o777
        return Result()
    after = new_mode(text, ~call.files.umask & 0o777, directory=False, umask=0)
    if after is None:
        return Result(stderr=f"bash: line 1: umask: `{text}': invalid symbolic mode operator\n", exit_code=1)
    call.files.umask = ~after & 0o777
    return Result()

"""chown and chgrp: who owns files."""

from collections.abc import Callable
from typing import TypeAlias

from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_Split: TypeAlias = Callable[[str], tuple[str | None, str | None]]


def chown(call: Invocation) -> Result:
    """Set the owner of files, and their group after a colon."""
    return _changed(call, lambda word: _split(call, word))


def chgrp(call: Invocation) -> Result:
    """Set the group of files."""
    return _changed(call, lambda word: (None, word))


def _split(call: Invocation, word: str) -> tuple[str | None, str | None]:
    owner, colon, group = word.partition(":") if ":" in word else word.partition(".")
    if colon and owner and not group:
        # `ann:` means the login group of ann.
        user = call.machine.users.get(owner)
        group = user.group if user else ""
    return owner or None, group or None


def _changed(call: Invocation, split: _Split) -> Result:
    options = [word for word in call.arguments if word.startswith("-") and word != "-"]
    rest = [word for word in call.arguments if word not in options]
    reference = next((word.partition("=")[2] for word in options if word.startswith("--reference=")), None)
    if reference is not None:
        node = call.files.node(call.path(reference))
        owner, group = (node.owner if call.name == "chown" else None), node.group
        names = rest
    else:
        if not rest:
            return _usage(call, "missing operand")
        if len(rest) == 1:
            return _usage(call, f"missing operand after '{rest[0]}'")
        owner, group = split(rest[0])
        names = rest[1:]
        if owner is not None and owner not in call.machine.users:
            return call.fail(f"invalid user: '{rest[0]}'")
        if group is not None and group not in call.machine.groups:
            return call.fail(f"invalid group: '{rest[0]}'")
    letters = "".join(word[1:] for word in options if not word.startswith("--"))
    recursive = "R" in letters or "--recursive" in options
    what = "ownership" if call.name == "chown" else "group"
    errors, lines = "", ""
    for name in names:
        top = call.path(name)
        if not call.files.exists(top):
            errors += f"{call.name}: cannot access '{name}': No such file or directory\n"
            continue
        for path in list(call.files.walk(top)) if recursive else [top]:
            shown = name + path[len(top) :]
            done = attempt(
                lambda path=path: call.files.change_owner(path, owner=owner, group=group, follow="h" not in letters)
            )
            if isinstance(done, OSError):
                errors += f"{call.name}: changing {what} of '{shown}': {done.strerror}\n"
            elif "v" in letters:
                lines += f"{what} of '{shown}' set to {':'.join(part for part in (owner, group) if part)}\n"
    return Result(lines, "" if "f" in letters else errors, 1 if errors else 0)


def _usage(call: Invocation, text: str) -> Result:
    return Result(stderr=f"{call.name}: {text}\nTry '{call.name} --help' for more information.\n", exit_code=1)

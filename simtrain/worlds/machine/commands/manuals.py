"""man, help and watch, on a machine that has no manuals and no terminal: the engine's own tell of the engine."""

from simtrain.worlds.machine.invocation import Invocation, Result


def man(call: Invocation) -> Result:
    """Say that there is no such page."""
    names = [word for word in call.arguments if not word.startswith("-") and not word.isdigit()]
    if not names:
        return Result(stderr="What manual page do you want?\nFor example, try 'man man'.\n", exit_code=1)
    return Result(stderr="".join(f"No manual entry for {name}\n" for name in names), exit_code=16)


def help_topic(call: Invocation) -> Result:
    """Say that there is no such topic."""
    names = [word for word in call.arguments if not word.startswith("-")] or ["help"]
    found = (
        f"help: no help topics match `{name}'.  Try `help help' or `man -k {name}' or `info {name}'." for name in names
    )
    return Result(stderr="".join(f"bash: line 1: {line}\n" for line in found), exit_code=1)


def watch(call: Invocation) -> Result:
    """Refuse: it draws a screen of its own."""
    if not [word for word in call.arguments if not word.startswith("-")]:
        return Result(stderr="Usage:\n watch [options] command\n", exit_code=1)
    return Result(stderr="Error opening terminal: unknown.\n", exit_code=1)

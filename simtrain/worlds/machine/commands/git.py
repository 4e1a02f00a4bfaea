"""git: version control, over `.git` folders of the machine."""

from simtrain.values.errors import InputError
from simtrain.worlds.machine.invocation import Invocation, Result


def git(call: Invocation) -> Result:
    """Carry out one git command. Without the extra `git` it is not installed."""
    try:
        # Late: comparing texts as git does needs a library that is an extra.
        from simtrain.worlds.machine.git.command import git as run
    except InputError:
        return Result(stderr="bash: line 1: git: command not found\n", exit_code=127)
    return run(call)

"""The errors of a git server: GitPython's account of a failed command, under the name of the tool."""

from collections.abc import Callable
from functools import wraps

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.worlds.handlers.git.revisions import NotPossible


class CommandFailed(ToolError):
    """A git command that ended with a status other than 0."""

    def __init__(self, status: int, command: str, stderr: str) -> None:
        self.status, self.stderr = status, stderr
        super().__init__(
            f"Cmd('git') failed due to: exit code({status})\n  cmdline: git {command}\n  stderr: '{stderr}'"
        )


def reported(name: str) -> Callable[[Callable[[HandlerContext], str | Reply]], Callable[[HandlerContext], Reply]]:
    """Return a decorator for the function of the tool `name`: its text becomes the reply, and its errors name the tool."""

    def mark(function: Callable[[HandlerContext], str | Reply]) -> Callable[[HandlerContext], Reply]:
        @wraps(function)
        def answer(context: HandlerContext) -> Reply:
            try:
                reply = function(context)
            except NotPossible:
                raise ToolError(f"Error executing tool {name}") from None
            except ToolError as error:
                raise ToolError(f"Error executing tool {name}: {error}") from None
            return reply if isinstance(reply, Reply) else Reply(reply)

        return answer

    return mark


def no_option(value: str | None, what: str) -> None:
    """Raise ToolError for a text that git would take for an option, such as `--output=/etc/passwd`."""
    if value is not None and value.startswith("-"):
        raise ToolError(f"Invalid {what}: '{value}' - cannot start with '-'")

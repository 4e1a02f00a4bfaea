"""The programs in `.git/hooks` that git runs around a commit."""

from posixpath import join

from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.invocation import quoted

_IGNORED = (
    "hint: The '{0}' hook was ignored because it's not set as executable.\n"
    "hint: You can disable this warning with `git config advice.ignoredHook false`."
)


def run_hook(session: GitSession, name: str, *arguments: str) -> bool:
    """Run a hook, if there is one, in the root of the working tree, and return whether it agreed."""
    repository = session.repository
    folder = session.setting("core.hookspath") or f"{repository.folder}/hooks"
    path = join(repository.path, folder, name)
    if not session.call.files.exists(path):
        return True
    if not session.call.files.node(path).mode & 0o111:
        shown = path.removeprefix(f"{repository.path.rstrip('/')}/")
        if (session.setting("advice.ignoredhook") or "true") != "false":
            session.warn(_IGNORED.format(shown))
        return True
    done = session.call.run(quoted([path, *arguments]), directory=repository.path)
    # Standard output of git belongs to git itself.
    session.errors += [done.stdout, done.stderr]
    return done.exit_code == 0


def require_hook(session: GitSession, name: str, *arguments: str) -> None:
    """Run a hook. Raises GitStop where it forbids what is under way."""
    if not run_hook(session, name, *arguments):
        raise GitStop("", 1)

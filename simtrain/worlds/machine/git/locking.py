"""The lock of the index, `.git/index.lock`.

Each of our calls does its work at once, so it needs no lock of its own. One that lies there belongs to somebody else, or was left
behind, and git then refuses whatever would write the index. The wording is git's (lockfile.c).
"""

from simtrain.worlds.machine.git.session import GitSession, GitStop

LOCK = "index.lock"
_REFUSED = (
    "{kind}: Unable to create '{path}': File exists.\n\n"
    "Another git process seems to be running in this repository, e.g.\n"
    "an editor opened by 'git commit'. Please make sure all processes\n"
    "are terminated then try again. If it still fails, a git process\n"
    "may have crashed in this repository earlier:\n"
    "remove the file manually to continue."
)


def is_locked(session: GitSession) -> bool:
    """Return True if the index of the repository is locked."""
    return session.call.files.exists(f"{session.repository.folder}/{LOCK}", follow=False)


def require_unlocked(session: GitSession, *, kind: str = "fatal", after: str = "", code: int = 128) -> None:
    """Raise GitStop, in git's words, if the index is locked. `after` is a line that follows them."""
    if is_locked(session):
        refused = _REFUSED.format(kind=kind, path=f"{session.repository.folder}/{LOCK}")
        raise GitStop(f"{refused}\n{after}".rstrip("\n"), code)

"""Objects as their own names lead to them: an annotated tag stands for itself until it is peeled."""

import re

from simtrain.worlds.handlers.git.revisions import full_name
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.session import GitSession


def named_object(session: GitSession, name: str) -> str | None:
    """Return the id of the object that a name stands for, a tag as itself; None if there is none."""
    repository = session.repository
    if not set("^~:{@") & set(name):
        ref = full_name(repository, name)
        sha = repository.ref(ref) if ref else None
        if sha is not None and repository.kind(sha):
            return sha
    if re.fullmatch(r"[0-9a-f]{40}", name) and repository.kind(name) == "tag":
        return name
    found = session.maybe(name)
    return found.sha if found else None


def peeled(repository: FolderRepository, sha: str) -> str:
    """Return what an annotated tag leads to in the end; any other object leads to itself."""
    while repository.kind(sha) == "tag":
        sha = repository.tag(sha)
    return sha

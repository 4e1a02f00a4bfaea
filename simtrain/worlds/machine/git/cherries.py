"""cherry: which commits of a branch an upstream lacks."""

import re
from hashlib import sha1

from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import EMPTY_TREE
from simtrain.worlds.handlers.git.patch import patch
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option
from simtrain.worlds.machine.git.walking import Range, commits

_USAGE = "usage: git cherry [-v] [<upstream> [<head> [<limit>]]]"
_NONE = "Could not find a tracked remote branch, please specify <upstream> manually."


def cherry(session: GitSession) -> None:
    """List the commits that an upstream lacks with `+`, and those that it has with another id with `-`."""
    verbose, length, names = False, 40, list[str]()
    for word in session.words:
        if word in ("-v", "--verbose"):
            verbose = True
        elif word == "--abbrev":
            length = 0
        elif re.fullmatch(r"--abbrev=\d+", word):
            length = int(word.partition("=")[2])
        elif word.startswith("-"):
            raise unknown_option(word, _USAGE)
        else:
            names.append(word)
    repository = session.repository
    if not names:
        upstream = repository.upstream(repository.head)
        if upstream is None:
            raise GitStop(f"{_NONE}\n{_USAGE}", 129)
        names = [upstream]
    for name in names:
        if session.maybe(name) is None:
            raise GitStop(f"fatal: unknown commit {name}")
    ends = [session.commit_id(name) for name in names]
    theirs, ours = ends[0], ends[1] if len(ends) > 1 else session.commit_id("HEAD")
    beyond = reachable(repository, ends[2]) if len(ends) > 2 else set[str]()
    known = {patch_id(session, sha) for sha in _between(session, ours, theirs)}
    for sha in reversed(_between(session, theirs, ours)):
        if sha in beyond:
            continue
        mark = "-" if patch_id(session, sha) in known else "+"
        shown = max(sha[:length], repository.abbreviated(sha)[: length or None], key=len)
        subject = " ".join(repository.commit(sha).message.strip("\n").partition("\n\n")[0].split("\n"))
        session.say(f"{mark} {shown} {subject}" if verbose else f"{mark} {shown}")


def _between(session: GitSession, one: str, other: str) -> list[str]:
    found = commits(session, Range([other], [one]))
    return [sha for sha in found if len(session.repository.commit(sha).parents) < 2]


def patch_id(session: GitSession, sha: str) -> str:
    """Return an id of what a commit changes, wherever the lines stand."""
    repository = session.repository
    commit = repository.commit(sha)
    before = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
    found = compared(repository, repository.files(before), repository.files(commit.tree))
    text = patch(found, context=3, abbreviate=repository.abbreviated)
    kept = [line for line in text.splitlines() if not line.startswith(("@@", "index "))]
    plain = re.sub(r"\s", "", "\n".join(kept))
    return sha1(plain.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()

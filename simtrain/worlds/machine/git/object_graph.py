"""The objects of a repository, what leads from one to another, and what all of them begin at."""

import re
import struct
import zlib
from collections.abc import Iterable

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, FOLDER, NOTHING, Kind
from simtrain.worlds.machine.git.folder import FolderRepository

GITLINK = "160000"
DAMAGED = (LookupError, ValueError, StopIteration, zlib.error, struct.error)
"""Raised where an object's file does not hold what it should."""


def stored(repository: FolderRepository) -> list[str]:
    """Return the ids of all objects that have files, sorted."""
    top, found = f"{repository.folder}/objects", list[str]()
    for folder in repository.disk.names(top):
        if re.fullmatch("[0-9a-f]{2}", folder):
            found += [folder + name for name in repository.disk.names(f"{top}/{folder}") if len(name) == 38]
    return sorted(found)


def led_to(repository: FolderRepository, sha: str) -> list[tuple[str, Kind]]:
    """Return what an object leads to, each with the kind that it should have. Raises one of DAMAGED."""
    kind = repository.kind(sha)
    if kind == "commit":
        commit = repository.commit(sha)
        return [(commit.tree, "tree"), *((parent, "commit") for parent in commit.parents)]
    if kind == "tree":
        entries = repository.tree(sha).values()
        return [(one.sha, "tree" if one.mode == FOLDER else "blob") for one in entries if one.mode != GITLINK]
    if kind == "tag":
        target = repository.tag(sha)
        return [(target, repository.kind(target) or "commit")]
    return []


def reached(repository: FolderRepository, starts: Iterable[str]) -> set[str]:
    """Return some objects and all that they lead to. What is missing or damaged leads nowhere."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        sha = waiting.pop()
        if sha in found:
            continue
        found.add(sha)
        try:
            waiting += [one for one, _ in led_to(repository, sha)]
        except DAMAGED:
            continue
    return found


def ref_ids(repository: FolderRepository) -> dict[str, str]:
    """Return the ids that refs and HEAD lead to."""
    found = {name: repository.ref(name) or NOTHING for name in repository.refs()}
    head = repository.ref("HEAD")
    return found if head is None else {**found, "HEAD": head}


def logged_ids(repository: FolderRepository, name: str) -> list[str]:
    """Return the ids that a log of a ref names, in its order."""
    entries = reversed(repository.log(name))
    return [sha for entry in entries for sha in (str(entry["old"]), str(entry["new"])) if sha != NOTHING]


def logs(repository: FolderRepository) -> list[str]:
    """Return the names of all refs that have logs, HEAD last."""
    top, found = f"{repository.folder}/logs", list[str]()
    if not repository.disk.is_directory(top):
        return found
    for path in repository.disk.walk(top):
        if not repository.disk.is_directory(path):
            found.append(path[len(top) + 1 :])
    return sorted(found, key=lambda name: (name == "HEAD", name))


def index_ids(repository: FolderRepository) -> list[str]:
    """Return the ids of what is staged."""
    return [entry.sha for entry in repository.stages().values() if entry.mode != GITLINK]


def kept_ids(repository: FolderRepository) -> set[str]:
    """Return every object that must stay: what refs, their logs, the index and operations in progress lead to."""
    starts = {*ref_ids(repository).values(), *index_ids(repository), EMPTY_TREE}
    for name in logs(repository):
        starts.update(logged_ids(repository, name))
    for name in repository.disk.names(repository.folder):
        path = f"{repository.folder}/{name}"
        if name.endswith("_HEAD") and not repository.disk.is_directory(path):
            starts.update(re.findall("[0-9a-f]{40}", repository.text(name) or ""))
    for folder in ("rebase-merge", "rebase-apply", "sequencer"):
        top = f"{repository.folder}/{folder}"
        if repository.disk.is_directory(top):
            for path in repository.disk.walk(top):
                if not repository.disk.is_directory(path):
                    starts.update(re.findall("[0-9a-f]{40}", repository.disk.read(path).decode(errors="replace")))
    return reached(repository, (sha for sha in starts if sha != NOTHING))


def kind_or_none(repository: FolderRepository, sha: str) -> Kind | None:
    """Return the kind of an object; None for a missing or damaged one."""
    try:
        return repository.kind(sha)
    except DAMAGED:
        return None

"""The text of `git status`: the branch, what is staged, changed and untracked."""

from collections.abc import Iterable
from typing import TypeAlias

from simtrain.worlds.handlers.git.branches import current, detached, shortened
from simtrain.worlds.handlers.git.deltas import Delta
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.handlers.git.repository import Repository
from simtrain.worlds.handlers.git.states import against_worktree, staged

_UNSTAGE = '  (use "git restore --staged <file>..." to unstage)'
_UNSTAGE_FIRST = '  (use "git rm --cached <file>..." to unstage)'
_DISCARD = '  (use "git restore <file>..." to discard changes in working directory)'
_INCLUDE = '  (use "git add <file>..." to include in what will be committed)'

_Part: TypeAlias = list[str]


def status(repository: Repository) -> str:
    """Return the whole text, which ends in a newline."""
    in_index = staged(repository)
    changed = against_worktree(repository, repository.index())
    untracked = untracked_files(repository)
    begun = repository.ref("HEAD") is not None
    parts = [
        _part("Changes to be committed:", [_UNSTAGE if begun else _UNSTAGE_FIRST], _listed(in_index)),
        _part("Changes not staged for commit:", [_update(changed), _DISCARD], _listed(changed)),
        _part("Untracked files:", [_INCLUDE], [f"\t{quoted(path)}" for path in untracked]),
    ]
    lines = [*_heading(repository, begun), *(line for part in parts for line in part)]
    return "\n".join(lines + _ending(in_index, changed, untracked, begun)) + "\n"


def _heading(repository: Repository, begun: bool) -> list[str]:
    branch = current(repository)
    lines = [f"On branch {branch}"] if branch else [detached(repository)]
    if branch:
        lines += _tracking(repository)
    return lines if begun else [*lines, "", "No commits yet", ""]


def _part(title: str, hints: list[str], entries: list[str]) -> _Part:
    return [title, *hints, *entries, ""] if entries else []


def _update(changed: Iterable[Delta]) -> str:
    verb = "add/rm" if any(delta.new is None for delta in changed) else "add"
    return f'  (use "git {verb} <file>..." to update what will be committed)'


def _listed(found: Iterable[Delta]) -> list[str]:
    return [_entry(delta) for delta in _with_types(list(found))]


def _with_types(found: list[Delta]) -> list[Delta]:
    """Return the differences, with a file that became a symlink, or the reverse, as one entry."""
    gone = {delta.path: delta.old for delta in found if delta.new is None}
    come = {delta.path for delta in found if delta.old is None}
    joined = [
        Delta(gone[delta.path], delta.new) if delta.old is None and delta.path in gone else delta for delta in found
    ]
    return [delta for delta in joined if delta.new is not None or delta.path not in come]


def _entry(delta: Delta) -> str:
    old, new = delta.old, delta.new
    if old is None:
        return f"\tnew file:   {quoted(delta.path)}"
    if new is None:
        return f"\tdeleted:    {quoted(delta.path)}"
    if delta.alike is not None:
        return f"\trenamed:    {quoted(old.path)} -> {quoted(new.path)}"
    return f"\t{'modified:  ' if old.type == new.type else 'typechange:'} {quoted(delta.path)}"


def _ending(in_index: list[Delta], changed: list[Delta], untracked: list[str], begun: bool) -> list[str]:
    if in_index:
        return []
    if changed:
        return ['no changes added to commit (use "git add" and/or "git commit -a")']
    if untracked:
        return ['nothing added to commit but untracked files present (use "git add" to track)']
    if not begun:
        return ['nothing to commit (create/copy files and use "git add" to track)']
    return ["nothing to commit, working tree clean"]


def _tracking(repository: Repository) -> list[str]:
    """Return how the branch compares with its upstream."""
    upstream = repository.upstream(repository.head)
    head = repository.ref("HEAD")
    if upstream is None or head is None:
        return []
    name = shortened(upstream)
    upstream_head = repository.ref(upstream)
    if upstream_head is None:
        text = f"Your branch is based on '{name}', but the upstream is gone."
        return [text, '  (use "git branch --unset-upstream" to fixup)', ""]
    ours, theirs = reachable(repository, head), reachable(repository, upstream_head)
    ahead, behind = len(ours - theirs), len(theirs - ours)
    if ahead and behind:
        text = f"Your branch and '{name}' have diverged,\nand have {ahead} and {behind} different commits each, respectively."
        return [text, '  (use "git pull" to merge the remote branch into yours)', ""]
    if ahead:
        text = f"Your branch is ahead of '{name}' by {_commits(ahead)}."
        return [text, '  (use "git push" to publish your local commits)', ""]
    if behind:
        text = f"Your branch is behind '{name}' by {_commits(behind)}, and can be fast-forwarded."
        return [text, '  (use "git pull" to update your local branch)', ""]
    return [f"Your branch is up to date with '{name}'.", ""]


def _commits(count: int) -> str:
    return f"{count} commit" if count == 1 else f"{count} commits"


def untracked_files(repository: Repository) -> list[str]:
    """Return the files that are neither in the index nor ignored; a folder without tracked files stands for all of its files."""
    worktree, index = repository.worktree(), repository.index()
    folders = {folder for path in index for folder in _folders(path)}
    ignored = Ignored(worktree)
    found: dict[str, None] = {}
    for path in worktree:
        if path not in index and ignored.cause(path) is None:
            found[next((f"{folder}/" for folder in _folders(path) if folder not in folders), path)] = None
    return sorted(found, key=lambda one: one.encode())


def _folders(path: str) -> list[str]:
    """Return the folders that contain a file, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]

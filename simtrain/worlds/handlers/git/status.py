"""The text of `git status`: the branch, what is staged, changed and untracked."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from simtrain.worlds.handlers.git.branches import current, detached, shortened
from simtrain.worlds.handlers.git.deltas import Delta, with_types
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.handlers.git.repository import Repository
from simtrain.worlds.handlers.git.states import against_worktree, compared, staged

_UNSTAGE = '  (use "git restore --staged <file>..." to unstage)'
_UNSTAGE_FIRST = '  (use "git rm --cached <file>..." to unstage)'
_UNSTAGE_AMENDED = '  (use "git restore --source=HEAD^1 --staged <file>..." to unstage)'
_DISCARD = '  (use "git restore <file>..." to discard changes in working directory)'
_INCLUDE = '  (use "git add <file>..." to include in what will be committed)'

_Part: TypeAlias = list[str]


def status(
    repository: Repository,
    *,
    shown: Callable[[str], str] = quoted,
    heading: str | None = None,
    notes: Sequence[str] = (),
    unmerged: Sequence[str] = (),
    resolving: str = 'git add <file>..."',
    hidden: Collection[str] = (),
    untracked: bool = True,
    merging: bool = False,
    amending: str | None = None,
    committing: bool = False,
) -> str:
    """Return the whole text, which ends in a newline.

    `shown` writes a path. `heading` stands in place of a detached HEAD. `notes` are lines about a merge that is not finished,
    `unmerged` those of paths in conflict, which are `hidden` from the other parts, and `resolving` says how to resolve them. While
    `merging`, git does not say how to unstage. `amending` is the tree before the commit that is amended. `committing` gives the
    words of `git commit`.
    """
    found = staged(repository) if amending is None else _since(repository, amending)
    in_index = [delta for delta in found if delta.path not in hidden]
    changed = [delta for delta in against_worktree(repository, repository.index()) if delta.path not in hidden]
    new = [path for path in untracked_files(repository) if path not in hidden] if untracked else []
    begun = repository.ref("HEAD") is not None
    unstage = [] if merging else [_UNSTAGE_FIRST if not begun else _UNSTAGE if amending is None else _UNSTAGE_AMENDED]
    parts = [
        _part("Changes to be committed:", unstage, _listed(in_index, shown)),
        _part("Unmerged paths:", [*unstage, f'  (use "{resolving} to mark resolution)'], list(unmerged)),
        _part("Changes not staged for commit:", [_update(changed), _DISCARD], _listed(changed, shown)),
        _part("Untracked files:", [_INCLUDE], [f"\t{shown(path)}" for path in new]),
    ]
    first = "Initial commit" if committing else "No commits yet"
    lines = [*_heading(repository, begun, first, heading), *notes, *(line for part in parts for line in part)]
    ending = _ending(in_index, [*changed, *unmerged], new, begun)
    if amending is not None and not in_index:
        ending = ["No changes"]
    elif not untracked and in_index == [] and not changed and not unmerged:
        ending = ["nothing to commit (use -u to show untracked files)"]
    elif not untracked:
        lines.append("Untracked files not listed (use -u option to show untracked files)")
    return "\n".join(lines + ending) + "\n"


def _since(repository: Repository, tree: str) -> list[Delta]:
    return compared(repository, repository.files(tree), repository.index())


def _heading(repository: Repository, begun: bool, first: str, instead: str | None) -> list[str]:
    branch = current(repository)
    lines = [f"On branch {branch}"] if branch else [instead or detached(repository)]
    if branch:
        lines += _tracking(repository)
    return lines if begun else [*lines, "", first, ""]


def _part(title: str, hints: list[str], entries: list[str]) -> _Part:
    return [title, *hints, *entries, ""] if entries else []


def _update(changed: Iterable[Delta]) -> str:
    verb = "add/rm" if any(delta.new is None for delta in changed) else "add"
    return f'  (use "git {verb} <file>..." to update what will be committed)'


def _listed(found: Iterable[Delta], shown: Callable[[str], str]) -> list[str]:
    return [_entry(delta, shown) for delta in with_types(list(found))]


def _entry(delta: Delta, shown: Callable[[str], str]) -> str:
    old, new = delta.old, delta.new
    if old is None:
        return f"\tnew file:   {shown(delta.path)}"
    if new is None:
        return f"\tdeleted:    {shown(delta.path)}"
    if delta.alike is not None:
        return f"\trenamed:    {shown(old.path)} -> {shown(new.path)}"
    return f"\t{'modified:  ' if old.type == new.type else 'typechange:'} {shown(delta.path)}"


def _ending(in_index: list[Delta], changed: Sequence[object], untracked: list[str], begun: bool) -> list[str]:
    if in_index:
        return []
    if changed:
        return ['no changes added to commit (use "git add" and/or "git commit -a")']
    if untracked:
        return ['nothing added to commit but untracked files present (use "git add" to track)']
    if not begun:
        return ['nothing to commit (create/copy files and use "git add" to track)']
    return ["nothing to commit, working tree clean"]


def tracked_remote(repository: Repository) -> tuple[str, int, int] | None:
    """Return the upstream of the branch that is checked out, and how many commits it is ahead and behind; None without one."""
    upstream, head = repository.upstream(repository.head), repository.ref("HEAD")
    upstream_head = repository.ref(upstream) if upstream else None
    if upstream is None or head is None or upstream_head is None:
        return None
    ours, theirs = reachable(repository, head), reachable(repository, upstream_head)
    return shortened(upstream), len(ours - theirs), len(theirs - ours)


def _tracking(repository: Repository) -> list[str]:
    """Return how the branch compares with its upstream."""
    upstream = repository.upstream(repository.head)
    if upstream is None or repository.ref("HEAD") is None:
        return []
    found = tracked_remote(repository)
    if found is None:
        text = f"Your branch is based on '{shortened(upstream)}', but the upstream is gone."
        return [text, '  (use "git branch --unset-upstream" to fixup)', ""]
    name, ahead, behind = found
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
    ignored = Ignored(worktree)
    found = with_folders([path for path in worktree if path not in index and ignored.cause(path) is None], index)
    return sorted(found, key=lambda one: one.encode())


def with_folders(paths: Iterable[str], index: Iterable[str]) -> list[str]:
    """Return paths; a folder, with a slash, stands for all in it where nothing of it is in the index."""
    held = {folder for path in index for folder in _folders(path)}
    return [
        *dict.fromkeys(next((f"{folder}/" for folder in _folders(path) if folder not in held), path) for path in paths)
    ]


def _folders(path: str) -> list[str]:
    """Return the folders that contain a file, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]

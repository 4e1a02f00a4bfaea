"""Carrying the result of a merge into the index and the working tree."""

from collections.abc import Mapping

from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.handlers.git.states import compared, worktree_entries
from simtrain.worlds.machine.git.listing import stat, summary
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.three_way import Merged
from simtrain.worlds.machine.git.three_way import merge as merge_trees

_OVERWRITTEN = (
    "error: Your local changes to the following files would be overwritten by {0}:\n{1}\n"
    "Please commit your changes or stash them before you {2}.\nAborting"
)


def say_changes(session: GitSession, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> None:
    """Say which files differ between two trees, and by how many lines."""
    found = compared(session.repository, old, new)
    if found:
        session.output.append(stat(found) + summary(found))


def write_tree(
    session: GitSession, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry], what: str, verb: str
) -> None:
    """Make index and working tree as another tree has them. Raises GitStop where that would overwrite local changes."""
    done = Merged(stages={(path, 0): entry for path, entry in new.items()})
    done.files = {path: (entry.mode, session.repository.blob(entry.sha)) for path, entry in new.items()}
    check_local(session, old, done, what, verb)
    put_result(session, old, done)


def check_local(session: GitSession, head: Mapping[str, TreeEntry], done: Merged, what: str, verb: str) -> None:
    """Raise GitStop where a merge would overwrite what is not committed."""
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    touched = {path for path in {*head, *done.files} if _entry(done, path) != head.get(path)}
    local = sorted(
        path
        for path in touched
        if path in head and (index.get(path) != head[path] or tree.get(path) not in (index.get(path), None))
    )
    if local:
        raise GitStop(_OVERWRITTEN.format(what, "\n".join(f"\t{path}" for path in local), verb), 1)
    loose = sorted(path for path in touched if path not in head and path in tree and path not in index)
    if loose:
        raise GitStop(
            "error: The following untracked working tree files would be overwritten by {}:\n{}\n"
            "Please move or remove them before you {}.\nAborting".format(
                what, "\n".join(f"\t{path}" for path in loose), verb
            ),
            1,
        )


def _entry(done: Merged, path: str) -> TreeEntry | None:
    return done.stages.get((path, 0))


def put_result(session: GitSession, head: Mapping[str, TreeEntry], done: Merged) -> None:
    """Write the result of a merge into the index and the working tree; what it leaves as it was stays untouched."""
    repository = session.repository
    before = repository.index()
    stages = dict(done.stages)
    for path, entry in before.items():
        # What was staged beside the merge, and is not touched by it, stays staged.
        if ((path, 0) in stages and stages[path, 0] == head.get(path)) or (path not in done.files and path not in head):
            stages[path, 0] = entry
    for path in sorted({*head, *done.files}):
        if path not in done.files:
            repository.put_files({path: None})
        elif _entry(done, path) != head.get(path):
            repository.put_file(path, *done.files[path])
    repository.put_stages(stages)


def back_to(session: GitSession, sha: str) -> None:
    """Make index and working tree as a commit has them, and forget what was in progress."""
    repository = session.repository
    files = repository.files(repository.commit(sha).tree)
    now = worktree_entries(repository)
    tracked = {*repository.index(), *repository.conflicts(), *files}
    repository.put_files({path: files.get(path) for path in sorted(tracked) if now.get(path) != files.get(path)})
    repository.put_stages({(path, 0): entry for path, entry in files.items()})
    for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG"):
        repository.drop(name)


def carry_over(
    session: GitSession,
    sha: str,
    *,
    back: bool,
    names: tuple[str, str],
    what: str,
    parent: int = 1,
    staged: bool = False,
    favour: str | None = None,
) -> Merged:
    """Carry the change of a commit against one of its parents, or its reverse, over to HEAD, or to what is staged."""
    repository = session.repository
    commit = repository.commit(sha)
    before = repository.files(repository.commit(commit.parents[parent - 1]).tree) if commit.parents else {}
    own = repository.files(commit.tree)
    here = repository.index() if staged else repository.files(repository.commit(session.head or "").tree)
    base, other = (own, before) if back else (before, own)
    done = merge_trees(repository, base, here, other, names=names, favour=favour)
    check_local(session, here, done, what, what)
    put_result(session, here, done)
    return done

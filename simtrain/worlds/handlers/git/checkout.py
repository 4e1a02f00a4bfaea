"""Switching to another commit: the files that change, and those that prevent it (`git help read-tree`, two tree merge)."""

from collections import defaultdict
from dataclasses import dataclass, field

from simtrain.worlds.handlers.git.branches import commit_at, current
from simtrain.worlds.handlers.git.failure import CommandFailed
from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.handlers.git.paths import Ignored
from simtrain.worlds.handlers.git.repository import Repository
from simtrain.worlds.handlers.git.revisions import Object, branch_of, earlier_checkout
from simtrain.worlds.handlers.git.states import head_tree, worktree_entries

_STEPS = frozenset(str(steps) for steps in range(1, 1000))
_UNSAVED = (
    "Your local changes to the following files would be overwritten by checkout:",
    "Please commit your changes or stash them before you switch branches.",
)
_UNTRACKED = "The following untracked working tree files would be {} by checkout:"
_MOVE = "Please move or remove them before you switch branches."
_REASONS = {
    "restaged": _UNSAVED,
    "unsaved": _UNSAVED,
    "in folders": ("Updating the following directories would lose untracked files in them:", ""),
    "overwritten": (_UNTRACKED.format("overwritten"), _MOVE),
    "removed": (_UNTRACKED.format("removed"), _MOVE),
}
"""Why a path forbids switching -> git's lines before and after the paths, in git's order."""


@dataclass(slots=True)
class _Plan:
    """The changes that switching makes, and the paths that forbid it."""

    changes: dict[str, TreeEntry | None] = field(default_factory=dict[str, "TreeEntry | None"])
    forbidden: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))

    def problem(self) -> str | None:
        """Return git's message about the paths that forbid switching; None if there are none."""
        lines: list[str] = []
        for reason, (before, after) in _REASONS.items():
            if reason in self.forbidden:
                lines += [f"error: {before}", *(f"\t{path}" for path in sorted(self.forbidden[reason])), after]
        return "\n".join([*lines, "Aborting"]) if lines else None


def switch(repository: Repository, name: str, found: Object, *, at: str, said: str | None = None) -> None:
    """Check out a branch, or the commit that a revision leads to. Raises CommandFailed before anything is changed.

    `said` is what the log of HEAD calls it; by default its name.
    """
    wanted = _name(repository, name)
    branch = branch_of(repository, wanted)
    target = commit_at(repository, branch) if branch else found.sha
    if target is None or (branch is None and found.kind != "commit"):
        why = "reference is not a tree: {}" if found.kind == "blob" else "Cannot switch branch to a non-commit '{}'"
        raise CommandFailed(128, f"checkout {name}", "fatal: " + why.format(name))
    plan = _plan(repository, repository.commit(target).tree)
    problem = plan.problem()
    if problem:
        raise CommandFailed(1, f"checkout {name}", problem)
    repository.stage(plan.changes)
    repository.put_files(plan.changes)
    _move(repository, wanted, branch, target, at, said or wanted)


def _name(repository: Repository, name: str) -> str:
    """Return the name, or the earlier checkout that `@{-N}` stands for."""
    if name.startswith("@{-") and name.endswith("}") and name[3:-1] in _STEPS:
        return earlier_checkout(repository, int(name[3:-1])) or name
    return name


def _move(repository: Repository, name: str, branch: str | None, target: str, at: str, said: str) -> None:
    before, here = repository.head, current(repository)
    if name == "HEAD" and here is not None and branch is None:
        return
    old = repository.ref("HEAD")
    after = branch or target
    repository.set_head(after)
    if before == after or (here is None and branch is None and old == target):
        return
    message = f"checkout: moving from {here or old} to {said}"
    repository.note("HEAD", old=old or target, new=target, message=message, at=at)


def _plan(repository: Repository, tree: str) -> _Plan:
    head, target = repository.files(head_tree(repository)), repository.files(tree)
    index, worktree = repository.index(), worktree_entries(repository)
    ignored = Ignored(repository.worktree())
    plan = _Plan()
    for path in sorted({*head, *target, *index}):
        before, after, entry, now = head.get(path), target.get(path), index.get(path), worktree.get(path)
        # Local changes survive where both commits agree, or where the index already is as the target: nothing is written there.
        if before == after or entry == after:
            if entry is None and after is None and before is not None and now is not None:
                plan.forbidden["removed"].append(path)
            continue
        if entry != before:
            plan.forbidden["restaged"].append(path)
        # git overwrites ignored files without a word.
        elif entry is None and now is not None and ignored.cause(path) is None:
            plan.forbidden["overwritten"].append(path)
        elif entry is None and any(other.startswith(f"{path}/") for other in worktree):
            plan.forbidden["in folders"].append(path)
        elif entry is not None and now is not None and now != entry:
            plan.forbidden["unsaved"].append(path)
        else:
            plan.changes[path] = after
    return plan

"""What git says of a merge, rebase, pick or bisection that is not finished."""

from collections.abc import Sequence

from simtrain.worlds.machine.git.bisect_state import Bisection
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.session import GitSession

_SHOWN = 2
"""How many commands of a rebase `git status` lists before and behind the current one."""


def notes(session: GitSession, conflicts: bool) -> list[str]:
    """Return the lines that `git status` has on what is in progress."""
    repository = session.repository
    found = (
        _of_merge(repository, conflicts)
        or _of_mails(repository)
        or _of_rebase(repository, conflicts)
        or _of_pick(repository, conflicts)
    )
    state = Bisection(repository)
    if state.begun and not found:
        return [
            f"You are currently bisecting, started from branch '{state.began_on}'.",
            '  (use "git bisect reset" to get back to the original branch)',
            "",
        ]
    return found


def heading(repository: FolderRepository) -> str | None:
    """Return the line that stands in place of the detached HEAD during a rebase."""
    onto = repository.text("rebase-merge/onto")
    if onto is None:
        return None
    kind = "interactive rebase" if repository.text("rebase-merge/interactive") is not None else "rebase"
    return f"{kind} in progress; onto {repository.abbreviated(onto.strip())}"


def is_joining(repository: FolderRepository) -> bool:
    """Return whether the next commit concludes a merge or pick, so that nothing is to be unstaged."""
    if repository.text("rebase-merge/onto") is not None:
        return False
    return any(repository.text(name) is not None for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD"))


def _of_merge(repository: FolderRepository, conflicts: bool) -> list[str]:
    if repository.text("MERGE_HEAD") is None:
        return []
    if conflicts:
        return [
            "You have unmerged paths.",
            '  (fix conflicts and run "git commit")',
            '  (use "git merge --abort" to abort the merge)',
            "",
        ]
    return ["All conflicts fixed but you are still merging.", '  (use "git commit" to conclude merge)', ""]


def _of_mails(repository: FolderRepository) -> list[str]:
    if repository.text("rebase-apply/applying") is None:
        return []
    empty = not repository.text("rebase-apply/patch")
    return [
        "You are in the middle of an am session.",
        *(["The current patch is empty."] if empty else ['  (fix conflicts and then run "git am --continue")']),
        '  (use "git am --skip" to skip this patch)',
        *(['  (use "git am --allow-empty" to record this patch as an empty commit)'] if empty else []),
        '  (use "git am --abort" to restore the original branch)',
        "",
    ]


def _of_rebase(repository: FolderRepository, conflicts: bool) -> list[str]:
    if repository.text("rebase-merge/onto") is None:
        return []
    onto = repository.abbreviated((repository.text("rebase-merge/onto") or "").strip())
    branch = (repository.text("rebase-merge/head-name") or "").strip().removeprefix("refs/heads/")
    what = f" branch '{branch}' on '{onto}'" if branch != "detached HEAD" else ""
    lines = _commands(repository) if repository.text("rebase-merge/interactive") is not None else []
    if conflicts:
        lines += [
            f"You are currently rebasing{what}.",
            '  (fix conflicts and then run "git rebase --continue")',
            '  (use "git rebase --skip" to skip this patch)',
            '  (use "git rebase --abort" to check out the original branch)',
        ]
    elif repository.text("MERGE_MSG") is not None:
        lines += [f"You are currently rebasing{what}.", '  (all conflicts fixed: run "git rebase --continue")']
    else:
        lines += [
            f"You are currently editing a commit while rebasing{what}.",
            '  (use "git commit --amend" to amend the current commit)',
            '  (use "git rebase --continue" once you are satisfied with your changes)',
        ]
    return [*lines, ""]


def _commands(repository: FolderRepository) -> list[str]:
    done = _lines(repository, "rebase-merge/done")
    waiting = _lines(repository, "rebase-merge/git-rebase-todo")
    plural = "" if len(done) == 1 else "s"
    lines = [f"Last command{plural} done ({len(done)} command{plural} done):"] if done else ["No commands done."]
    lines += _short(repository, done[-_SHOWN:])
    if len(done) > _SHOWN:
        lines.append("  (see more in file .git/rebase-merge/done)")
    if not waiting:
        return [*lines, "No commands remaining."]
    plural = "" if len(waiting) == 1 else "s"
    lines.append(f"Next command{plural} to do ({len(waiting)} remaining command{plural}):")
    return [*lines, *_short(repository, waiting[:_SHOWN]), '  (use "git rebase --edit-todo" to view and edit)']


def _lines(repository: FolderRepository, name: str) -> list[str]:
    return [line for line in (repository.text(name) or "").splitlines() if line and not line.startswith("#")]


def _short(repository: FolderRepository, lines: Sequence[str]) -> list[str]:
    """Return commands of a rebase with the ids of their commits abbreviated."""
    found: list[str] = []
    for line in lines:
        words = line.split(" ")
        found.append("   " + " ".join(repository.abbreviated(word) if len(word) == 40 else word for word in words))
    return found


def _of_pick(repository: FolderRepository, conflicts: bool) -> list[str]:
    todo = repository.text("sequencer/todo") or ""
    for name, verb, act, first in (
        ("CHERRY_PICK_HEAD", "cherry-pick", "cherry-picking", "pick "),
        ("REVERT_HEAD", "revert", "reverting", "revert "),
    ):
        sha = (repository.text(name) or "").strip()
        many = todo.startswith(first)
        if not sha and not many:
            continue
        single = f"You are currently {act} commit {repository.abbreviated(sha)}." if sha else ""
        fixed = f'(run "git {verb} --continue" to continue)'
        fixed = fixed if many else f'(all conflicts fixed: run "git {verb} --continue")'
        return [
            f"{verb.capitalize()} currently in progress." if many else single,
            f'  (fix conflicts and run "git {verb} --continue")' if conflicts else f"  {fixed}",
            f'  (use "git {verb} --skip" to skip this patch)',
            f'  (use "git {verb} --abort" to cancel the {verb} operation)',
            "",
        ]
    return []

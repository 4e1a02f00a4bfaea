"""rebase: moves commits on top of another one."""

from dataclasses import dataclass, field
from shlex import split

from simtrain.worlds.handlers.git.objects import Commit, Signature
from simtrain.worlds.handlers.git.repository import HEADS
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.applying import back_to, write_tree
from simtrain.worlds.machine.git.committing import commit
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.messages import edited
from simtrain.worlds.machine.git.rebase_steps import carry_on, clear_line, held, is_quiet
from simtrain.worlds.machine.git.rebase_todo import (
    FOLDER,
    TODO,
    RebaseStep,
    edited_steps,
    picks,
    put_steps,
    squashed,
    with_commands,
)
from simtrain.worlds.machine.git.resetting import head_files, next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option
from simtrain.worlds.machine.git.stashing import stash
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases

_RESUMING = {"--abort", "--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch"}
_FORCING = {"-f", "--force-rebase", "--no-ff", "--signoff"}
_KNOWN = _RESUMING | _FORCING | {
    "-i", "--interactive", "-q", "--quiet", "-v", "--verbose", "--root", "--autosquash", "--no-autosquash", "--autostash",
    "--no-autostash", "--keep-base", "-m", "--merge", "--apply", "-n", "--no-stat", "--stat", "--no-verify", "--verify",
    "--keep-empty", "--no-keep-empty", "--empty", "-r", "--rebase-merges", "--reapply-cherry-picks", "--fork-point",
    "--no-fork-point", "--committer-date-is-author-date", "--reset-author-date", "--ignore-date", "--ff", "--update-refs",
    "--no-update-refs", "--no-reapply-cherry-picks", "--allow-empty-message", "--rerere-autoupdate",
}  # fmt: skip
_USAGE = "usage: git rebase [-i] [options] [--exec <cmd>] [--onto <newbase> | --keep-base] [<upstream> [<branch>]]"
_IN_PROGRESS = (
    "fatal: It seems that there is already a rebase-merge directory, and\n"
    "I wonder if you are in the middle of another rebase.  If that is the\ncase, please try\n"
    "\tgit rebase (--continue | --abort | --skip)\nIf that is not the case, please\n"
    '\trm -fr ".git/rebase-merge"\n'
    "and run me again.  I am stopping in case you still have something\nvaluable there.\n"
)


@dataclass(slots=True)
class _Wish:
    """What is asked for: flags, the commit to build on, commands to run, and names."""

    flags: set[str] = field(default_factory=set[str])
    onto: str | None = None
    favour: str | None = None
    commands: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])

    @property
    def interactive(self) -> bool:
        """Whether the user edits the list of steps."""
        return bool(self.flags & {"-i", "--interactive"})

    @property
    def quiet(self) -> bool:
        """Whether nothing is said."""
        return bool(self.flags & {"-q", "--quiet"})


def rebase(session: GitSession) -> None:
    """Move the commits of the branch on top of another commit."""
    wish = _read_words(session)
    repository = session.repository
    if wish.flags & _RESUMING:
        _resume(session, wish.flags)
        return
    if repository.text("rebase-apply/applying") is not None:
        raise GitStop("fatal: It looks like 'git am' is in progress. Cannot rebase.")
    if repository.text(f"{FOLDER}/onto") is not None:
        raise GitStop(_IN_PROGRESS)
    upstream_name = _upstream_name(session, wish)
    if upstream_name is not None and session.maybe(upstream_name) is None:
        raise GitStop(f"fatal: invalid upstream '{upstream_name}'")
    if wish.onto is not None and session.maybe(wish.onto) is None:
        raise GitStop(f"fatal: Does not point to a valid commit '{wish.onto}'")
    target = wish.names[0] if wish.names else None
    if target is not None and session.maybe(target) is None:
        raise GitStop(f"fatal: no such branch/commit '{target}'")
    _check_clean(session, stashing="--autostash" in wish.flags or session.setting("rebase.autostash") == "true")
    upstream = session.commit_id(upstream_name) if upstream_name is not None else None
    if target is not None:
        _switch(session, target)
    if "--keep-base" in wish.flags and upstream is not None:
        wish.onto = merge_bases(repository, session.head or "", upstream)[0]
    _begin(session, wish, upstream, upstream_name)


def _read_words(session: GitSession) -> _Wish:
    wish, words = _Wish(), list(session.words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name == "--onto":
            wish.onto = value if equals else next_word(words, word)
        elif name in ("-x", "--exec"):
            wish.commands.append(value if equals and name == "--exec" else next_word(words, word))
            wish.flags.add("--exec")
        elif word in ("-X", "--strategy-option") or name == "--strategy-option" or word.startswith("-X"):
            side = value if equals else word[2:] if word.startswith("-X") and len(word) > 2 else next_word(words, word)
            # In a rebase the commits that are moved are the other side.
            wish.favour = side
        elif word in ("-s", "--strategy", "-C"):
            next_word(words, word)
        elif word.startswith("-") and len(word) > 1:
            if name not in _KNOWN:
                raise unknown_option(word, _USAGE)
            wish.flags.add(name)
        else:
            wish.names.append(word)
    return wish


def _upstream_name(session: GitSession, wish: _Wish) -> str | None:
    """Return what the commits are new against; None for all of history. Raises GitStop without one."""
    if "--root" in wish.flags:
        return None
    if wish.names:
        return wish.names.pop(0)
    repository, branch = session.repository, session.branch
    ref = repository.upstream(repository.head) if branch else None
    if ref is not None:
        return ref
    first = (
        "There is no tracking information for the current branch." if branch else "You are not currently on a branch."
    )
    session.say(
        f"{first}\nPlease specify which branch you want to rebase against.\nSee git-rebase(1) for details.\n\n"
        "    git rebase '<branch>'\n"
    )
    if branch:
        session.say(
            "If you wish to set tracking information for this branch you can do so with:\n\n"
            f"    git branch --set-upstream-to=<remote>/<branch> {branch}\n"
        )
    raise GitStop("", 1)


def _check_clean(session: GitSession, *, stashing: bool) -> None:
    repository = session.repository
    index, tree, head = repository.index(), worktree_entries(repository), head_files(session)
    unstaged = any(tree.get(path) != entry for path, entry in index.items())
    if not unstaged and index == head:
        return
    if stashing:
        session.words = ["push", "-q", "-m", "autostash"]
        stash(session)
        made = repository.ref("refs/stash") or ""
        repository.put_text(f"{FOLDER}/autostash", f"{made}\n")
        session.say(f"Created autostash: {repository.abbreviated(made)}")
        return
    first = "You have unstaged changes." if unstaged else "Your index contains uncommitted changes."
    extra = "\nerror: additionally, your index contains uncommitted changes." if unstaged and index != head else ""
    raise GitStop(f"error: cannot rebase: {first}{extra}\nerror: Please commit or stash them.", 1)


def _switch(session: GitSession, target: str) -> None:
    """Check out the branch or commit that is to be rebased."""
    repository, old = session.repository, session.head or ""
    sha = session.commit_id(target)
    write_tree(
        session, head_files(session), repository.files(repository.commit(sha).tree), "checkout", "switch branches"
    )
    repository.set_head(f"{HEADS}{target}" if repository.ref(f"{HEADS}{target}") else sha)
    repository.note("HEAD", old=old, new=sha, message=f"rebase (start): checkout {target}", at=session.reflog_time)


def _begin(session: GitSession, wish: _Wish, upstream: str | None, upstream_name: str | None) -> None:
    repository, head, branch = session.repository, session.head or "", session.branch
    root = upstream is None and wish.onto is None
    onto = session.commit_id(wish.onto) if wish.onto else upstream or _empty_root(session)
    listed = wish.interactive or bool(wish.commands)
    if not root and not listed and _is_up_to_date(session, head, onto, upstream):
        forced = bool(wish.flags & _FORCING)
        if not wish.quiet:
            session.say(f"Current branch {branch or 'HEAD'} is up to date{', rebase forced' if forced else ''}.")
        if not forced:
            _apply_stash(session)
            repository.drop(FOLDER)
            return
    steps = picks(session, head, upstream)
    if "--autosquash" in wish.flags or (
        session.setting("rebase.autosquash") == "true" and "--no-autosquash" not in wish.flags
    ):
        steps = squashed(steps)
    steps = with_commands(steps, wish.commands)
    if wish.interactive:
        since = repository.abbreviated(upstream) if upstream else ""
        steps = edited_steps(session, steps, since, onto)
    force = bool(wish.flags & {"-f", "--force-rebase", "--no-ff"})
    steps, skipped, base = (steps, [], onto) if force else _skip_unneeded(session, steps, onto, root=root)
    require_unlocked(session, kind="error", after="error: could not detach HEAD", code=1)
    repository.put_text("ORIG_HEAD", f"{head}\n")
    new = repository.files(repository.commit(base).tree)
    write_tree(session, head_files(session), new, "checkout", "switch branches")
    repository.set_head(base)
    name = wish.onto or upstream_name or onto
    repository.note("HEAD", old=head, new=base, message=f"rebase (start): checkout {name}", at=session.reflog_time)
    states = {
        "onto": onto, "head-name": f"{HEADS}{branch}" if branch else "detached HEAD", "orig-head": head,
        "done": "\n".join(step.line(session) for step in skipped),
    }  # fmt: skip
    for state, text in states.items():
        repository.put_text(f"{FOLDER}/{state}", f"{text}\n" if text else "")
    flags = {"interactive": True, "drop_redundant_commits": not wish.interactive, "no-reschedule-failed-exec": True,
             "force": force, "quiet": wish.quiet}  # fmt: skip
    for state in (state for state, wanted in flags.items() if wanted):
        repository.put_text(f"{FOLDER}/{state}", "")
    if root:
        repository.put_text(f"{FOLDER}/squash-onto", f"{onto}\n")
    if wish.favour in ("ours", "theirs"):
        repository.put_text(f"{FOLDER}/strategy_opts", wish.favour)
    repository.put_text(f"{TODO}.backup", "".join(f"{step.line(session)}\n" for step in [*skipped, *steps]))
    put_steps(session, steps)
    if carry_on(session):
        _finish(session)


def _empty_root(session: GitSession) -> str:
    """Return a commit without files and parents, on which a rebase of all of history builds."""
    nobody = session.signature("COMMITTER")
    repository = session.repository
    return repository.keep_commit(Commit(repository.keep_tree({}), (), nobody, nobody, ""))


def _is_up_to_date(session: GitSession, head: str, onto: str, upstream: str | None) -> bool:
    repository = session.repository
    if merge_bases(repository, onto, head) != [onto]:
        return False
    if upstream is not None and merge_bases(repository, upstream, head) != [onto]:
        return False
    found = commits(session, Range(wanted=[head], unwanted=[onto]))
    return all(len(repository.commit(sha).parents) == 1 for sha in found)


def _skip_unneeded(
    session: GitSession, steps: list[RebaseStep], onto: str, *, root: bool
) -> tuple[list[RebaseStep], list[RebaseStep], str]:
    """Return the steps without picks that stand where they belong already, those, and the commit after them."""
    base, count = onto, 0
    for step in steps:
        if step.verb in ("drop", "noop"):
            count += 1
            continue
        below = () if root and base == onto else (base,)
        if step.verb != "pick" or session.repository.commit(step.sha).parents != below:
            break
        base, count = step.sha, count + 1
    return steps[count:], steps[:count], base


def _finish(session: GitSession) -> None:
    """Move the branch to what was built, and check it out again."""
    repository = session.repository
    branch, onto, old = (held(session, name) for name in ("head-name", "onto", "orig-head"))
    tip, at = session.head or "", session.reflog_time
    if branch.startswith("refs/"):
        repository.set_ref(branch, tip)
        repository.note(branch, old=old, new=tip, message=f"rebase (finish): {branch} onto {onto}", at=at)
        repository.set_head(branch)
        repository.note("HEAD", old=tip, new=tip, message=f"rebase (finish): returning to {branch}", at=at)
    _apply_stash(session)
    clear_line(session)
    if not is_quiet(session):
        session.warn(f"Successfully rebased and updated {branch}.")
    repository.drop(FOLDER)


def _apply_stash(session: GitSession) -> None:
    if not held(session, "autostash"):
        return
    session.words = ["pop", "-q"]
    before, session.code = session.code, 0
    stash(session)
    if not session.code:
        session.warn("Applied autostash.")
    session.code = before


# Going on, and giving up.


def _resume(session: GitSession, flags: set[str]) -> None:
    repository = session.repository
    if repository.text(f"{FOLDER}/onto") is None:
        raise GitStop("fatal: No rebase in progress?")
    if "--quit" in flags:
        repository.drop(FOLDER)
    elif "--abort" in flags:
        _abort(session)
    elif "--edit-todo" in flags:
        command = session.call.environment.get("GIT_SEQUENCE_EDITOR") or session.setting("sequence.editor")
        edited(session, repository.text(TODO) or "", TODO, command=command)
    elif "--show-current-patch" in flags:
        from simtrain.worlds.machine.git.history import show

        session.words = [held(session, "stopped-sha")]
        show(session)
    else:
        if "--skip" in flags:
            back_to(session, session.head or "")
        else:
            _conclude(session)
        for name in ("amend", "stopped-sha", "author-script", "message"):
            repository.drop(f"{FOLDER}/{name}")
        repository.drop("MERGE_MSG")
        if carry_on(session):
            _finish(session)


def _abort(session: GitSession) -> None:
    repository = session.repository
    branch, old, now = held(session, "head-name"), held(session, "orig-head"), session.head or ""
    back_to(session, old)
    back = branch if branch.startswith("refs/") else old
    repository.set_head(back)
    message = f"rebase (abort): returning to {back}"
    repository.note("HEAD", old=now, new=old, message=message, at=session.reflog_time)
    _apply_stash(session)
    repository.drop(FOLDER)


def _conclude(session: GitSession) -> None:
    """Commit what was resolved. Raises GitStop where something is left to be resolved."""
    repository = session.repository
    conflicts = repository.conflicts()
    if conflicts:
        session.output += [f"{path}: needs merge\n" for path in sorted(conflicts)]
        session.say("You must edit all merge conflicts and then\nmark them as resolved using git add")
        raise GitStop("", 1)
    if repository.index() == head_files(session):
        return
    session.words = ["--no-verify"]
    if held(session, "amend"):
        session.words.append("--amend")
    try:
        commit(session, action="rebase (continue)", author=_noted_author(session))
    except GitStop as stop:
        raise GitStop(f"{stop.text}\nerror: could not commit staged changes.".lstrip("\n"), 1) from None


def _noted_author(session: GitSession) -> Signature | None:
    """Return the author of the commit that could not be picked."""
    words = [word.partition("=")[2] for word in split(session.repository.text(f"{FOLDER}/author-script") or "")]
    return Signature(words[0], words[1], session.date(words[2])) if len(words) > 2 else None

"""checkout and switch."""

import re
from collections.abc import Sequence

from simtrain.worlds.handlers.git.branches import detached, shortened
from simtrain.worlds.handlers.git.checkout import switch as switch_tree
from simtrain.worlds.handlers.git.failure import CommandFailed
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.handlers.git.revisions import Object, earlier_checkout
from simtrain.worlds.handlers.git.states import against_worktree
from simtrain.worlds.handlers.git.status import tracked_remote
from simtrain.worlds.machine.git.branches import make_branch
from simtrain.worlds.machine.git.listing import letter
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.resetting import restore_paths
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_ADVICE = """Note: switching to '{0}'.

You are in 'detached HEAD' state. You can look around, make experimental
changes and commit them, and you can discard any commits you make in this
state without impacting any branches by switching back to a branch.

If you want to create a new branch to retain commits you create, you may
do so (now or later) by using -c with the switch command. Example:

  git switch -c <new-branch-name>

Or undo this operation with:

  git switch -

Turn off this advice by setting config variable advice.detachedHead to false
"""


def checkout(session: GitSession) -> None:
    """Switch branches, or restore files."""
    words = _apart(session.words)
    quiet = _take(words, "-q", "--quiet")
    force = _take(words, "-f", "--force")
    _take(words, "--no-track", "-t", "--track", "--progress", "--no-progress", "--no-guess")
    side = 2 if _take(words, "--ours") else 3 if _take(words, "--theirs") else None
    if "--" in words:
        at = words.index("--")
        front, paths = words[:at], words[at + 1 :]
        if paths:
            _restore(session, front[0] if front else None, paths, side, quiet=True)
            return
        words = front
    for flag in ("-b", "-B"):
        if flag in words:
            at = words.index(flag)
            if at + 1 >= len(words):
                raise GitStop(f"error: switch `{flag[1]}' requires a value", 129)
            name = words[at + 1]
            rest = words[:at] + words[at + 2 :]
            create(session, name, rest[0] if rest else "HEAD", force=flag == "-B", quiet=quiet)
            return
    if "--orphan" in words:
        session.repository.set_head(HEADS + words[words.index("--orphan") + 1])
        session.warn(f"Switched to a new branch '{words[words.index('--orphan') + 1]}'")
        return
    detach = _take(words, "--detach", "-d")
    unknown = [word for word in words if word.startswith("-") and word != "-"]
    if unknown:
        raise unknown_option(unknown[0], "usage: git checkout [<options>] <branch>")
    if not words and not detach and not force:
        return
    words = words or ["HEAD"]
    first = words[0]
    found = session.maybe(first)
    if found is None and _remote_branch(session, first) and len(words) == 1:
        make_branch(session, first, _remote_branch(session, first) or "")
        session.output.insert(0, session.output.pop())
        go(session, first, quiet=quiet, force=force)
        return
    if found is not None and len(words) == 1 and found.kind == "commit":
        go(session, first, quiet=quiet, force=force, detach=detach)
        return
    if found is not None and len(words) > 1:
        _restore(session, first, words[1:], side, quiet=True)
        return
    _restore(session, None, words, side, quiet=quiet)


def _apart(words: Sequence[str]) -> list[str]:
    """Return words with joined letters such as `-qb` as words of their own."""
    found: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return [*found, *words[place:]]
        found += [f"-{letter}" for letter in word[1:]] if re.fullmatch("-[qfdtbBcC]{2,}", word) else [word]
    return found


def switch(session: GitSession) -> None:
    """Switch branches."""
    words = _apart(session.words)
    quiet = _take(words, "-q", "--quiet")
    force = _take(words, "-f", "--force", "--discard-changes")
    for flag in ("-c", "--create", "-C", "--force-create"):
        if flag in words:
            at = words.index(flag)
            if at + 1 >= len(words):
                raise GitStop(f"error: switch `{flag[1]}' requires a value", 129)
            name = words[at + 1]
            rest = words[:at] + words[at + 2 :]
            create(session, name, rest[0] if rest else "HEAD", force=flag in ("-C", "--force-create"), quiet=quiet)
            return
    detach = _take(words, "--detach", "-d")
    if detach and not words:
        words = ["HEAD"]
    if not words:
        raise GitStop("fatal: missing branch or commit argument")
    name = words[0]
    repository = session.repository
    if session.maybe(name) is None:
        remote = _remote_branch(session, name)
        if remote is None:
            raise GitStop(f"fatal: invalid reference: {name}")
        make_branch(session, name, remote)
    elif repository.ref(HEADS + name) is None and name != "-" and not detach:
        kind = "tag" if repository.ref(TAGS + name) else "remote branch" if repository.ref(REMOTES + name) else "commit"
        raise GitStop(
            f"fatal: a branch is expected, got {kind} '{name}'\n"
            "hint: If you want to detach HEAD at the commit, try again with the --detach option."
        )
    go(session, name, quiet=quiet, force=force, detach=detach)


def create(session: GitSession, name: str, start: str, *, force: bool, quiet: bool) -> None:
    """Make a branch and switch to it."""
    repository = session.repository
    existed = repository.ref(HEADS + name) is not None
    if session.head is None and start == "HEAD":
        repository.set_head(HEADS + name)
        session.warn(f"Switched to a new branch '{name}'")
        return
    if session.maybe(start) is None:
        raise GitStop(f"fatal: '{start}' is not a commit and a branch '{name}' cannot be created from it")
    if start != "HEAD":
        require_unlocked(session)
    if force and repository.head == HEADS + name and start != "HEAD":
        # The branch moves only when its files could be.
        go(session, session.commit_id(start), quiet=True, detach=True)
        start = "HEAD"
    make_branch(session, name, start, force=force)
    go(session, name, quiet=True, stays=start == "HEAD")
    if not quiet:
        session.warn(f"Reset branch '{name}'" if existed else f"Switched to a new branch '{name}'")


def go(
    session: GitSession,
    name: str,
    *,
    quiet: bool = False,
    force: bool = False,
    detach: bool = False,
    stays: bool = False,
) -> None:
    """Check out a branch or a commit, and say so. `stays` says that no file changes, so that git does not look at the index."""
    repository = session.repository
    if not stays:
        require_unlocked(session)
    if repository.conflicts() and not force:
        session.output += [f"{path}: needs merge\n" for path in sorted(repository.conflicts())]
        raise GitStop("error: you need to resolve your current index first", 1)
    target = earlier_checkout(repository, 1) if name == "-" else name
    if target is None:
        raise GitStop("error: pathspec '-' did not match any file(s) known to git", 1)
    found = session.object(target)
    before_branch, before = session.branch, session.head
    was = detached(repository) if before_branch is None and before else ""
    if force and before:
        files = repository.files(repository.commit(before).tree)
        repository.put_stages({(path, 0): entry for path, entry in files.items()})
        repository.put_files(files)
    wanted = found.sha if detach else target
    try:
        switch_tree(repository, wanted, Object("commit", found.sha), at=session.reflog_time, said=target)
    except CommandFailed as error:
        raise GitStop(error.stderr, error.status) from None
    if not stays:
        _forget_picks(session, quiet)
    if quiet:
        return
    changed = against_worktree(repository, repository.files(repository.commit(found.sha).tree))
    session.output += [f"{letter(delta)}\t{session.relative(delta.path)}\n" for delta in changed]
    branch_now = session.branch
    if before_branch is None and was and before and before != found.sha:
        subject = repository.commit(before).message.partition("\n")[0]
        session.warn(f"Previous HEAD position was {repository.abbreviated(before)} {subject}")
    if branch_now is None:
        if before_branch is not None and session.setting("advice.detachedhead") != "false":
            session.warn(_ADVICE.format(target))
        subject = repository.commit(found.sha).message.partition("\n")[0]
        session.warn(f"HEAD is now at {repository.abbreviated(found.sha)} {subject}")
    elif branch_now == before_branch:
        session.warn(f"Already on '{branch_now}'")
    else:
        session.warn(f"Switched to branch '{branch_now}'")
    if branch_now is not None:
        _say_tracking(session)


def _forget_picks(session: GitSession, quiet: bool) -> None:
    """Give up a pick that is in progress, which a checkout ends."""
    for name, what in (("CHERRY_PICK_HEAD", "cherry picking"), ("REVERT_HEAD", "revert")):
        if session.repository.text(name) is not None:
            session.repository.drop(name)
            session.repository.drop("MERGE_MSG")
            if not quiet:
                session.warn(f"warning: cancelling a {what} in progress")


def _say_tracking(session: GitSession) -> None:
    found = tracked_remote(session.repository)
    if found is None:
        return
    name, ahead, behind = found
    if ahead and behind:
        session.say(
            f"Your branch and '{name}' have diverged,\n"
            f"and have {ahead} and {behind} different commits each, respectively.\n"
            '  (use "git pull" to merge the remote branch into yours)'
        )
    elif ahead:
        session.say(
            f"Your branch is ahead of '{name}' by {ahead} commit{'s' if ahead != 1 else ''}.\n"
            '  (use "git push" to publish your local commits)'
        )
    elif behind:
        session.say(
            f"Your branch is behind '{name}' by {behind} commit{'s' if behind != 1 else ''}, and can be "
            'fast-forwarded.\n  (use "git pull" to update your local branch)'
        )
    else:
        session.say(f"Your branch is up to date with '{name}'.")


def _restore(session: GitSession, source: str | None, names: list[str], side: int | None, *, quiet: bool) -> None:
    count = restore_paths(session, names, source=source, index=source is not None, tree=True, side=side)
    if not quiet:
        where = f"{session.repository.abbreviated(session.object(source).sha)}" if source else "the index"
        session.warn(f"Updated {count} path{'s' if count != 1 else ''} from {where}")


def _remote_branch(session: GitSession, name: str) -> str | None:
    """Return the one remote branch with a name."""
    repository = session.repository
    found = [
        shortened(ref)
        for ref in repository.refs()
        if ref.startswith(REMOTES) and shortened(ref).partition("/")[2] == name
    ]
    return found[0] if len(found) == 1 else None


def _take(words: list[str], *flags: str) -> bool:
    found = [word for word in words if word in flags]
    for word in found:
        words.remove(word)
    return bool(found)

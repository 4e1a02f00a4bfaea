"""branch, checkout, switch and tag."""

from __future__ import annotations

from fnmatch import fnmatchcase

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import check_name, containing, detached, listing, shortened
from simtrain.worlds.handlers.git.checkout import switch as switch_tree
from simtrain.worlds.handlers.git.failure import CommandFailed
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import NOTHING, Tag
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.handlers.git.revisions import Object, earlier_checkout, full_name
from simtrain.worlds.handlers.git.states import against_worktree
from simtrain.worlds.handlers.git.status import tracked_remote
from simtrain.worlds.machine.git.changes import restore_paths
from simtrain.worlds.machine.git.listing import letter
from simtrain.worlds.machine.git.session import Session, Stop

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


def branch(session: Session) -> None:
    """List, make, rename and delete branches."""
    flags = [word for word in session.words if word.startswith("-") and word != "-"]
    names = [word for word in session.words if not word.startswith("-") or word == "-"]
    has = set(flags)
    if has & {"-d", "-D", "--delete"}:
        _delete(session, names, force="-D" in has or bool(has & {"-f", "--force"}))
    elif has & {"-m", "-M", "--move"}:
        _rename(session, names, force="-M" in has)
    elif "--show-current" in has:
        if session.branch:
            session.say(session.branch)
    elif has & {"-u"} or any(flag.startswith("--set-upstream-to") for flag in flags):
        _set_upstream(session, flags, names)
    elif "--unset-upstream" in has:
        short = names[0] if names else session.branch or ""
        session.repository.configure(f"branch.{short}.remote", None)
        session.repository.configure(f"branch.{short}.merge", None)
    elif names and not has & {"-l", "--list", "-a", "-r", "--all", "--remotes", "-v", "-vv", "--contains", "--merged", "--no-merged"} and not any(flag.startswith(("--contains", "--merged")) for flag in flags):  # fmt: skip
        if len(names) > 2:
            raise Stop("usage: git branch [<options>] [-r | -a] [--merged] [--no-merged]", 129)
        make_branch(session, names[0], names[1] if len(names) > 1 else "HEAD", force=bool(has & {"-f", "--force"}))
    else:
        _list(session, has, names)


def _list(session: Session, has: set[str], names: list[str]) -> None:
    repository = session.repository
    kind = "all" if has & {"-a", "--all"} else "remote" if has & {"-r", "--remotes"} else "local"
    wanted = unwanted = None
    patterns = names if has & {"-l", "--list"} else []
    merged: set[str] | None = None
    if "--contains" in has:
        wanted = session.commit_id(names[0] if names else "HEAD")
    if "--no-contains" in has:
        unwanted = session.commit_id(names[0] if names else "HEAD")
    if has & {"--merged", "--no-merged"}:
        merged = reachable(repository, session.commit_id(names[0] if names else "HEAD"))
    chosen = containing(repository, wanted, unwanted)

    def fits(sha: str) -> bool:
        return chosen(sha) and (merged is None or (sha in merged) != ("--no-merged" in has))

    lines = [line for line in listing(repository, kind, fits).split("\n") if line]
    if patterns:
        lines = [line for line in lines if any(fnmatchcase(line[2:], pattern) for pattern in patterns)]
    if has & {"-v", "-vv", "--verbose"}:
        lines = _with_commits(session, lines, upstreams="-vv" in has)
    session.output += [f"{line}\n" for line in lines]


def _with_commits(session: Session, lines: list[str], *, upstreams: bool) -> list[str]:
    repository = session.repository
    wide = max((len(line[2:].partition(" -> ")[0]) for line in lines), default=0)
    found: list[str] = []
    for line in lines:
        name = line[2:].partition(" -> ")[0]
        ref = "HEAD" if name.startswith("(") else full_name(repository, name.removeprefix("remotes/"))
        sha = repository.ref(ref or "") or NOTHING
        note = ""
        upstream = repository.upstream(ref or "")
        if upstreams and upstream:
            note = f"[{shortened(upstream)}] "
        subject = repository.commit(sha).message.partition("\n")[0]
        found.append(f"{line[:2]}{name.ljust(wide)} {repository.abbreviated(sha)} {note}{subject}")
    return found


def make_branch(session: Session, name: str, start: str, *, force: bool = False) -> None:
    """Make a branch at a revision. Raises Stop for a name that is taken or no name."""
    repository = session.repository
    ref = HEADS + name
    _check(name, ref)
    if repository.ref(ref) and not force:
        raise Stop(f"fatal: A branch named '{name}' already exists.")
    if session.head is None and start == "HEAD":
        raise Stop(f"fatal: Not a valid object name: '{session.branch}'.")
    found = session.maybe(start)
    if found is None or found.kind != "commit":
        raise Stop(f"fatal: Not a valid object name: '{start}'.")
    old = repository.ref(ref)
    repository.set_ref(ref, found.sha)
    repository.note(
        ref, old=old or NOTHING, new=found.sha, message=f"branch: Created from {start}", at=session.reflog_time
    )
    if start.startswith(("origin/", "refs/remotes/")) and repository.ref(REMOTES + start.removeprefix("refs/remotes/")):
        repository.set_upstream(ref, REMOTES + start.removeprefix("refs/remotes/"))
        session.say(f"branch '{name}' set up to track '{start}'.")


def _check(name: str, ref: str) -> None:
    try:
        check_name(ref)
    except ToolError:
        raise Stop(f"fatal: '{name}' is not a valid branch name") from None
    if name.startswith("-") or name == "HEAD":
        raise Stop(f"fatal: '{name}' is not a valid branch name")


def _delete(session: Session, names: list[str], *, force: bool) -> None:
    repository = session.repository
    for name in names:
        ref = HEADS + name
        sha = repository.ref(ref)
        if sha is None:
            session.warn(f"error: branch '{name}' not found.")
            session.code = 1
            continue
        if name == session.branch:
            session.warn(f"error: Cannot delete branch '{name}' checked out at '{repository.path}'")
            session.code = 1
            continue
        if not force and session.head and sha not in reachable(repository, session.head):
            session.warn(
                f"error: The branch '{name}' is not fully merged.\nIf you are sure you want to delete it, run 'git branch -D {name}'."
            )
            session.code = 1
            continue
        repository.remove_ref(ref)
        session.say(f"Deleted branch {name} (was {repository.abbreviated(sha)}).")


def _rename(session: Session, names: list[str], *, force: bool) -> None:
    repository = session.repository
    old, new = (names[0], names[1]) if len(names) > 1 else (session.branch or "", names[0])
    sha = repository.ref(HEADS + old)
    _check(new, HEADS + new)
    if sha is None and repository.head != HEADS + old:
        raise Stop(f"fatal: No branch named '{old}'.")
    if repository.ref(HEADS + new) and not force:
        raise Stop(f"fatal: A branch named '{new}' already exists.")
    log = repository.text(f"logs/{HEADS}{old}")
    if sha is not None:
        repository.remove_ref(HEADS + old)
        repository.set_ref(HEADS + new, sha)
        if log:
            repository.put_text(f"logs/{HEADS}{new}", log)
        repository.note(
            HEADS + new,
            old=sha,
            new=sha,
            message=f"Branch: renamed {HEADS}{old} to {HEADS}{new}",
            at=session.reflog_time,
        )
    if repository.head == HEADS + old:
        repository.set_head(HEADS + new)


def _set_upstream(session: Session, flags: list[str], names: list[str]) -> None:
    given = next((flag.partition("=")[2] for flag in flags if flag.startswith("--set-upstream-to=")), None)
    rest = list(names)
    upstream = given or (rest.pop(0) if rest else "")
    short = rest[0] if rest else session.branch or ""
    if session.repository.ref(REMOTES + upstream) is None:
        raise Stop(f"fatal: the requested upstream branch '{upstream}' does not exist")
    session.repository.set_upstream(HEADS + short, REMOTES + upstream)
    session.say(f"branch '{short}' set up to track '{upstream}'.")


def checkout(session: Session) -> None:
    """Switch branches, or restore files."""
    words = list(session.words)
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
                raise Stop(f"error: switch `{flag[1]}' requires a value", 129)
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
        kind = "option" if unknown[0].startswith("--") else "switch"
        raise Stop(f"error: unknown {kind} `{unknown[0].lstrip('-')}'\nusage: git checkout [<options>] <branch>", 129)
    if not words:
        return
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


def switch(session: Session) -> None:
    """Switch branches."""
    words = list(session.words)
    quiet = _take(words, "-q", "--quiet")
    force = _take(words, "-f", "--force", "--discard-changes")
    for flag in ("-c", "--create", "-C", "--force-create"):
        if flag in words:
            at = words.index(flag)
            if at + 1 >= len(words):
                raise Stop(f"error: switch `{flag[1]}' requires a value", 129)
            name = words[at + 1]
            rest = words[:at] + words[at + 2 :]
            create(session, name, rest[0] if rest else "HEAD", force=flag in ("-C", "--force-create"), quiet=quiet)
            return
    detach = _take(words, "--detach", "-d")
    if not words:
        raise Stop("fatal: missing branch or commit argument")
    name = words[0]
    repository = session.repository
    if session.maybe(name) is None:
        remote = _remote_branch(session, name)
        if remote is None:
            raise Stop(f"fatal: invalid reference: {name}")
        make_branch(session, name, remote)
    elif repository.ref(HEADS + name) is None and name != "-" and not detach:
        kind = "tag" if repository.ref(TAGS + name) else "remote branch" if repository.ref(REMOTES + name) else "commit"
        raise Stop(
            f"fatal: a branch is expected, got {kind} '{name}'\n"
            "hint: If you want to detach HEAD at the commit, try again with the --detach option."
        )
    go(session, name, quiet=quiet, force=force, detach=detach)


def create(session: Session, name: str, start: str, *, force: bool, quiet: bool) -> None:
    """Make a branch and switch to it."""
    repository = session.repository
    existed = repository.ref(HEADS + name) is not None
    if session.head is None and start == "HEAD":
        repository.set_head(HEADS + name)
        session.warn(f"Switched to a new branch '{name}'")
        return
    if session.maybe(start) is None:
        raise Stop(f"fatal: '{start}' is not a commit and a branch '{name}' cannot be created from it")
    make_branch(session, name, start, force=force)
    go(session, name, quiet=True)
    if not quiet:
        session.warn(f"Reset branch '{name}'" if existed else f"Switched to a new branch '{name}'")


def go(session: Session, name: str, *, quiet: bool = False, force: bool = False, detach: bool = False) -> None:
    """Check out a branch or a commit, and say so."""
    repository = session.repository
    if repository.conflicts() and not force:
        listed = "\n".join(f"{path}: needs merge" for path in sorted(repository.conflicts()))
        raise Stop(f"{listed}\nerror: you need to resolve your current index first", 1)
    target = earlier_checkout(repository, 1) if name == "-" else name
    if target is None:
        raise Stop("error: pathspec '-' did not match any file(s) known to git", 1)
    found = session.object(target)
    before_branch, before = session.branch, session.head
    was = detached(repository) if before_branch is None and before else ""
    if force and before:
        files = repository.files(repository.commit(before).tree)
        repository.put_stages({(path, 0): entry for path, entry in files.items()})
        repository.put_files(files)
    wanted = found.sha if detach else target
    try:
        switch_tree(repository, wanted, Object("commit", found.sha), at=session.reflog_time)
    except CommandFailed as error:
        raise Stop(error.stderr, error.status) from None
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


def _say_tracking(session: Session) -> None:
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


def _restore(session: Session, source: str | None, names: list[str], side: int | None, *, quiet: bool) -> None:
    count = restore_paths(session, names, source=source, index=source is not None, tree=True, side=side)
    if not quiet:
        where = f"{session.repository.abbreviated(session.object(source).sha)}" if source else "the index"
        session.warn(f"Updated {count} path{'s' if count != 1 else ''} from {where}")


def _remote_branch(session: Session, name: str) -> str | None:
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


def tag(session: Session) -> None:
    """List, make and delete tags."""
    repository = session.repository
    words, messages, names = list(session.words), list[str](), list[str]()
    flags: set[str] = set()
    while words:
        word = words.pop(0)
        if word in ("-m", "--message") and words:
            messages.append(words.pop(0))
            flags.add("-a")
        elif word.startswith("--message="):
            messages.append(word.partition("=")[2])
            flags.add("-a")
        elif word.startswith("-m") and len(word) > 2:
            messages.append(word[2:])
            flags.add("-a")
        elif word == "-am" and words:
            messages.append(words.pop(0))
            flags.add("-a")
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if flags & {"-d", "--delete"}:
        for name in names:
            sha = repository.ref(TAGS + name)
            if sha is None:
                session.warn(f"error: tag '{name}' not found.")
                session.code = 1
                continue
            repository.remove_ref(TAGS + name)
            session.say(f"Deleted tag '{name}' (was {repository.abbreviated(sha)})")
        return
    if (
        not names
        or flags & {"-l", "--list", "--contains", "--points-at", "--sort", "-n"}
        or any(flag.startswith(("--sort", "-n")) for flag in flags)
    ):
        _list_tags(session, flags, names)
        return
    name, start = names[0], names[1] if len(names) > 1 else "HEAD"
    try:
        check_name(TAGS + name)
    except ToolError:
        raise Stop(f"fatal: '{name}' is not a valid tag name.") from None
    old = repository.ref(TAGS + name)
    if old and not flags & {"-f", "--force"}:
        raise Stop(f"fatal: tag '{name}' already exists")
    found = session.maybe(start)
    if found is None:
        raise Stop(f"fatal: Failed to resolve '{start}' as a valid ref.")
    sha = found.sha
    if flags & {"-a", "--annotate"}:
        if not messages:
            raise Stop(
                "error: Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.", 1
            )
        sha = repository.keep_tag(Tag(sha, name, session.signature("COMMITTER"), "\n\n".join(messages) + "\n"))
    repository.set_ref(TAGS + name, sha)
    if old and old != sha:
        session.say(f"Updated tag '{name}' (was {repository.abbreviated(old)})")


def _list_tags(session: Session, flags: set[str], patterns: list[str]) -> None:
    repository = session.repository
    found = [ref for ref in repository.refs() if ref.startswith(TAGS)]
    if "--contains" in flags or "--points-at" in flags:
        target = session.commit_id(patterns[0] if patterns else "HEAD")
        patterns = []

        def commit_of(ref: str) -> str:
            sha = repository.ref(ref) or NOTHING
            return repository.tag(sha) if repository.kind(sha) == "tag" else sha

        found = [
            ref
            for ref in found
            if (target in reachable(repository, commit_of(ref)) if "--contains" in flags else commit_of(ref) == target)
        ]
    for ref in found:
        name = shortened(ref)
        if patterns and not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        if "-n" in flags or "-n1" in flags:
            sha = repository.ref(ref) or NOTHING
            text = repository.tag_text(sha).message if repository.kind(sha) == "tag" else repository.commit(sha).message
            session.say(f"{name.ljust(15)} {text.partition(chr(10))[0]}")
        else:
            session.say(name)

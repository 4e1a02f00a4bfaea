"""branch: lists, makes, renames and deletes branches."""

from fnmatch import fnmatchcase

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import check_name, containing, listing, shortened
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import NOTHING
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES
from simtrain.worlds.handlers.git.revisions import full_name
from simtrain.worlds.machine.git.bisect_state import Bisection
from simtrain.worlds.machine.git.ref_listing import RefChoice, list_in_form
from simtrain.worlds.machine.git.session import GitSession, GitStop

_LISTING = {
    "-l", "--list", "-a", "-r", "--all", "--remotes", "-v", "-vv", "--contains", "--merged", "--no-merged",
}  # fmt: skip


def branch(session: GitSession) -> None:
    """List, make, rename and delete branches."""
    flags = [word for word in session.words if word.startswith("-") and word != "-"]
    names = [word for word in session.words if not word.startswith("-") or word == "-"]
    has = set(flags)
    acts = has & _ACTING or any(flag.startswith("--set-upstream-to") for flag in flags)
    formed = any(flag.startswith(_FORMED) for flag in flags) or (not names and session.setting("branch.sort"))
    if formed and not acts:
        _list_formed(session, has)
    elif has & {"-d", "-D", "--delete"}:
        force, quiet = bool(has & {"-D", "-f", "--force"}), bool(has & {"-q", "--quiet"})
        if has & {"-r", "--remotes"}:
            _delete_remote(session, names, quiet=quiet)
        else:
            _delete(session, names, force=force, quiet=quiet)
    elif has & {"-c", "-C", "--copy"}:
        _copy(session, names, force="-C" in has)
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
    elif names and not has & _LISTING and not any(flag.startswith(("--contains", "--merged")) for flag in flags):
        if len(names) > 2:
            raise GitStop("usage: git branch [<options>] [-r | -a] [--merged] [--no-merged]", 129)
        make_branch(session, names[0], names[1] if len(names) > 1 else "HEAD", force=bool(has & {"-f", "--force"}))
    else:
        _list(session, has, names)


_LINE = "%(if)%(HEAD)%(then)* %(else)  %(end)%(refname:lstrip={depth})%(if)%(symref)%(then) -> %(symref:short)%(end)"
_ACTING = {
    "-d",
    "-D",
    "--delete",
    "-c",
    "-C",
    "--copy",
    "-m",
    "-M",
    "--move",
    "--show-current",
    "-u",
    "--unset-upstream",
}
_FORMED = ("--format", "--sort", "--points-at", "--contains", "--no-contains", "--merged", "--no-merged")


def _list_formed(session: GitSession, has: set[str]) -> None:
    """List branches in a format, in an order, or those at a commit."""
    choice, words, patterns = RefChoice(), list(session.words), list[str]()
    while words:
        word = words.pop(0)
        if not choice.take(word, words) and not word.startswith("-"):
            patterns.append(word)
    sort = session.setting("branch.sort")
    if sort and not choice.keys:
        choice.keys.append(sort)
    every, remote = bool(has & {"-a", "--all"}), bool(has & {"-r", "--remotes"})
    kinds = (HEADS, REMOTES) if every else (REMOTES,) if remote else (HEADS,)
    form = _LINE.format(depth="2")
    if every:
        form = f"%(if:equals=refs/remotes)%(refname:rstrip=-2)%(then){_LINE.format(depth='1')}%(else){form}%(end)"
    lines = list_in_form(session, choice, kinds, patterns, form)
    if has & {"-v", "-vv", "--verbose"} and choice.form is None:
        lines = _with_commits(session, lines, upstreams="-vv" in has)
    session.output += [f"{line}\n" for line in lines]


def _list(session: GitSession, has: set[str], names: list[str]) -> None:
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
    state = Bisection(repository)
    if state.begun:
        lines = [
            f"* (no branch, bisect started on {state.began_on})" if line.startswith("* (") else line for line in lines
        ]
    if patterns:
        lines = [line for line in lines if any(fnmatchcase(line[2:], pattern) for pattern in patterns)]
    if has & {"-v", "-vv", "--verbose"}:
        lines = _with_commits(session, lines, upstreams="-vv" in has)
    session.output += [f"{line}\n" for line in lines]


def _with_commits(session: GitSession, lines: list[str], *, upstreams: bool) -> list[str]:
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


def make_branch(session: GitSession, name: str, start: str, *, force: bool = False) -> None:
    """Make a branch at a revision. Raises GitStop for a name that is taken or no name."""
    repository = session.repository
    ref = HEADS + name
    _check(name, ref)
    if repository.ref(ref) and not force:
        raise GitStop(f"fatal: a branch named '{name}' already exists.")
    if session.head is None and start == "HEAD":
        raise GitStop(f"fatal: Not a valid object name: '{session.branch}'.")
    found = session.maybe(start)
    if found is None or found.kind != "commit":
        raise GitStop(f"fatal: Not a valid object name: '{start}'.")
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
        raise GitStop(f"fatal: '{name}' is not a valid branch name") from None
    if name.startswith("-") or name == "HEAD":
        raise GitStop(f"fatal: '{name}' is not a valid branch name")


def _delete(session: GitSession, names: list[str], *, force: bool, quiet: bool) -> None:
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
        if not quiet:
            session.say(f"Deleted branch {name} (was {repository.abbreviated(sha)}).")


def _delete_remote(session: GitSession, names: list[str], *, quiet: bool) -> None:
    repository = session.repository
    for name in names:
        sha = repository.ref(REMOTES + name)
        if sha is None:
            session.warn(f"error: remote-tracking branch '{name}' not found.")
            session.code = 1
            continue
        repository.remove_ref(REMOTES + name)
        if not quiet:
            session.say(f"Deleted remote-tracking branch {name} (was {repository.abbreviated(sha)}).")


def _rename(session: GitSession, names: list[str], *, force: bool) -> None:
    repository = session.repository
    old, new = (names[0], names[1]) if len(names) > 1 else (session.branch or "", names[0])
    sha = repository.ref(HEADS + old)
    _check(new, HEADS + new)
    if sha is None and repository.head != HEADS + old:
        raise GitStop(f"fatal: No branch named '{old}'.")
    if repository.ref(HEADS + new) and not force:
        raise GitStop(f"fatal: a branch named '{new}' already exists.")
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


def _copy(session: GitSession, names: list[str], *, force: bool) -> None:
    repository = session.repository
    old, new = (names[0], names[1]) if len(names) > 1 else (session.branch or "", names[0])
    sha = repository.ref(HEADS + old)
    _check(new, HEADS + new)
    if sha is None:
        raise GitStop(f"fatal: No branch named '{old}'.")
    if repository.ref(HEADS + new) and not force:
        raise GitStop(f"fatal: a branch named '{new}' already exists.")
    repository.set_ref(HEADS + new, sha)
    repository.put_text(f"logs/{HEADS}{new}", repository.text(f"logs/{HEADS}{old}") or "")
    told = f"Branch: copied {HEADS}{old} to {HEADS}{new}"
    repository.note(HEADS + new, old=sha, new=sha, message=told, at=session.reflog_time)
    for key in ("remote", "merge"):
        value = repository.setting(f"branch.{old}.{key}")
        if value is not None:
            repository.configure(f"branch.{new}.{key}", value)


def _set_upstream(session: GitSession, flags: list[str], names: list[str]) -> None:
    given = next((flag.partition("=")[2] for flag in flags if flag.startswith("--set-upstream-to=")), None)
    rest = list(names)
    upstream = given or (rest.pop(0) if rest else "")
    short = rest[0] if rest else session.branch or ""
    repository = session.repository
    place = next((prefix for prefix in (HEADS, REMOTES) if repository.ref(prefix + upstream) is not None), None)
    if place is None:
        raise GitStop(f"fatal: the requested upstream branch '{upstream}' does not exist")
    if place == HEADS:
        repository.configure(f"branch.{short}.remote", ".")
        repository.configure(f"branch.{short}.merge", HEADS + upstream)
    else:
        repository.set_upstream(HEADS + short, REMOTES + upstream)
    session.say(f"branch '{short}' set up to track '{upstream}'.")

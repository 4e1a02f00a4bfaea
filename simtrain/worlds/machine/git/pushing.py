"""push: sends commits to a remote."""

from dataclasses import dataclass

from simtrain.worlds.handlers.git.branches import shortened
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.remotes import address_of, copy_objects, opened, remotes
from simtrain.worlds.machine.git.session import GitSession, GitStop


def push(session: GitSession) -> None:
    """Send commits to a remote."""
    repository = session.repository
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    known = remotes(repository)
    if not known and not names:
        raise GitStop(
            "fatal: No configured push destination.\n"
            "Either specify the URL from the command-line or configure a remote repository using\n\n"
            "    git remote add <name> <url>\n\nand then push using the remote name\n\n    git push <name>\n"
        )
    branch = session.branch
    name = names[0] if names else repository.setting(f"branch.{branch}.remote") or "origin"
    if len(names) < 2 and not flags & {"--all", "--tags"}:
        if branch is None:
            raise GitStop(
                "fatal: You are not currently on a branch.\n"
                "To push the history leading to the current (detached HEAD)\nstate now, use\n\n"
                "    git push origin HEAD:<name-of-remote-branch>\n"
            )
        if repository.upstream(repository.head) is None and not flags & {"-u", "--set-upstream"}:
            raise GitStop(
                f"fatal: The current branch {branch} has no upstream branch.\n"
                "To push the current branch and set the remote as upstream, use\n\n"
                f"    git push --set-upstream {name} {branch}\n\n"
                "To have this happen automatically for branches without a tracking\n"
                "upstream, see 'push.autoSetupRemote' in 'git help config'.\n"
            )
    url = address_of(session, name)
    target = opened(session, url)
    specs = names[1:]
    if flags & {"--delete", "-d"}:
        specs = [f":{spec}" for spec in specs]
    elif "--all" in flags:
        specs = [ref.removeprefix(HEADS) for ref in repository.refs() if ref.startswith(HEADS)]
    elif not specs and "--tags" not in flags:
        specs = [branch or ""]
    if "--tags" in flags:
        specs += [ref for ref in repository.refs() if ref.startswith(TAGS)]
    moves = [_planned(session, spec, url) for spec in specs]
    lines: list[str] = []
    refused, quiet = False, bool(flags & {"-q", "--quiet"})
    force = bool(flags & {"-f", "--force", "--force-with-lease"})
    gone = [move.ref for move in moves if move.source is None and target.ref(move.ref) is None]
    if gone:
        # git sends nothing at all then.
        for ref in gone:
            session.warn(f"error: unable to delete '{_short(ref)}': remote ref does not exist")
        raise GitStop(f"error: failed to push some refs to '{url}'", 1)
    for move in moves:
        source, ref = move.source, move.ref
        line, fine = _push_one(session, target, name, move, force=move.forced or force)
        refused = refused or not fine
        if line:
            lines.append(line)
        if fine and source and flags & {"-u", "--set-upstream"} and ref.startswith(HEADS):
            repository.set_upstream(HEADS + (branch or ""), f"{REMOTES}{name}/{ref.removeprefix(HEADS)}")
            if not quiet:
                session.say(f"branch '{branch}' set up to track '{name}/{ref.removeprefix(HEADS)}'.")
    if lines and not (quiet and not refused):
        session.warn(f"To {url}")
        for line in lines:
            session.warn(line)
    elif not quiet:
        session.warn("Everything up-to-date")
    if refused:
        session.warn(f"error: failed to push some refs to '{url}'")
        if any("fetch first" in line or "non-fast-forward" in line for line in lines):
            session.warn(
                "hint: Updates were rejected because the remote contains work that you do\n"
                "hint: not have locally. This is usually caused by another repository pushing\n"
                "hint: to the same ref. You may want to first integrate the remote changes\n"
                "hint: (e.g., 'git pull ...') before pushing again.\n"
                "hint: See the 'Note about fast-forwards' in 'git push --help' for details."
            )
        session.code = 1


@dataclass(frozen=True, slots=True)
class _Move:
    """What is sent (None to delete), as what it is called here, the ref it goes to, and whether by force."""

    source: str | None
    called: str
    ref: str
    forced: bool


def _planned(session: GitSession, spec: str, url: str) -> _Move:
    repository = session.repository
    forced, text = spec.startswith("+"), spec.lstrip("+")
    source, colon, place = text.partition(":")
    if colon and not source:
        return _Move(None, "", place if place.startswith("refs/") else HEADS + place, forced)
    found = session.maybe(source)
    if found is None:
        raise GitStop(
            f"error: src refspec {source} does not match any\nerror: failed to push some refs to '{url}'",
            1,
        )
    place = place or (session.branch or source if source == "HEAD" else source)
    if not place.startswith("refs/"):
        place = (TAGS if repository.ref(TAGS + source) and not repository.ref(HEADS + source) else HEADS) + place
    held = repository.ref(TAGS + source) if place.startswith(TAGS) else None
    return _Move(held or found.sha, shortened(source), place, forced)


def _short(ref: str) -> str:
    return ref.partition("/")[2].partition("/")[2]


def _push_one(
    session: GitSession, target: FolderRepository, name: str, move: _Move, *, force: bool
) -> tuple[str, bool]:
    repository, source, ref = session.repository, move.source, move.ref
    old, short = target.ref(ref), _short(ref)
    both = f"{move.called} -> {short}"
    # An address that is no remote has no branches here that follow it.
    tracking = f"{REMOTES}{name}/{short}" if ref.startswith(HEADS) and name in remotes(repository) else None
    if source is None:
        target.remove_ref(ref)
        if tracking and repository.ref(tracking):
            repository.remove_ref(tracking)
        return _line("-", "[deleted]", short), True
    if old == source:
        if tracking:
            repository.set_ref(tracking, source)
        return "", True
    if target.head == ref and target.folder != target.path and old is not None:
        return _line("!", "[remote rejected]", both, "branch is currently checked out"), False
    if old is not None and not force:
        if repository.kind(old) is None:
            return _line("!", "[rejected]", both, "fetch first"), False
        if old not in reachable(repository, source):
            return _line("!", "[rejected]", both, "non-fast-forward"), False
    copy_objects(repository, target)
    target.set_ref(ref, source)
    if tracking:
        repository.set_ref(tracking, source)
    if old is None:
        kind = "branch" if ref.startswith(HEADS) else "tag" if ref.startswith(TAGS) else "reference"
        return _line("*", f"[new {kind}]", both), True
    forced = repository.kind(old) is None or old not in reachable(repository, source)
    span = f"{old[:7]}{'...' if forced else '..'}{source[:7]}"
    return _line("+" if forced else " ", span, both, "forced update" if forced else ""), True


def _line(sign: str, what: str, names: str, why: str = "") -> str:
    return f" {sign} {what.ljust(17)} {names}{f' ({why})' if why else ''}"

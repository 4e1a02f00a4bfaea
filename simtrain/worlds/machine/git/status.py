"""status: what is staged, changed and untracked."""

from collections.abc import Callable

from simtrain.worlds.handlers.git.deltas import with_types
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.handlers.git.states import against_worktree, staged
from simtrain.worlds.handlers.git.status import status as status_text
from simtrain.worlds.handlers.git.status import tracked_remote, untracked_files
from simtrain.worlds.machine.git.listing import letter
from simtrain.worlds.machine.git.progress import heading, is_joining, notes
from simtrain.worlds.machine.git.session import GitSession, GitStop

_CONFLICTS: dict[tuple[int, ...], tuple[str, str]] = {
    (1, 2, 3): ("both modified", "UU"), (2, 3): ("both added", "AA"), (1, 2): ("deleted by them", "UD"),
    (1, 3): ("deleted by us", "DU"), (1,): ("both deleted", "DD"), (2,): ("added by us", "AU"), (3,): ("added by them", "UA"),
}  # fmt: skip


def status(session: GitSession) -> None:
    """Show what is staged, changed and untracked."""
    words = session.words
    short = any(word in ("-s", "--short", "-sb", "-bs", "--porcelain", "--porcelain=v1") for word in words)
    known = {"-s", "--short", "-b", "--branch", "-sb", "-bs", "--porcelain", "--porcelain=v1", "--long", "-v", "-uno", "-uall",
             "-u", "--untracked-files=no", "--untracked-files=all", "--untracked-files", "--ignored", "--show-stash", "-z"}  # fmt: skip
    for word in words:
        if word.startswith("-") and word not in known and word != "--":
            raise GitStop(
                f"error: unknown {'switch' if not word.startswith('--') else 'option'} `{word.lstrip('-')}'\n"
                "usage: git status [<options>] [--] [<pathspec>...]",
                129,
            )
    hidden = "-uno" in words or "--untracked-files=no" in words
    full = any(word in ("-u", "-uall", "--untracked-files=all", "--untracked-files") for word in words)
    if short:
        porcelain = any(word.startswith("--porcelain") for word in words)
        if any(word in ("-b", "--branch", "-sb", "-bs") for word in words):
            session.say(_short_branch(session))
        for line in short_status(session, untracked=not hidden, full=full, relative=not porcelain):
            session.say(line)
        return
    session.output.append(long_status(session, untracked=not hidden))


def long_status(
    session: GitSession, *, untracked: bool = True, amending: str | None = None, committing: bool = False
) -> str:
    """Return the text of `git status`; with `committing` that of `git commit`, which may amend what is above a tree."""
    repository = session.repository
    conflicts = repository.conflicts()
    unmerged = [
        f"\t{(_CONFLICTS[tuple(sorted(stages))][0] + ':').ljust(17)}{quoted(session.relative(path))}"
        for path, stages in sorted(conflicts.items())
    ]
    return status_text(
        repository,
        shown=lambda path: quoted(session.relative(path)),
        heading=heading(repository),
        notes=notes(session, bool(conflicts)),
        unmerged=unmerged,
        resolving=_resolving({tuple(sorted(stages)) for stages in conflicts.values()}),
        hidden=set(conflicts),
        untracked=untracked,
        merging=is_joining(repository),
        amending=amending,
        committing=committing,
    )


def _resolving(kinds: set[tuple[int, ...]]) -> str:
    """Return how conflicts that leave these stages are resolved."""
    if kinds == {(1,)}:
        return 'git rm <file>..."'
    if kinds & {(1,), (1, 2), (1, 3)}:
        return 'git add/rm <file>..." as appropriate'
    return 'git add <file>..."'


def _short_branch(session: GitSession) -> str:
    repository, branch = session.repository, session.branch
    if branch is None:
        return "## HEAD (no branch)"
    if session.head is None:
        return f"## No commits yet on {branch}"
    found = tracked_remote(repository)
    if found is None:
        return f"## {branch}"
    name, ahead, behind = found
    parts = [f"ahead {ahead}"] * bool(ahead) + [f"behind {behind}"] * bool(behind)
    return f"## {branch}...{name}" + (f" [{', '.join(parts)}]" if parts else "")


def short_status(
    session: GitSession, *, untracked: bool = True, full: bool = False, relative: bool = True
) -> list[str]:
    """Return the lines of `git status --short`."""
    repository = session.repository
    conflicts = repository.conflicts()
    marks: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    shown: Callable[[str], str] = (lambda path: quoted(session.relative(path))) if relative else quoted
    for place, found in ((0, staged(repository)), (1, against_worktree(repository, repository.index()))):
        for delta in with_types(found):
            if delta.path in conflicts:
                continue
            marks.setdefault(delta.path, [" ", " "])[place] = letter(delta)
            if delta.alike is not None and delta.old is not None:
                names[delta.path] = f"{shown(delta.old.path)} -> {shown(delta.path)}"
    for path, stages in conflicts.items():
        marks[path] = list(_CONFLICTS[tuple(sorted(stages))][1])
    lines = [
        "".join(marks[path]) + " " + names.get(path, shown(path))
        for path in sorted(marks, key=lambda one: one.encode())
    ]
    if untracked:
        index, ignored = repository.index(), Ignored(repository.worktree())
        found_files = (
            [path for path in repository.worktree() if path not in index and ignored.cause(path) is None]
            if full
            else untracked_files(repository)
        )
        lines += [f"?? {shown(path)}" for path in found_files if path not in conflicts]
    return lines

"""The twelve tools of a git server."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.worlds.handlers.git import staging
from simtrain.worlds.handlers.git.branches import check_name, containing, current, listing, shortened
from simtrain.worlds.handlers.git.checkout import switch
from simtrain.worlds.handlers.git.dates import seconds_at
from simtrain.worlds.handlers.git.deltas import Delta
from simtrain.worlds.handlers.git.failure import CommandFailed, no_option, reported
from simtrain.worlds.handlers.git.history import ancestry
from simtrain.worlds.handlers.git.objects import FOLDER
from simtrain.worlds.handlers.git.patch import body, patch
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS, Repository
from simtrain.worlds.handlers.git.revisions import NotPossible, Object, Unresolved, full_name, resolve
from simtrain.worlds.handlers.git.states import against_worktree, compared, staged
from simtrain.worlds.handlers.git.status import status as status_text
from simtrain.worlds.handlers.git.tables import TableRepository


@reported("git_status")
def status(context: HandlerContext) -> str:
    """Return what is staged, changed and untracked."""
    return f"Repository status:\n{status_text(_opened(context))[:-1]}"


@reported("git_diff_unstaged")
def diff_unstaged(context: HandlerContext) -> str:
    """Return the diff from the index to the working tree."""
    repository = _opened(context)
    return _diff("Unstaged changes", context, repository, against_worktree(repository, repository.index()))


@reported("git_diff_staged")
def diff_staged(context: HandlerContext) -> str:
    """Return the diff from HEAD to the index."""
    repository = _opened(context)
    return _diff("Staged changes", context, repository, staged(repository))


@reported("git_diff")
def diff(context: HandlerContext) -> str:
    """Return the diff from a revision to the working tree."""
    repository = _opened(context)
    target = context.arguments["target"]
    no_option(target, "target")
    command = f"diff --unified={context.arguments['context_lines']} {target}"
    if target == NO_OBJECT:
        raise CommandFailed(128, command, f"fatal: bad object {target}")
    found = resolve(repository, target)
    if any(path == target or path.startswith(f"{target}/") for path in repository.worktree()):
        raise CommandFailed(128, command, _AMBIGUOUS.format(target))
    if found.kind == "blob":
        raise CommandFailed(129, command, "usage: git diff [<options>] [<commit>] [--] [<path>...]")
    tree = repository.commit(found.sha).tree if found.kind == "commit" else found.sha
    return _diff(f"Diff with {target}", context, repository, against_worktree(repository, repository.files(tree)))


def _diff(title: str, context: HandlerContext, repository: Repository, found: Sequence[Delta]) -> str:
    text = patch(found, context=_lines(context.arguments["context_lines"]), abbreviate=repository.abbreviated)
    return f"{title}:\n" + text.removesuffix("\n")


def _lines(number: int) -> int:
    """Return a number of context lines as git parses it: strtol clamps it to 64 bits, and an int keeps 32 of them."""
    if number <= 1 - _END:
        return 0
    return (min(number, _END - 1) + 2**31) % 2**32 - 2**31


@reported("git_commit")
def commit(context: HandlerContext) -> str:
    """Record what is staged."""
    sha = staging.commit(context, _opened(context), context.arguments["message"])
    return f"Changes committed successfully with hash {sha}"


@reported("git_add")
def add(context: HandlerContext) -> str | Reply:
    """Stage files."""
    return staging.add(_opened(context), context.arguments["files"])


@reported("git_reset")
def reset(context: HandlerContext) -> str:
    """Take back everything that is staged."""
    staging.reset(_opened(context))
    return "All staged changes reset"


@reported("git_log")
def log(context: HandlerContext) -> str:
    """Return the commits reachable from HEAD, the youngest first."""
    repository = _opened(context)
    since, until = context.arguments["start_timestamp"], context.arguments["end_timestamp"]
    no_option(since, "start_timestamp")
    no_option(until, "end_timestamp")
    head = repository.ref("HEAD")
    if head is None:
        raise ToolError(f"Reference at '{repository.head}' does not exist")
    found = ancestry(
        repository,
        [head],
        since=seconds_at(since, context.now) if since else None,
        until=seconds_at(until, context.now) if until else None,
    )
    # As for git, a negative count means no limit.
    most = context.arguments["max_count"]
    return "Commit history:\n" + "\n".join(_logged(repository, islice(found, min(most, _MOST) if most >= 0 else None)))


def _logged(repository: Repository, found: Iterator[str]) -> Iterator[str]:
    for sha in found:
        made = repository.commit(sha)
        yield f"Commit: {sha}\nAuthor: {made.author.name}\nDate: {made.author.moment}\nMessage: {made.message}\n"


@reported("git_create_branch")
def create_branch(context: HandlerContext) -> str:
    """Create a branch at a branch or tag, or at HEAD."""
    repository = _opened(context)
    name, base = context.arguments["branch_name"], context.arguments["base_branch"]
    no_option(name, "branch name")
    no_option(base, "base branch")
    checked_out = current(repository)
    if not base and checked_out is None:
        raise ToolError("HEAD is detached, so there is no current branch to branch from; pass base_branch")
    if base:
        _check_base(repository, base)
    # GitPython resolves the name of the ref that it found once more, as a revision: a branch called HEAD gives HEAD.
    sha = resolve(repository, base).sha if base else repository.ref("HEAD")
    if sha is None:
        raise Unresolved(base or checked_out or "")
    ref = name if name.startswith(HEADS) else HEADS + name
    check_name(ref)
    _check_place(repository, name, ref)
    repository.set_ref(ref, sha)
    return f"Created branch '{name}' from '{base or checked_out}'"


def _check_base(repository: Repository, name: str) -> None:
    """Raise ToolError for a name under which GitPython lists no branch or tag."""
    if not any(ref.startswith((HEADS, REMOTES, TAGS)) and shortened(ref) == name for ref in repository.refs()):
        raise ToolError(f"No item found with id {name}")


def _check_place(repository: Repository, name: str, ref: str) -> None:
    """Raise ToolError for a name that is taken, and for one that clashes with a folder of refs: a ref is a file in .git."""
    folder = f"{repository.path}/.git/"
    for other in repository.refs():
        if other == ref:
            raise ToolError(f"Cannot create branch '{name}': {ref} already exists")
        if ref.startswith(f"{other}/"):
            raise ToolError(f"[Errno 17] File exists: '{folder}{other}'")
        if other.startswith(f"{ref}/"):
            raise ToolError(f"[Errno 21] Is a directory: '{folder}{ref}.lock' -> '{folder}{ref}'")


@reported("git_checkout")
def checkout(context: HandlerContext) -> str:
    """Switch to a branch, or detach HEAD at a commit."""
    repository = _opened(context)
    name = context.arguments["branch_name"]
    no_option(name, "branch name")
    if name == NO_OBJECT:
        raise CommandFailed(128, f"checkout {name}", f"fatal: reference is not a tree: {name}")
    switch(repository, name, resolve(repository, name), at=context.now)
    branch = current(repository)
    return f"Switched to branch '{branch}'" if branch else f"HEAD is now detached at {repository.head[:7]}"


@reported("git_show")
def show(context: HandlerContext) -> str:
    """Return a commit with its changes, a file or a folder."""
    repository = _opened(context)
    revision = context.arguments["revision"]
    no_option(revision, "revision")
    found = resolve(repository, revision)
    if found.kind == "commit":
        return show_commit(repository, found.sha)
    if found.kind == "blob":
        return show_file(repository, found.sha)
    if found.sha.startswith(revision.lower()):
        raise NotPossible(revision)
    return show_folder(repository, found.sha)


@reported("git_branch")
def branch(context: HandlerContext) -> str:
    """Return the branches, all or those that have or lack a commit."""
    repository = _opened(context)
    kind = context.arguments["branch_type"]
    wanted, unwanted = context.arguments["contains"], context.arguments["not_contains"]
    no_option(wanted, "contains value")
    no_option(unwanted, "not_contains value")
    if kind not in _FLAGS:
        raise ToolError(f"Invalid branch type: {kind}")
    options = [("--contains", wanted), ("--no-contains", unwanted)]
    command = " ".join(["branch", *_FLAGS[kind], *(f"{flag} {name}" for flag, name in options if name is not None)])
    has, lacks = (None if name is None else _commit_named(repository, name, command) for _, name in options)
    return listing(repository, kind, containing(repository, has, lacks))


def _commit_named(repository: Repository, name: str, command: str) -> str:
    """Return the commit that a revision leads to. Raises CommandFailed in the words of `git branch`."""
    found = _as_git_reads_it(repository, name, command)
    if found is not None and found.kind == "commit":
        return found.sha
    if found is not None:
        what = f"error: object {found.sha} is a {found.kind}, not a commit\nerror: no such commit {name}"
    elif len(name) == 40 and all(letter in "0123456789abcdefABCDEF" for letter in name):
        what = f"error: no such commit {name}"
    else:
        what = f"error: malformed object name {name}"
    raise CommandFailed(129, command, what)


def _as_git_reads_it(repository: Repository, name: str, command: str) -> Object | None:
    """Return the object that git itself finds, which knows forms that GitPython does not; None if none. Raises CommandFailed."""
    if name.startswith(":/"):
        # GitPython searches for the text itself, git for a pattern, and for nothing if that is empty.
        return None if name == ":/" else _resolved(repository, name)
    followed = _UPSTREAM.fullmatch(name)
    if followed:
        branch = HEADS + followed[1] if followed[1] not in ("", "@", "HEAD") else repository.head
        if not repository.ref(branch):
            raise CommandFailed(128, command, f"fatal: no such branch: '{followed[1]}'")
        upstream = repository.upstream(branch)
        if upstream is None:
            what = f"fatal: no upstream configured for branch '{branch.removeprefix(HEADS)}'"
            raise CommandFailed(128, command, what)
        return _resolved(repository, upstream)
    earlier = _EARLIER.fullmatch(name)
    if earlier:
        _check_log(repository, earlier[1], int(earlier[2]), command)
    revision, colon, path = name.partition(":")
    return _resolved(repository, f"{revision}:{path.removeprefix('./').rstrip('/')}" if colon and revision else name)


def _check_log(repository: Repository, name: str, place: int, command: str) -> None:
    """Raise CommandFailed, in git's words, for a place beyond the end of a ref's log; without a name, of the branch's."""
    ref = full_name(repository, name) if name else repository.head
    entries = len(repository.log(ref)) if ref is not None else 0
    if 0 < entries <= place:
        shown = name or repository.head.removeprefix(HEADS)
        raise CommandFailed(128, command, f"fatal: log for '{shown}' only has {entries} entries")


def _resolved(repository: Repository, name: str) -> Object | None:
    try:
        return resolve(repository, name)
    except ToolError:
        return None


def _opened(context: HandlerContext) -> Repository:
    """Return the repository that the call names. Raises ToolError for a path that is not allowed, and for one without a repository."""
    given: str = context.arguments["repo_path"]
    server = context.read("select directory, only_repository from server")[0]
    path = posixpath.normpath(posixpath.join(server["directory"], given))
    only = server["only_repository"]
    if only is not None and path != only and not path.startswith(f"{only}/"):
        written = given.rstrip("/") or ("/" if given else ".")
        raise ToolError(f"Repository path '{written}' is outside the allowed repository '{only}'")
    root = path.removesuffix("/.git")
    if not context.read("select 1 from repositories where path = :path", {"path": root}):
        # GitPython's InvalidGitRepositoryError says nothing but the path.
        raise ToolError(path)
    return TableRepository(context, root)


NO_OBJECT = "0" * 40
"""The id that no object has; GitPython passes it to git unresolved."""
_MOST = 1_000_000_000
_END = 2**63
_EARLIER = re.compile(r"(.*?)@\{([0-9]{1,9})\}.*")
_UPSTREAM = re.compile(r"(.*)@\{(?:u|upstream)\}", re.I)
_FLAGS: dict[str, list[str]] = {"local": [], "remote": ["-r"], "all": ["-a"]}
_AMBIGUOUS = (
    "fatal: ambiguous argument '{}': both revision and filename\n"
    "Use '--' to separate paths from revisions, like this:\n"
    "'git <command> [<revision>...] -- [<file>...]'"
)


_CONTEXT = 3


def show_commit(repository: Repository, sha: str) -> str:
    """Return the author, date and message of a commit, and its differences from the first parent."""
    commit = repository.commit(sha)
    who = commit.author
    lines = [f"commit {sha}", f"Author: {who.name} <{who.email}>", f"Date:   {who.moment:%Y-%m-%d %H:%M:%S %z}", ""]
    lines += [f"    {line}" for line in commit.message.rstrip("\n").split("\n")]
    before = repository.files(repository.commit(commit.parents[0]).tree) if commit.parents else {}
    found = compared(repository, before, repository.files(commit.tree))
    return "\n".join([*lines, ""]) + "".join(_shown(delta) for delta in found)


def _shown(delta: Delta) -> str:
    old = f"a/{delta.old.path}" if delta.old else "/dev/null"
    new = f"b/{delta.new.path}" if delta.new else "/dev/null"
    return f"\n--- {old}\n+++ {new}\n{body(delta, context=_CONTEXT)}"


def show_file(repository: Repository, sha: str) -> str:
    """Return a file's content; bytes that are not UTF-8 become U+FFFD."""
    return repository.blob(sha).decode(errors="replace")


def show_folder(repository: Repository, sha: str) -> str:
    """Return the names in a folder, those of folders with a slash."""
    return "\n".join(f"{name}/" if entry.mode == FOLDER else name for name, entry in repository.tree(sha).items())

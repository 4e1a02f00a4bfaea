"""Branches: the one that is checked out, their list, and the rules for names."""

import re
from collections.abc import Callable

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, SYMBOLIC, TAGS, Repository
from simtrain.worlds.handlers.git.revisions import full_name

_MOVED = re.compile(r"checkout: moving from .* to (.*)")
_FORBIDDEN = frozenset(" ~^:?*[\\")
_LAST = {".": "period (.)", "/": "forward slash (/)"}


def current(repository: Repository) -> str | None:
    """Return the short name of the branch that is checked out; None if HEAD is detached."""
    head = repository.head
    return head.removeprefix(HEADS) if head.startswith(HEADS) else None


def shortened(ref: str) -> str:
    """Return the name of a ref without `refs/heads/`, `refs/remotes/` or `refs/tags/`."""
    for prefix in (HEADS, REMOTES, TAGS):
        if ref.startswith(prefix):
            return ref[len(prefix) :]
    return ref


def detached(repository: Repository) -> str:
    """Return git's description of a detached HEAD: `at` what was checked out, or `from` it if HEAD has moved since."""
    for entry in repository.log("HEAD"):
        moved = _MOVED.fullmatch(entry["message"])
        if moved:
            name = _checked_out(repository, moved[1], entry["new"])
            return f"HEAD detached {'at' if repository.ref('HEAD') == entry['new'] else 'from'} {name}"
    return "Not currently on any branch."


def _checked_out(repository: Repository, name: str, sha: str) -> str:
    ref = full_name(repository, name)
    if ref and ref != "HEAD" and commit_at(repository, ref) == sha:
        return ref if ref.startswith(HEADS) else shortened(ref)
    return repository.abbreviated(sha)


def commit_at(repository: Repository, ref: str) -> str | None:
    """Return the commit that a ref leads to, through an annotated tag if it is one."""
    sha = repository.ref(ref)
    return repository.tag(sha) if sha and repository.kind(sha) == "tag" else sha


def listing(repository: Repository, kind: str, chosen: Callable[[str], bool]) -> str:
    """Return what `git branch` prints for `local`, `remote` or `all`, for the branches whose commit is `chosen`."""
    lines: list[str] = []
    if kind != "remote":
        lines = _local(repository, chosen)
    if kind != "local":
        prefix = "remotes/" if kind == "all" else ""
        for ref, target in repository.refs().items():
            sha = repository.ref(ref)
            if ref.startswith(REMOTES) and sha is not None and chosen(sha):
                arrow = f" -> {shortened(target.removeprefix(SYMBOLIC))}" if target.startswith(SYMBOLIC) else ""
                lines.append(f"  {prefix}{shortened(ref)}{arrow}")
    return "\n".join(lines)


def _local(repository: Repository, chosen: Callable[[str], bool]) -> list[str]:
    checked_out, head = current(repository), repository.ref("HEAD")
    lines: list[str] = []
    if checked_out is None and head is not None and chosen(head):
        lines.append(f"* ({detached(repository)})")
    for ref in repository.refs():
        sha = repository.ref(ref)
        if ref.startswith(HEADS) and sha is not None and chosen(sha):
            lines.append(f"{'*' if shortened(ref) == checked_out else ' '} {shortened(ref)}")
    return lines


def containing(repository: Repository, wanted: str | None, unwanted: str | None) -> Callable[[str], bool]:
    """Return a test of a branch's commit: `wanted` is among its ancestors or itself, and `unwanted` is not."""

    def chosen(sha: str) -> bool:
        if wanted is None and unwanted is None:
            return True
        found = reachable(repository, sha)
        return (wanted is None or wanted in found) and (unwanted is None or unwanted not in found)

    return chosen


def check_name(ref: str) -> None:
    """Raise ToolError, in GitPython's words, for a ref name that git refuses (`git help check-ref-format`)."""
    problem = _problem(ref)
    if problem:
        raise ToolError(f"Invalid reference '{ref}': references cannot {problem}")


def _problem(ref: str) -> str | None:
    # In GitPython's order: a name with several faults is refused for the first.
    before = ""
    for letter in ref:
        if letter in _FORBIDDEN:
            return (
                "contain spaces, tildes (~), carets (^), colons (:), question marks (?), asterisks (*), open brackets ([) "
                "or backslashes (\\)"
            )
        if letter == "." and before in ("", "/"):
            return "start with a period (.) or contain '/.'"
        if before + letter in ("..", "//", "@{"):
            return f"contain '{before + letter}'"
        if ord(letter) < 32 or ord(letter) == 127:
            return "contain ASCII control characters"
        before = letter
    if before in _LAST:
        return f"end with a {_LAST[before]}"
    if any(part.endswith(".lock") for part in ref.split("/")):
        return "have slash-separated components that end with '.lock'"
    return None

"""Which commits a log shows, and in which order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from simtrain.worlds.handlers.git.history import ancestry, reachable
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.session import GitSession, GitStop


@dataclass(slots=True)
class Range:
    """Commits that are asked for: those reachable from `wanted` and not from `unwanted`. `sides` are the ends of `a...b`."""

    wanted: list[str] = field(default_factory=list[str])
    unwanted: list[str] = field(default_factory=list[str])
    sides: tuple[str, str] | None = None

    def take(self, session: GitSession, word: str) -> bool:
        """Add a revision or range (`a..b`, `a...b`, `^a`); return whether it is one."""
        if word.startswith("^"):
            self.unwanted.append(session.commit_id(word[1:]))
            return True
        for dots in ("...", ".."):
            left, found, right = word.partition(dots)
            if found and not left.endswith("/") and left not in (".",):
                names = [left or "HEAD", right or "HEAD"]
                ends = [session.maybe(name) for name in names]
                if ends[0] is None or ends[1] is None:
                    return False
                one, other = (session.commit_id(name) for name in names)
                if dots == "..":
                    self.unwanted.append(one)
                    self.wanted.append(other)
                else:
                    self.wanted += [one, other]
                    self.sides = one, other
                    self.unwanted += merge_bases(session.repository, one, other)
                return True
        if session.maybe(word) is None:
            return False
        self.wanted.append(session.commit_id(word))
        return True

    def take_refs(self, session: GitSession, kind: str) -> None:
        """Add all refs, or all branches, remotes or tags."""
        repository = session.repository
        prefix = {"--all": "refs/", "--branches": HEADS, "--remotes": REMOTES, "--tags": TAGS}[kind]
        for ref in repository.refs():
            sha = repository.ref(ref)
            if ref.startswith(prefix) and sha is not None:
                self.wanted.append(repository.tag(sha) if repository.kind(sha) == "tag" else sha)
        if kind == "--all" and session.head:
            self.wanted.append(session.head)


def commits(session: GitSession, asked: Range) -> list[str]:
    """Return the commits of a range by date, the youngest first. Raises GitStop where there are none yet."""
    repository = session.repository
    starts = asked.wanted or ([session.head] if session.head else [])
    if not starts:
        raise GitStop(f"fatal: your current branch '{session.branch}' does not have any commits yet")
    hidden: set[str] = set()
    for sha in asked.unwanted:
        hidden |= reachable(repository, sha)
    return [sha for sha in ancestry(repository, starts) if sha not in hidden]


def in_graph_order(repository: FolderRepository, found: Sequence[str]) -> list[str]:
    """Return commits so that no parent goes before its children, and lines of history are not mixed."""
    kept = set(found)
    children = dict.fromkeys(found, 0)
    for sha in found:
        for parent in repository.commit(sha).parents:
            if parent in kept:
                children[parent] += 1
    stack = [sha for sha in reversed(found) if children[sha] == 0]
    ordered: list[str] = []
    while stack:
        sha = stack.pop()
        ordered.append(sha)
        for parent in repository.commit(sha).parents:
            if parent in kept:
                children[parent] -= 1
                if children[parent] == 0:
                    stack.append(parent)
    return ordered


def merge_bases(repository: FolderRepository, one: str, other: str) -> list[str]:
    """Return the best common ancestors of two commits."""
    shared = reachable(repository, one) & reachable(repository, other)
    covered: set[str] = set()
    found: list[str] = []
    for sha in ancestry(repository, [one, other]):
        if sha in shared and sha not in covered:
            found.append(sha)
            covered |= reachable(repository, sha)
    return found


def touching(session: GitSession, found: Iterable[str], specs: Sequence[str]) -> list[str]:
    """Return the commits that change one of some paths. Merges that agree with a parent there are left out."""
    from simtrain.worlds.machine.git.session import matching

    repository = session.repository

    def state(sha: str) -> dict[str, tuple[str, str]]:
        files = repository.files(repository.commit(sha).tree)
        return {path: (files[path].mode, files[path].sha) for path in matching(list(files), specs)}

    kept: list[str] = []
    for sha in found:
        here, parents = state(sha), repository.commit(sha).parents
        before = [state(parent) for parent in parents] or [{}]
        if all(one != here for one in before):
            kept.append(sha)
    return kept


class Graph:
    """The lines of `--graph`, drawn beside the commits one after another."""

    def __init__(self, repository: FolderRepository, shown: Iterable[str]) -> None:
        self._repository = repository
        self._shown = set(shown)
        self._columns: list[str] = []

    def rows(self, sha: str) -> tuple[str, list[str], str]:
        """Return the prefix of a commit's first line, the rows to be drawn after it, and the prefix of further lines of its text."""
        columns = self._columns
        if sha not in columns:
            columns.append(sha)
        place = columns.index(sha)
        parents = [one for one in self._repository.commit(sha).parents if one in self._shown]
        wide = len(columns)
        first = " ".join("*" if at == place else "|" for at in range(wide)) + " "
        rows: list[str] = []
        if len(parents) > 1:
            columns[place : place + 1] = parents
            first = first.ljust(2 * len(columns))
            marks = [("|" if at < place else "|\\" if at == place else "\\") for at in range(wide)]
            row = " ".join(marks[: place + 1]) + (
                " " + " ".join("\\" for _ in range(wide - place - 1)) if wide > place + 1 else ""
            )
            rows.append(row.ljust(2 * len(columns)))
        elif parents:
            columns[place] = parents[0]
        else:
            del columns[place]
            if place < len(columns):
                moved = " ".join(["|"] * place + ["/"] * (len(columns) - place))
                rows.append((" " * (1 if place == 0 else 0) + moved).ljust(2 * len(columns) + 2))
        further = "".join("| " for _ in columns) if parents else "".join("| " for _ in columns) + "  "
        rows += self._joined()
        return first, rows, further

    def _joined(self) -> list[str]:
        """Join columns that lead to the same commit, and return the rows that show it."""
        rows: list[str] = []
        columns = self._columns
        while True:
            twice = next((at for at in range(len(columns)) if columns[at] in columns[:at]), None)
            if twice is None:
                return rows
            target = columns.index(columns[twice])
            wide = len(columns)
            for at in range(twice, target, -1):
                cells = ["|"] * wide
                row = ""
                for number in range(wide):
                    if number == at and at == twice:
                        row = row.rstrip(" ") + "/ " if row else "/ "
                    elif number == twice and at != twice:
                        continue
                    else:
                        row += f"{cells[number]} "
                    if at != twice and number == at - 1:
                        row = row.rstrip(" ") + "/"
                rows.append(row.rstrip().ljust(2 * wide))
            del columns[twice]

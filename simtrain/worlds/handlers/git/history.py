"""Walking a repository's history as `git rev-list` does: younger commits first, none before its children."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from simtrain.worlds.handlers.git.repository import Repository


def ancestry(
    repository: Repository, starts: Iterable[str], *, since: int | None = None, until: int | None = None
) -> Iterator[str]:
    """Yield the reachable commits by date of commit, those between two times in seconds if given.

    The ancestors of a commit older than `since` are skipped, even if they are younger.
    """
    waiting: list[tuple[int, int, str]] = []
    seen: set[str] = set()

    def wait(sha: str) -> None:
        if sha not in seen:
            heappush(waiting, (-repository.commit(sha).committer.seconds, len(seen), sha))
            seen.add(sha)

    for start in starts:
        wait(start)
    while waiting:
        _, _, sha = heappop(waiting)
        commit = repository.commit(sha)
        if since is not None and commit.committer.seconds < since:
            continue
        for parent in commit.parents:
            wait(parent)
        if until is None or commit.committer.seconds <= until:
            yield sha


def reachable(repository: Repository, start: str) -> set[str]:
    """Return a commit and all its ancestors."""
    return set(ancestry(repository, [start]))

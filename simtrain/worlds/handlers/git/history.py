"""Walk a repository's history as `git rev-list` does: by date of commit, the youngest first."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from simtrain.worlds.handlers.git.repository import Repository


def ancestry(
    repository: Repository, starts: Iterable[str], *, since: int | None = None, until: int | None = None
) -> Iterator[str]:
    """Yield the reachable commits by date of commit, if given only those between two times in seconds.

    The ancestors of a commit older than `since` are skipped, even if they are younger.
    """
    waiting: list[tuple[int, int, str]] = []
    seen: set[str] = set()

    def wait(sha: str) -> None:
        if sha not in seen:
            # Of equal dates the one found first goes first, as in git's queue; ids would order them by chance.
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

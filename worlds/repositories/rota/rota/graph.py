"""Which job waits for which."""

from collections.abc import Iterable, Mapping

from rota.errors import CycleError, JobError


class Graph:
    """Names, and for each those that it waits for."""

    def __init__(self, waits: Mapping[str, Iterable[str]] | None = None) -> None:
        self._waits: dict[str, set[str]] = {}
        self._order: list[str] | None = None
        for name, others in (waits or {}).items():
            self.add(name, others)

    def add(self, name: str, after: Iterable[str] = ()) -> None:
        """Add a name, or further names that it waits for."""
        self._waits.setdefault(name, set()).update(after)
        for other in after:
            self._waits.setdefault(other, set())
        self._order = None

    def remove(self, name: str) -> None:
        """Take a name out; what waited for it waits no more."""
        if name not in self._waits:
            raise JobError(f"{name!r} is not in the graph")
        del self._waits[name]
        for others in self._waits.values():
            others.discard(name)
        self._order = None

    def before(self, name: str) -> set[str]:
        """Return all that must be done before a name, directly or not."""
        found: set[str] = set()
        waiting = list(self._waits.get(name, ()))
        while waiting:
            other = waiting.pop()
            if other not in found:
                found.add(other)
                waiting.extend(self._waits[other])
        return found

    def behind(self, name: str) -> set[str]:
        """Return all that wait for a name, directly or not."""
        return {other for other in self._waits if name in self.before(other)}

    def order(self) -> list[str]:
        """Return all names so that none comes before what it waits for; by name where free."""
        if self._order is None:
            self._order = self._sorted()
        return list(self._order)

    def _sorted(self) -> list[str]:
        left = {name: set(others) for name, others in self._waits.items()}
        found: list[str] = []
        while left:
            free = sorted(name for name, others in left.items() if not others)
            if not free:
                raise CycleError(self._cycle(left))
            found.append(free[0])
            del left[free[0]]
            for others in left.values():
                others.discard(free[0])
        return found

    def _cycle(self, left: Mapping[str, set[str]]) -> list[str]:
        path = [min(left)]
        while True:
            following = min(left[path[-1]])
            if following in path:
                return [*path[path.index(following) :], following]
            path.append(following)

    def layers(self) -> list[list[str]]:
        """Return the names in groups: each waits only for names of earlier groups."""
        depth: dict[str, int] = {}
        for name in self.order():
            depth[name] = 1 + max((depth[other] for other in self._waits[name]), default=-1)
        groups: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for name in sorted(depth):
            groups[depth[name]].append(name)
        return groups

    def longest(self, seconds: Mapping[str, float]) -> tuple[float, list[str]]:
        """Return the chain that takes longest, given how long each name takes."""
        best: dict[str, tuple[float, list[str]]] = {}
        for name in self.order():
            earlier = [best[other] for other in sorted(self._waits[name])]
            length, path = max(earlier, key=lambda one: one[0], default=(0.0, []))
            best[name] = (length + seconds.get(name, 0.0), [*path, name])
        return max(best.values(), key=lambda one: one[0], default=(0.0, []))

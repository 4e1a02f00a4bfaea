"""Resources that running jobs share."""

from collections.abc import Mapping

from rota.errors import PoolError


class Pool:
    """So much of each resource; what a holder takes, others cannot have."""

    def __init__(self, sizes: Mapping[str, int] | None = None) -> None:
        self._sizes = dict(sizes or {})
        self._held: dict[str, dict[str, int]] = {}
        for name, size in self._sizes.items():
            if size < 1:
                raise PoolError(f"{name} has a size of {size}")

    def free(self, name: str) -> int:
        """Return how much of a resource nobody holds."""
        if name not in self._sizes:
            raise PoolError(f"there is no resource {name!r}")
        return self._sizes[name] - sum(held.get(name, 0) for held in self._held.values())

    def check(self, needs: Mapping[str, int]) -> None:
        """Raise PoolError if so much can never be free."""
        for name, count in needs.items():
            if name not in self._sizes:
                raise PoolError(f"there is no resource {name!r}")
            if count > self._sizes[name]:
                raise PoolError(f"{count} {name} are needed, but there are {self._sizes[name]}")

    def fits(self, needs: Mapping[str, int]) -> bool:
        """Return whether so much is free now."""
        return all(count <= self.free(name) for name, count in needs.items())

    def take(self, holder: str, needs: Mapping[str, int]) -> bool:
        """Give all that is needed, or nothing; return whether it was given."""
        if holder in self._held:
            raise PoolError(f"{holder} holds something already")
        if not self.fits(needs):
            return False
        self._held[holder] = dict(needs)
        return True

    def give_back(self, holder: str) -> None:
        """Take back all that a holder has."""
        if holder not in self._held:
            raise PoolError(f"{holder} holds nothing")
        del self._held[holder]

    def usage(self) -> dict[str, float]:
        """Return the share of each resource that is held."""
        return {name: (size - self.free(name)) / size for name, size in sorted(self._sizes.items())}

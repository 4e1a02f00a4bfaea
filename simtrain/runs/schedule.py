"""The order of episodes: round-robin over families, then over cases, then variants of the world, then new attempts."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import overload

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError


class Deal(Sequence[Episode]):
    """The episodes of a run, in order. Each is made on access, so that a million of them take no memory.

    `attempts` is how often each case is repeated before the next one is dealt. `total` is the number of episodes over all families;
    if it exceeds all cases and variants, further attempts follow. Without it every case is played `attempts` times in every variant.
    Raises InputError for impossible cases.
    """

    def __init__(self, scenarios: Sequence[Scenario], *, seed: int, total: int | None, attempts: int) -> None:
        if not scenarios:
            raise InputError("there is nothing to play")
        self._attempts = attempts
        self._families = [
            list(paradigm_of(scenario).episodes(scenario, seed=seed, attempts=1)) for scenario in scenarios
        ]
        for scenario, family in zip(scenarios, self._families, strict=True):
            if not family:
                raise InputError(f"{scenario.name} has no case in the worlds of these seeds", remedy="name more seeds")
        self._total = total
        # A round deals one episode of every family that has any left. Families run out in the order of their length, so rounds fall
        # into stretches with the same families, and any position can be computed without dealing those before it.
        lengths = [len(family) * attempts for family in self._families]
        # With a total no family runs out: it starts over with new attempts, so there is one stretch of ceil(total / families) rounds.
        ends = sorted(set(lengths)) if total is None else [-(-total // len(lengths))]
        self._stretches = [
            (begin, [index for index, length in enumerate(lengths) if total is not None or length > begin])
            for begin, _ in zip([0, *ends], ends, strict=False)
        ]
        sizes = [(end - begin) * len(dealt) for (begin, dealt), end in zip(self._stretches, ends, strict=True)]
        self._begins = [0, *accumulate(sizes)]

    def __len__(self) -> int:
        return self._begins[-1] if self._total is None else self._total

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._at(place)

    def __iter__(self) -> Iterator[Episode]:
        return map(self._at, range(len(self)))

    @property
    def cases(self) -> Iterator[Episode]:
        """Yield every case of every family in every variant once, as its first attempt."""
        for family in self._families:
            yield from family

    @property
    def firsts(self) -> list[Episode]:
        """The first case of every family; a family in several arms counts once."""
        found = [family[0] for family in self._families if family]
        return list({(episode.scenario.unarmed or episode.scenario).digest: episode for episode in found}.values())

    def _at(self, place: int) -> Episode:
        stretch = bisect_right(self._begins, place) - 1
        begin, dealt = self._stretches[stretch]
        rounds, index = divmod(place - self._begins[stretch], len(dealt))
        family = self._families[dealt[index]]
        # Position within the family: how often it was gone through, then the case, then the attempt at it.
        again, rest = divmod(begin + rounds, len(family) * self._attempts)
        case, attempt = divmod(rest, self._attempts)
        episode = family[case]
        return Episode(
            episode.scenario,
            episode.id,
            episode.case,
            episode.variant,
            episode.seed,
            again * self._attempts + attempt,
        )


def grown(scenarios: Sequence[Scenario], seeds: tuple[int, ...]) -> Sequence[Scenario]:
    """Return scenarios over the worlds of these seeds; as they are if there are none."""
    return [replace(scenario, seeds=seeds) for scenario in scenarios] if seeds else scenarios

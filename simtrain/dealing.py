"""Dealing episodes: round-robin over families, then cases, then variants of the world, then new attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simtrain.assembly import paradigm_of
from simtrain.errors import InputError
from simtrain.scenario import Episode, Scenario

MAX_EPISODES = 10_000_000


def deal(scenarios: Sequence[Scenario], *, seed: int, total: int | None, attempts: int) -> list[Episode]:
    """The episodes of a run, in order.

    `attempts` repeats each case so often before the next case is dealt. `total` is the number over all families; when it is
    larger than all cases and variants, further attempts follow. Without it every case is played once (in every variant).
    Raises InputError for cases that cannot be had.
    """
    if not scenarios:
        raise InputError("there is nothing to play")
    queues = [_queue(scenario, seed, attempts, endless=total is not None) for scenario in scenarios]
    dealt: list[Episode] = []
    while queues and len(dealt) < (MAX_EPISODES if total is None else total):
        for queue in list(queues):
            if total is not None and len(dealt) >= total:
                break
            episode = next(queue, None)
            if episode is None:
                queues.remove(queue)
            else:
                dealt.append(episode)
    return dealt


def _queue(scenario: Scenario, seed: int, attempts: int, *, endless: bool) -> Iterator[Episode]:
    paradigm = paradigm_of(scenario)
    single = list(paradigm.episodes(scenario, seed=seed, attempts=1))
    round_number = 0
    while endless or round_number == 0:
        for episode in single:
            for attempt in range(attempts):
                yield Episode(
                    scenario, episode.id, episode.case, episode.variant, seed, round_number * attempts + attempt
                )
        round_number += 1

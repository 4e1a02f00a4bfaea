"""Tasks as rows of a trainer's dataset, and the episode that each row identifies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from itertools import islice
from typing import Any, TypeAlias

from simtrain.contracts.scenario import Episode, Scenario, Vary
from simtrain.integrations.trl.episodes import sessions
from simtrain.public import episode as numbered_episode
from simtrain.public import load_scenario
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.extras import require
from simtrain.values.types import JsonObject, JsonValue, canonical, encode

Row: TypeAlias = Mapping[str, JsonValue]
FindEpisode: TypeAlias = Callable[[Row], Episode]
"""Finds the episode of a row. Raises InputError."""


def task_dataset(
    scenarios: str | Sequence[str],
    *,
    world_seeds: Iterable[int] = (),
    cases: int | None = None,
    seed: int = 0,
    attempts: int = 1,
) -> Any:
    """Return a `datasets.Dataset` of tasks: one row per scenario, world seed, case and attempt, in this order.

    Columns: `prompt` (system and user message), `scenario`, `environment` (the same name, by which TRL chooses among several
    environments), `world_seed` (None: the world's own), `case`, `seed`, `attempt`. `world_seeds` are the seeds of worlds, which
    keep training and test apart; `cases` is the number of cases taken from each world. Raises InputError, also if there are no rows.
    """
    require("train", "datasets")
    names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
    rows = list(task_rows(names, world_seeds=list(world_seeds), cases=cases, seed=seed, attempts=attempts))
    if not rows:
        raise InputError("the dataset has no rows", remedy="name a scenario, and at least one case and attempt")
    return import_module("datasets").Dataset.from_list(rows)


def task_rows(
    scenarios: Sequence[str], *, world_seeds: Sequence[int], cases: int | None, seed: int, attempts: int
) -> Iterator[JsonObject]:
    """Yield the rows of `task_dataset`. Raises InputError."""
    for name in scenarios:
        for world_seed in world_seeds or (None,):
            scenario = scenario_of(name, world_seed)
            found = paradigm_of(scenario).episodes(scenario, seed=seed, attempts=1)
            for number, episode in enumerate(islice(found, cases)):
                for attempt in range(attempts):
                    place: JsonObject = {"scenario": name, "environment": name, "world_seed": world_seed}
                    place |= {"case": number, "seed": seed, "attempt": attempt}
                    yield {"prompt": task_prompt(replace(episode, attempt=attempt), place), **place}


def first_episode(scenario: str) -> Episode:
    """Return the first episode of a scenario, by its name or file. Raises InputError."""
    return numbered_episode(scenario_of(scenario))


def task_prompt(episode: Episode, place: JsonObject) -> list[JsonObject]:
    """Return the system and user message of an episode, as the agent reads them.

    The user message also has `task`, the row as JSON, since a `rollout_func` receives only the prompts. Chat templates ignore it.
    """
    with sessions().open(episode) as session:
        system: list[JsonObject] = (
            [{"role": "system", "content": session.system, "task": None}] if session.system else []
        )
        return [*system, {"role": "user", "content": session.prompt, "task": encode(place)}]


def episode_of(row: Row) -> Episode:
    """Return the episode of a row of `task_dataset`. Raises InputError for a malformed row, and for an unknown scenario or case."""
    name = row.get("scenario")
    if not isinstance(name, str):
        raise InputError("the row names no scenario", remedy="make the dataset with task_dataset")
    scenario = scenario_of(name, _number(row, "world_seed", None))
    return numbered_episode(
        scenario,
        case=_number(row, "case", 0) or 0,
        seed=_number(row, "seed", 0) or 0,
        attempt=_number(row, "attempt", 0) or 0,
    )


def _number(row: Row, column: str, default: int | None) -> int | None:
    value = row.get(column)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{column!r} of a row is a whole number, and this one is {value!r}")
    return value


@lru_cache(maxsize=1024)
def scenario_of(name: str, world_seed: int | None = None) -> Scenario:
    """Return a scenario by name or file; its world is built with `world_seed` if one is given. Raises InputError."""
    scenario = load_scenario(name)
    if world_seed is None:
        return scenario
    rows = scenario.spec.vary.rows if scenario.spec.vary else []
    spec = scenario.spec.model_copy(update={"vary": Vary(seeds=[world_seed], rows=rows)})
    # Another world makes other episodes: with the same digest, records of the two could be taken for each other.
    digest = blake2b(canonical([scenario.digest, world_seed]), digest_size=16).hexdigest()
    return replace(scenario, spec=spec, digest=digest)

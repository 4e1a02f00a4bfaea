"""Warnings: things that are allowed in a scenario but probably not intended."""

import re
from collections.abc import Iterator
from itertools import islice

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.world import World
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import SimtrainError
from simtrain.values.types import JsonValue

LOOKED_AT = 12
"""Number of cases whose values are looked up in the world."""

_NAMED_AS_KEY = re.compile(r"target|id|key|.+_(?:target|id|key)")


def cautions(scenario: Scenario) -> list[str]:
    """Return one line for each case parameter that the prompt reveals although it is the key of the row to be found."""
    return [
        f"{scenario.name}: the prompt states {{{{ {name} }}}}, the key of a row of {table}: the agent need not look for it; "
        "name what a person would say (a name, a date), or call the parameter after what it is if people do say it"
        for name, table in _keys_shown(scenario)
    ]


def _keys_shown(scenario: Scenario) -> Iterator[tuple[str, str]]:
    suspects = [name for name in sorted(scenario.stated) if _NAMED_AS_KEY.fullmatch(name)]
    if not suspects:
        return
    # A sample is enough for a warning, and large families have thousands of cases.
    episodes = list(islice(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1), LOOKED_AT))
    world = scenario.source.build()
    for name in suspects:
        values = [episode.case[name] for episode in episodes]
        table = next(
            (table for table, columns in world.columns().items() if _all_keys(world, table, columns, values)), None
        )
        if values and table is not None:
            yield name, table


def _all_keys(world: World, table: str, columns: tuple[str, ...], values: list[JsonValue]) -> bool:
    """True if each value is the id of a row."""
    if "id" not in columns:
        return False
    try:
        return all(world.query(f'select 1 from "{table}" where id = :key', {"key": value}) for value in values)
    # Values that SQLite cannot bind, such as lists, are not keys.
    except SimtrainError:
        return False

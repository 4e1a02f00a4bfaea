"""Aliases of the entities of a world, which answers may use."""

from collections.abc import Collection, Iterable

from simtrain.contracts.world import World
from simtrain.values.types import encode


def aliases_in(world: World, wanted: Iterable[tuple[str, Collection[str] | None]]) -> dict[str, str]:
    """Return alias -> name for entities of these types (with these names, if given), without ambiguous aliases."""
    found: dict[str, str] = {}
    doubtful: set[str] = set()
    for kind, names in wanted:
        quoted = kind.replace('"', '""')
        among = "" if names is None else " and e.name in (select value from json_each(:names))"
        rows = world.query(
            f'select a.alias as alias, e.name as name from _aliases a join "{quoted}" e on e.id = a.entity '
            f"where a.type = :type{among} order by a.rowid",
            {"type": kind, **({} if names is None else {"names": encode(sorted(names))})},
        )
        for row in rows:
            # An alias of two things could be credited to the wrong one.
            if found.setdefault(row["alias"], row["name"]) != row["name"]:
                doubtful.add(row["alias"])
    return {alias: name for alias, name in found.items() if alias not in doubtful}

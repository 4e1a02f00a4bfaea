"""Other names of things: what they were called before, and what they are called for short."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import TypeAlias

from simtrain.values.seeding import derive
from simtrain.worlds.search.facts.names import Form, InventedWords
from simtrain.worlds.search.spec.schema import Schema

Alias: TypeAlias = tuple[str, int, str, str]
"""Type, row, the other name, `former` or `short`."""


def draw_aliases(
    schema: Schema,
    names: Mapping[str, Sequence[str]],
    forms: Mapping[str, Form],
    words: InventedWords,
    *,
    seed: int,
    taken: set[str],
) -> list[Alias]:
    """Return the aliases of all entity types, given their names by row. Each belongs to one row alone: none is another's name, in `taken`,
    and no other name or former name begins with a short one."""
    former: list[Alias] = []
    wanted: list[Alias] = []
    for kind, own in names.items():
        shares = schema.spec.entities[kind].aliases
        draw = Random(derive(seed, "facts", kind, "aliases")).random
        if shares.former:
            renamed = [row for row in range(1, len(own) + 1) if draw() < shares.former]
            made = forms[kind].make(len(renamed), words, seed=derive(seed, "former", kind), taken=taken)
            former += [(kind, row, name, "former") for row, name in zip(renamed, made, strict=True)]
        if shares.short:
            shorts = ((row, forms[kind].shorten(name)) for row, name in enumerate(own, 1) if draw() < shares.short)
            wanted += [(kind, row, short, "short") for row, short in shorts if short is not None]
    taken_names = [*(name for own in names.values() for name in own), *(name for _, _, name, _ in former)]
    begun = _beginnings(taken_names, {short for _, _, short, _ in wanted})
    short = [alias for alias in wanted if alias[2] not in taken and begun[alias[2]] == 1]
    return [*former, *short]


def _beginnings(names: Iterable[str], shorts: set[str]) -> Counter[str]:
    """Return how many names begin with each of the short ones."""
    lengths = sorted({short.count(" ") + 1 for short in shorts})
    found: Counter[str] = Counter()
    for name in names:
        tokens = name.split(" ")
        found.update(start for length in lengths if (start := " ".join(tokens[:length])) in shorts)
    return found

"""Invents names that nothing has, for questions that cannot be answered."""

from collections.abc import Sequence

from simtrain.questions.distances import lookalikes
from simtrain.questions.schema import WorldSchema
from simtrain.questions.shapes import DrawRefused
from simtrain.values.seeding import Stream

_TRIES = 20


def invented_name(names: Sequence[str], schema: WorldSchema, stream: Stream) -> str:
    """Return a name made of words of two others, which no entity has, and none nearly. Raises DrawRefused."""
    several = [name.split(" ") for name in names if " " in name]
    if len(several) < 2:
        raise DrawRefused
    taken = {name.casefold() for found in schema.names.values() for name in found.values()}
    taken |= {str(row["alias"]).casefold() for row in schema.world.query("select alias from _aliases")}
    for _ in range(_TRIES):
        first, second = stream.sample(several, 2)
        name = " ".join([first[0], *second[1:]])
        if name.casefold() in taken:
            continue
        alike = [other for other in names if abs(len(other) - len(name)) <= 1]
        if all(lookalikes([name, other]) is None for other in alike):
            return name
    raise DrawRefused

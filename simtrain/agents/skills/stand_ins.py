"""Make the same call of an equivalent tool: one with the same arguments and a description that contains the known one's."""

import re
from collections.abc import Iterable, Iterator, Mapping

from simtrain.agents.planned import Planned
from simtrain.agents.recovery import mend
from simtrain.files.json_schemas import properties_of
from simtrain.values.types import ToolSpec

_OTHERWISE = re.compile(
    r"\b(?:archiv|legacy|deprecated|retired|replaced|old|test|staging|sandbox|training|demo|sample|experimental|beta)\w*"
    r"|no longer|not in use",
    re.IGNORECASE,
)


def stand_ins(planned: Planned, tools: Mapping[str, ToolSpec], *, named: tuple[str, ...]) -> Iterator[Planned]:
    """Yield the call under the names of equivalent tools: those `named` as such, then those whose own description says so.

    The latter take the same arguments, and their description contains the known one's.
    """
    yield from equivalent_calls(planned, tools, named)
    own = tools.get(planned.tool)
    if own is None:
        return
    for tool in tools.values():
        further = tool.description.replace(own.description, "") if own.description in tool.description else None
        # A standby says that it has the same records; archives, test systems and retired tools say that they have others.
        if tool.name == own.name or further is None or _OTHERWISE.search(further) or _OTHERWISE.search(tool.name):
            continue
        if properties_of(tool.input_schema).keys() >= planned.arguments.keys() and tool.writes is own.writes:
            yield Planned(tool.name, planned.arguments)


def equivalent_calls(planned: Planned, tools: Mapping[str, ToolSpec], named: Iterable[str]) -> Iterator[Planned]:
    """Yield the call under the names of tools that are declared equivalent."""
    return (Planned(name, mend(planned.arguments, tools[name].input_schema)) for name in named if name in tools)

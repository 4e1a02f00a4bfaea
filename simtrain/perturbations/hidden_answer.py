"""Search results never contain the answer."""

from fnmatch import fnmatchcase
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.files.json_schemas import may_hold
from simtrain.perturbations.catalogued import ContentPerturbation
from simtrain.perturbations.opening import ALL, hidden_in, is_name
from simtrain.perturbations.reply_edits import at, main_list, name_at, put
from simtrain.perturbations.schema_edits import or_less, widened
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, is_object


class HiddenAnswer(ContentPerturbation):
    """Lists and search results keep ids and names but leave out what another tool returns for each record.

    Source: ZeroSearch, BENCH2ROBUST. An agent should open the records that may hold the answer. Only fields are left
    out that another read tool promises and that can be requested by what stays. A tool without an output schema keeps
    only names, if another one gets a single record. Output schemas allow for what is left out.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="H", recoverable_by=("switch",))

    keep: list[str] = Field(default_factory=list, description="Globs over further fields that stay.")

    def reaches(self, tool: ToolSpec) -> bool:
        """True if a tool reads and may return lists."""
        return not tool.writes and may_hold(tool.output_schema, "array")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with weaker output schemas for those that list and search."""
        hidden = hidden_in(tools)
        return tuple(widened((tool,), or_less)[0] if tool.name in hidden else tool for tool in tools)

    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return the content with the items of its list stripped."""
        hidden = hidden_in(call.given).get(call.request.tool.name)
        place = main_list(content)
        if hidden is None or place is None:
            return content
        gone = hidden.get(name_at(place)) or hidden.get("*") or frozenset()
        items = at(content, place)
        bare = [self._without(item, gone) if is_object(item) else item for item in items]
        return put(content, place, bare)

    def _without(self, item: JsonObject, gone: frozenset[str]) -> JsonObject:
        """Return an item without the fields that can be looked up; one without any name is unchanged."""
        stays = {name: value for name, value in item.items() if self._stays(name, gone)}
        # An empty object would not even say that there was a record.
        return stays or item

    def _stays(self, name: str, gone: frozenset[str]) -> bool:
        if is_name(name) or any(fnmatchcase(name, glob) for glob in self.keep):
            return True
        return name not in gone and gone is not ALL

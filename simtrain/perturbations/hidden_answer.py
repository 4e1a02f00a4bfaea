"""Search results never contain the answer."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import ClassVar, cast

from pydantic import Field

from simtrain.entities import IDS
from simtrain.perturbation import Call, Effect, Layer, Perturbation, Recovery, Side
from simtrain.reply_edits import at, content_of, main_list, put, retold
from simtrain.request import Answer
from simtrain.schema_edits import or_less, widened
from simtrain.seeding import Stream
from simtrain.tool_words import tool_words
from simtrain.types import JsonObject, JsonValue, Observation, ToolSpec

_NAMES = frozenset({*IDS, "title", "subject", "label", "handle"})


class HiddenAnswer(Perturbation):
    """Lists and search results name what was found and say nothing more of it: ids and names stay, everything else is left out.

    Source: ZeroSearch, BENCH2ROBUST. An agent should open the records that may hold the answer. Only tools for which there is
    another one that gets a single record are hit. Output schemas allow for what is left out.
    """

    side: ClassVar[Side] = "reply"
    layer: ClassVar[Layer] = "H"
    effect: ClassVar[Effect] = "after"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("switch",)

    keep: list[str] = Field(default_factory=list, description="Globs over further fields that stay.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """The tools; those that list and search promise less."""
        return tuple(widened((tool,), or_less)[0] if _opens(tool, tools) else tool for tool in tools)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and strip the items of its reply."""
        observation = await proceed(call.request)
        if observation.is_error or not _opens(call.request.tool, call.tools):
            return observation
        content = content_of(observation)
        place = main_list(content)
        if place is None:
            return observation
        items = cast("list[JsonValue]", at(content, place))
        bare = [self._named(cast(JsonObject, item)) if isinstance(item, dict) else item for item in items]
        if bare == items:
            return observation
        return (
            retold(
                observation, put(content, place, bare), tool=call.request.tool, world=call.world, source="hidden_answer"
            )
            or observation
        )

    def _named(self, item: JsonObject) -> JsonObject:
        """What an item is called; an item without any name stays as it is."""
        stays = {name: value for name, value in item.items() if self._stays(name)}
        return stays or item

    def _stays(self, name: str) -> bool:
        plain = name.lower()
        return plain in _NAMES or plain.endswith("_id") or any(fnmatchcase(name, glob) for glob in self.keep)


def _opens(tool: ToolSpec, tools: tuple[ToolSpec, ...]) -> bool:
    """Whether a tool lists or searches what another one shows one by one."""
    words = tool_words(tool.name)
    if words.intent not in ("list", "search") or tool.writes:
        return False
    others = (tool_words(other.name) for other in tools if not other.writes)
    return any(other.intent == "get" and other.noun == words.noun for other in others)

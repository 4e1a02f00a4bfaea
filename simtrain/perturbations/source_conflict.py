"""Two tools disagree about a fact."""

import re
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.files.json_schemas import may_hold, property_names
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.figures import WrongFigure, figures_in, misspelt, off, spoken
from simtrain.perturbations.reply_edits import at, content_of, name_at, put, respoken_within
from simtrain.perturbations.sites import figures_stated, site_of, stated_elsewhere
from simtrain.values.types import JsonValue, Observation, ToolSpec

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LETTERS = re.compile(r"[^a-z0-9]+")
_ENDING = re.compile(r"_(?:at|on|date|time)$")


class SourceConflict(WrongFigure, Catalogued):
    """One tool returns another value (a number or a date) than the other tools, for all things of a kind, consistently.

    Source: ToolMaze, BENCH2ROBUST, ZeroSearch. An agent should ask a second tool if much depends on it, decide by
    reason, and say that the sources disagree. The field is one that another tool returns too; without one the reply
    passes. On the web the sources are sites: one of them states another figure than the others.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="D", visible=False, recoverable_by=("cross-check", "ask"), follows="always"
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True if a tool may return a number or a date, or declares no output."""
        return may_hold(tool.output_schema, "number", "integer", "string")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Let this tool return another value from now on, unless another tool does already."""
        observation = await proceed(call.request)
        if call.domain == "search":
            return self._between_sites(call, observation)
        if "tool" not in call.memory and not observation.is_error:
            content = content_of(observation)
            figure_names = {name_at(path) for path in figures_in(content, fields=tuple(self.fields), dates=True)}
            elsewhere = {_plainly(name) for name in self._stated_elsewhere(call)}
            # Sorted before the draw: the order of a set differs between processes.
            shared = sorted(name for name in figure_names if _plainly(name) in elsewhere)
            if shared:
                # Kept in memory: the source must err by the same share each time, or it would contradict itself.
                share = self.share(call.rng)
                call.memory.update(tool=call.request.tool.name, field=call.rng.choose(shared), share=share)
        return self._conflicting(call, observation)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Note the replies of other tools; the one that fired repeats its own statement."""
        observation = await proceed(call.request)
        if call.domain == "search":
            return self._as_its_site(call, observation)
        if call.memory.get("tool") is None and not observation.is_error:
            # Replies are noted for tools that declare no output, which only show their fields this way.
            names = sorted({name_at(path) for path in figures_in(content_of(observation), dates=True)})
            call.memory.setdefault("seen", {})[call.request.tool.name] = names
        return self._conflicting(call, observation)

    def _between_sites(self, call: Call, observation: Observation) -> Observation:
        """Let the site of this page state other figures from now on, of a kind that another site states too."""
        if "site" not in call.memory and call.world is not None and not observation.is_error:
            shared = sorted(figures_stated(call.world, observation).keys() & stated_elsewhere(call.world, observation))
            if shared:
                share = self.share(call.rng)
                call.memory.update(site=site_of(observation), attribute=call.rng.choose(shared), share=share)
        return self._as_its_site(call, observation)

    def _as_its_site(self, call: Call, observation: Observation) -> Observation:
        """Return a page of the disagreeing site with its own figures of that kind; other pages unchanged."""
        if call.world is None or observation.is_error or call.memory.get("site", "") != site_of(observation):
            return observation
        words: dict[str, str] = {}
        for token in figures_stated(call.world, observation).get(call.memory.get("attribute", -1), ()):
            wrong = misspelt(token, call.memory["share"])
            if wrong is not None:
                words[token] = wrong
        content = respoken_within(observation.content, words)
        if content == observation.content:
            return observation
        return self.rewritten(call, observation, content, words)

    def _stated_elsewhere(self, call: Call) -> set[str]:
        """Return the fields that other tools declare in their output schemas, or have returned."""
        name = call.request.tool.name
        seen = call.memory.get("seen", {})
        promised = {field for tool in call.tools if tool.name != name for field in property_names(tool.output_schema)}
        return promised | {field for tool, fields in seen.items() if tool != name for field in fields}

    def _conflicting(self, call: Call, observation: Observation) -> Observation:
        if call.memory.get("tool") != call.request.tool.name or observation.is_error:
            return observation
        content: JsonValue = content_of(observation)
        changed, words = content, dict[str, str]()
        for path in figures_in(content, fields=(str(call.memory["field"]),), dates=True):
            right = at(content, path)
            wrong = off(right, call.memory["share"])
            if wrong is not None:
                changed = put(changed, path, wrong)
                words.update(zip(spoken(right), spoken(wrong), strict=False))
        if not words:
            return observation
        return self.rewritten(call, observation, changed, words)


def _plainly(name: str) -> str:
    """Return a field's name in a normalised form: the same for `createdAt`, `created_at` and `created`."""
    return _ENDING.sub("", _LETTERS.sub("_", _CAMEL.sub("_", name).lower()).strip("_"))

"""Tools with paraphrased descriptions."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import ceil
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Traits
from simtrain.files.json_schemas import properties_of
from simtrain.perturbations.hasty_typing import outside
from simtrain.perturbations.pools import pool, texts
from simtrain.perturbations.writer import Worded, Writer, Written
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, ToolSpec, encode

_KEPT = re.compile(r"`[^`]*`|\"[^\"]*\"|\S*[\d_@]\S*")
"""The parts that a paraphrase must keep: quotations, names with underscores, figures."""

_TASK = """\
You reword the documentation of tools. The material maps names of tools to descriptions. Say the same in other words, nothing more and
nothing less; whatever is quoted, is in backticks, holds a figure or an underscore stays as it is."""


class ParaphrasedDocs(Worded):
    """The descriptions of some tools and arguments say the same in other words, for the whole episode.

    Source: RoTBench, RobustBench-TC. An agent should not be affected. It acts on the list of tools; its trigger is
    ignored. A model words each description once; the episodes of a process share its wording, and the first one waits
    for it.
    """

    traits: ClassVar[Traits] = Traits(side="manifest", layer="M", visible=False, recoverable_by=("cross-check",))

    share: float | None = Field(default=None, ge=0, le=1, description="Share of the tools; unset, the severity.")
    writer: Writer | None = Field(default=None, description="Chat model that words the descriptions.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, some with rewritten descriptions; unchanged if the rewriting model fails."""
        count = ceil(len(tools) * (self.severity if self.share is None else self.share))
        chosen = [tool for tool in rng.sample(tools, count) if tool.description]
        worded: Mapping[str, str] | None = None
        if self.writer is not None and chosen:
            # In the order of `tools`, not of the draw: the material is the key under which wordings are shared.
            written = self._worded(self.writer, {tool.name: tool.description for tool in tools if tool in chosen})
            if written is None:
                return tools
            worded = written.value
        made = {
            tool.name: _with(tool, _reworded(tool.description, rng) if worded is None else worded[tool.name], rng)
            for tool in chosen
        }
        return tuple(made.get(tool.name, tool) for tool in tools)

    @cached_property
    def _known(self) -> dict[str, Written[dict[str, str]]]:
        return {}

    def _worded(self, writer: Writer, descriptions: dict[str, str]) -> Written[dict[str, str]] | None:
        key = encode(descriptions)
        if key not in self._known and (written := writer.at_once(self._written(writer, descriptions))) is not None:
            self._known[key] = written
        return self._known.get(key)

    async def _written(self, writer: Writer, descriptions: dict[str, str]) -> Written[dict[str, str]]:
        def read(value: JsonObject) -> dict[str, str]:
            if set(value) != set(descriptions):
                raise ValueError("it does not have the same names")
            for name, text in value.items():
                if not isinstance(text, str) or not text.strip() or text == descriptions[name]:
                    raise ValueError(f"{name} is not reworded")
                for part in _KEPT.findall(descriptions[name]):
                    # Punctuation belongs to the sentence and may go; what it surrounds may not.
                    if part.strip(".,;:()") not in text:
                        raise ValueError(f"{name} lacks {part}")
            return value

        return await writer.write(
            self.source, task=_TASK, form='{"name": "description", ...}', material=descriptions, read=read
        )


def _with(tool: ToolSpec, description: str, rng: Stream) -> ToolSpec:
    """Return the tool with another description, and with its arguments' descriptions reworded where the pool has words."""
    properties = properties_of(tool.input_schema)
    described = {
        name: {**schema, "description": _replaced(schema["description"], rng)}
        if isinstance(schema.get("description"), str)
        else schema
        for name, schema in properties.items()
    }
    schema = {**tool.input_schema, "properties": described} if described else tool.input_schema
    return replace(tool, description=description, input_schema=schema)


def _reworded(text: str, rng: Stream) -> str:
    """Return the text with phrases replaced from the pool; a text without any of them gets an introduction."""
    found = _replaced(text, rng)
    # Otherwise descriptions without a known phrase would never change, whatever `share` says.
    return rng.choose(texts("paraphrased_docs", "frames")).format(text=text) if found == text else found


def _replaced(text: str, rng: Stream) -> str:
    return outside(_KEPT, text, lambda part: _synonyms(part, rng))


def _synonyms(text: str, rng: Stream) -> str:
    phrases = pool("paraphrased_docs")["phrases"]
    # Longest first: alternation takes the first match, and one phrase may begin another.
    found = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in sorted(phrases, key=len, reverse=True)))
    return found.sub(lambda match: rng.choose(phrases[match[0]]), text)

"""The task as a hurried person writes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil
from typing import ClassVar, Literal, cast

from pydantic import Field

from simtrain.perturbation import Layer, Perturbation, Recovery, Side
from simtrain.perturbations.pools import pool
from simtrain.perturbations.writer import Writer, Written, a_text
from simtrain.seeding import Stream
from simtrain.types import JsonObject

_VALUES = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|<[^>\n]+>|\S*[\d@_]\S*|(?<=[a-z,] )[A-Z][\w\-]*")
"""What the task cannot do without: what is quoted, what holds a figure, addresses, names within a sentence."""

_WORD = re.compile(r"[A-Za-z]+")

_TASK = """\
You rewrite a request as a hurried person would type it: typos, missing words, vague remarks. It asks for the same. Each text of `keep`
stands in it exactly as it is; the text of `drop`, where there is one, does not, and something vague stands in its place."""


class NoisyRequest(Perturbation):
    """The task is written with typos, without polite words, with remarks that say nothing; all that it needs stays in it.

    Source: AgentNoiseBench, RobustBench-TC, ReliabilityBench. An agent should read past the noise. With `needed: drop` one value
    that the task needs is missing: an agent should ask, or say what it lacks, and the gold of the clean task may be out of reach.
    It acts on the task: its trigger plays no part.
    """

    side: ClassVar[Side] = "request"
    layer: ClassVar[Layer] = "M"
    permanent: ClassVar[bool] = True
    recoverable_by: ClassVar[tuple[Recovery, ...]] = ("ask",)

    kinds: list[Literal["typos", "omissions", "ambiguity"]] = Field(
        default_factory=lambda: ["typos", "omissions", "ambiguity"], min_length=1, description="What goes wrong."
    )
    needed: Literal["keep", "drop"] = Field(default="keep", description="Whether all that the task needs stays in it.")
    writer: Writer | None = Field(default=None, description="Chat model that rewrites the task.")

    async def ready(self) -> None:
        """Check that the model that writes can be reached. Raises InputError."""
        if self.writer is not None:
            await self.writer.ready()

    def ask(self, prompt: str, rng: Stream) -> str:
        """The task, written badly; as it is where the model that was to rewrite it fails."""
        values = _VALUES.findall(prompt)
        dropped = rng.choose(values) if self.needed == "drop" and values else None
        if self.writer is not None:
            written = self.writer.at_once(self._written(self.writer, prompt, values, dropped))
            if written is None:
                return prompt
            if written.value is not None:
                return written.value
        if dropped is not None:
            prompt = prompt.replace(dropped, rng.choose(cast("list[str]", pool("noisy_request")["vague"])))
        for kind in self.kinds:
            prompt = _NOISES[kind](prompt, self.severity, rng)
        return prompt

    async def _written(self, writer: Writer, prompt: str, values: list[str], dropped: str | None) -> Written[str]:
        kept = [value for value in values if dropped is None or dropped not in value]

        def read(value: JsonObject) -> str:
            text = a_text(value, longest=3 * len(prompt) + 200)
            missing = next((part for part in kept if part not in text), None)
            if missing is not None:
                raise ValueError(f"{missing} is missing")
            if text == prompt.strip() or (dropped is not None and dropped in text):
                raise ValueError("it is not rewritten as asked")
            return text

        material = {"request": prompt, "keep": kept, "drop": dropped}
        return await writer.write("noisy_request", task=_TASK, form='{"text": "..."}', material=material, read=read)


def _with_typos(prompt: str, severity: float, rng: Stream) -> str:
    common = frozenset(cast("list[str]", pool("noisy_request")["common"]))

    def typed(word: str) -> str:
        return _mistyped(word, rng) if word.lower() in common and rng.random() < severity else word

    return _outside_values(prompt, lambda text: _WORD.sub(lambda match: typed(match[0]), text))


def _with_omissions(prompt: str, severity: float, rng: Stream) -> str:
    fillers = "|".join(cast("list[str]", pool("noisy_request")["fillers"]))
    found = re.compile(rf"\b(?:{fillers})\b ", re.IGNORECASE)

    def left_out(match: re.Match[str]) -> str:
        return "" if rng.random() < severity else match[0]

    return _outside_values(prompt, lambda text: found.sub(left_out, text))


def _with_remarks(prompt: str, severity: float, rng: Stream) -> str:
    remarks = rng.sample(cast("list[str]", pool("noisy_request")["remarks"]), ceil(3 * severity))
    return " ".join([prompt.rstrip(), *remarks]) if remarks else prompt


_NOISES: dict[str, Callable[[str, float, Stream], str]] = {
    "typos": _with_typos,
    "omissions": _with_omissions,
    "ambiguity": _with_remarks,
}


def _outside_values(prompt: str, change: Callable[[str], str]) -> str:
    """The prompt with what lies between its values changed."""
    parts: list[str] = []
    end = 0
    for value in _VALUES.finditer(prompt):
        parts += [change(prompt[end : value.start()]), value[0]]
        end = value.end()
    return "".join([*parts, change(prompt[end:])])


def _mistyped(word: str, rng: Stream) -> str:
    """The word with two inner letters swapped, one doubled or one left out: it can still be read."""
    place = rng.integer(1, len(word) - 2)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    match rng.choose(("swap", "double", "drop")):
        case "swap":
            return f"{before}{after[0]}{letter}{after[1:]}"
        case "double":
            return f"{before}{letter}{letter}{after}"
        case _:
            return f"{before}{after}"

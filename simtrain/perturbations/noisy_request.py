"""The task as a hurried person writes it."""

from collections.abc import Callable
from math import ceil
from typing import ClassVar, Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.perturbation import Traits
from simtrain.perturbations.hasty_typing import VALUES, with_correction, with_lazy_shift, with_omissions, with_typos
from simtrain.perturbations.pools import pool, texts
from simtrain.perturbations.writer import Worded, Writer, Written
from simtrain.values.seeding import Stream

Kind: TypeAlias = Literal["correction", "typos", "omissions", "capitals", "ambiguity", "rambling", "forwarded"]

_TASK = """\
You rewrite a request as a hurried person would type it: typos, missing words, vague remarks. It asks for the same. Each text of `keep`
stands in it exactly as it is; the text of `drop`, where there is one, does not, and something vague stands in its place."""


class NoisyRequest(Worded):
    """The task as people type it: typos, no capitals, asides, a value corrected halfway; nothing that it needs is lost.

    Source: AgentNoiseBench, RobustBench-TC, ReliabilityBench. An agent should read past the noise. With `needed: drop`,
    one value that the task needs is missing; an agent should then ask, or say what it lacks, and the gold of the clean
    task may be out of reach. It acts on the task; its trigger is ignored.
    """

    traits: ClassVar[Traits] = Traits(side="request", layer="M", recoverable_by=("ask",))

    kinds: list[Kind] = Field(
        default_factory=lambda: list(_NOISES), min_length=1, description="Which kinds of noise to use."
    )
    needed: Literal["keep", "drop"] = Field(default="keep", description="Whether all that the task needs stays in it.")
    writer: Writer | None = Field(default=None, description="Chat model that rewrites the task.")

    def ask(self, prompt: str, rng: Stream) -> str:
        """Return the task, badly written; unchanged if the rewriting model fails."""
        values = VALUES.findall(prompt)
        dropped = rng.choose(values) if self.needed == "drop" and values else None
        if self.writer is not None:
            written = self.writer.at_once(self._written(self.writer, prompt, values, dropped))
            if written is None:
                return prompt
            # A model's version stands alone: noise on top could break a value that was checked to be in it.
            if written.value is not None:
                return written.value
        if dropped is not None:
            prompt = prompt.replace(dropped, rng.choose(texts("noisy_request", "vague")))
        for kind, noise in _NOISES.items():
            if kind in self.kinds:
                prompt = noise(prompt, self.severity, rng)
        return prompt

    async def _written(self, writer: Writer, prompt: str, values: list[str], dropped: str | None) -> Written[str]:
        # A value that contains the dropped one would bring it back.
        kept = [value for value in values if dropped is None or dropped not in value]

        def check(text: str) -> None:
            missing = next((part for part in kept if part not in text), None)
            if missing is not None:
                raise ValueError(f"{missing} is missing")
            if text == prompt.strip() or (dropped is not None and dropped in text):
                raise ValueError("it is not rewritten as asked")

        material = {"request": prompt, "keep": kept, "drop": dropped}
        longest = 3 * len(prompt) + 200
        return await writer.write_text(self.source, task=_TASK, material=material, check=check, longest=longest)


def _with_remarks(prompt: str, severity: float, rng: Stream) -> str:
    remarks = rng.sample(texts("noisy_request", "remarks"), ceil(3 * severity))
    return " ".join([prompt.rstrip(), *remarks]) if remarks else prompt


def _with_rambling(prompt: str, severity: float, rng: Stream) -> str:
    """Return the prompt with asides before and after it, more of them with higher severity."""
    if not severity:
        return prompt
    texts = pool("noisy_request")
    asides = rng.sample(texts["asides"], ceil(4 * severity))
    before = (len(asides) + 1) // 2
    opening = (rng.choose(texts["openings"]), " ".join(asides[:before]))
    closing = (" ".join(asides[before:]), rng.choose(texts["closings"]))
    return "\n".join((*opening, "", prompt.strip(), "", *(line for line in closing if line)))


def _forwarded(prompt: str, severity: float, rng: Stream) -> str:
    """Return the prompt inside a forwarded or answered mail, more likely with higher severity."""
    if rng.random() >= severity:
        return prompt
    return rng.choose(texts("noisy_request", "forwards")).replace("{request}", prompt.strip())


_NOISES: dict[Kind, Callable[[str, float, Stream], str]] = {
    "correction": with_correction,
    "typos": with_typos,
    "omissions": with_omissions,
    "capitals": with_lazy_shift,
    "ambiguity": _with_remarks,
    "rambling": _with_rambling,
    "forwarded": _forwarded,
}
"""The kinds of noise, in the order of application: first inside the request, then around it."""

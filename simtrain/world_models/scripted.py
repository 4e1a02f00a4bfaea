"""Fixed replies, from a scenario file or from Python, for tests, demos and tools with constant replies."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.files.file_model import FileModel
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec, encode

_SCRIPTED = Provenance("scripted")


class ScriptedAnswer(FileModel):
    """One reply, for calls of a tool with the argument values in `args`."""

    tool: str = Field(min_length=1, description="Tool name.")
    args: dict[str, JsonValue] = Field(
        default_factory=dict, description="Argument values that must be given exactly so."
    )
    text: str | None = Field(None, description="The text of the reply.")
    structured: dict[str, JsonValue] | None = Field(
        None, description="The structured content; its JSON is the text when there is none."
    )
    is_error: bool = Field(False, description="Whether the reply is an error.")

    @model_validator(mode="after")
    def _says_something(self) -> ScriptedAnswer:
        if self.text is None and self.structured is None:
            raise ValueError("a scripted answer needs `text` or `structured`")
        return self

    def fits(self, tool: str, arguments: JsonObject) -> bool:
        """Return True if this may answer a call."""
        return self.tool == tool and all(
            name in arguments and arguments[name] == value for name, value in self.args.items()
        )

    def observation(self) -> Observation:
        """Return the reply."""
        if self.text is None:
            return Observation(encode(self.structured), is_error=self.is_error, json=True, provenance=_SCRIPTED)
        return Observation(self.text, self.structured, self.is_error, provenance=_SCRIPTED)


class Scripted(WorldModel):
    """Fixed replies: each is given once, in order, to the calls that it matches.

    The world is never queried and never changes.
    """

    repeatable = True

    example: ClassVar[JsonObject] = {"with": {"answers": [{"tool": "orders.list", "text": "none"}]}}

    answers: list[ScriptedAnswer] = Field(description="The answers, in order.")
    on_miss: Literal["error", "last"] = Field(
        "error",
        description="A call that no answer is left for: a fault of the simulator, or the last answer that fits.",
    )

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer, None]:
        """Open one episode with a fresh copy of the replies."""
        # Each reply is used once per episode, and episodes run concurrently.
        left = list(self.answers)

        async def answer(request: Request) -> Observation:
            found = _first(left, request)
            if found is not None:
                left.remove(found)
                return found.observation()
            return self._missed(request)

        yield answer

    def _missed(self, request: Request) -> Observation:
        tool = request.tool.name
        last = _first(self.answers[::-1], request) if self.on_miss == "last" else None
        if last is not None:
            return last.observation()
        raise SimulatorFault(f"no scripted answer is left for {tool} with {encode(request.arguments)}")


def _first(answers: Sequence[ScriptedAnswer], request: Request) -> ScriptedAnswer | None:
    return next((given for given in answers if given.fits(request.tool.name, request.arguments)), None)

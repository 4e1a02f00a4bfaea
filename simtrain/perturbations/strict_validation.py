"""A server that requires more than documented."""

from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.files.json_schemas import properties_of, validator
from simtrain.perturbations.catalogued import Lasting
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, Observation, ToolSpec


class StrictValidation(Lasting):
    """From the call on which it fires, a tool's calls need an argument that the schema calls optional.

    Source: AgentDisruptBench, ToolBench-X, ToolMisuseBench. The error names the argument and its form. An agent should
    fix the call. Every tool without an argument of that name offers `requires`, which the tool itself never receives.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="P", recoverable_by=("fix-call",), follows="always")

    requires: str = Field(
        default="reason", pattern=r"^[A-Za-z_]\w*$", description="The argument that must not be missing."
    )
    argument: dict[str, Any] = Field(
        default_factory=lambda: {
            "type": "string",
            "minLength": 3,
            "description": "Why the call is made, for the audit log.",
        },
        description="Its JSON Schema.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with an additional optional argument."""
        return tuple(self._with_argument(tool) for tool in tools)

    def _with_argument(self, tool: ToolSpec) -> ToolSpec:
        properties = properties_of(tool.input_schema)
        if self.requires in properties:
            return tool
        schema = {**tool.input_schema, "properties": {**properties, self.requires: self._described()}}
        return replace(tool, input_schema=schema)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Remove the argument before the tool sees it; refuse calls without it, once the server is strict."""
        arguments = dict(call.request.arguments)
        missing = self.requires not in arguments
        # Only an argument that was added here is removed; one of the tool's own is meant for the tool.
        given = arguments.pop(self.requires, None) if self._added(call) else arguments.get(self.requires)
        if call.memory.get(call.request.tool.name):
            if missing:
                return self._refuse(call, f"Missing required argument {self.requires!r}")
            problem = next(iter(validator(self.argument).iter_errors(given)), None)
            if problem is not None:
                return self._refuse(call, f"{self.requires}: {problem.message}")
        return await proceed(replace(call.request, arguments=arguments))

    def _described(self) -> JsonObject:
        """Return an argument as its schema describes it. Optional arguments are not checked there: the server itself
        words the error.
        """
        return {name: value for name, value in self.argument.items() if name in ("type", "description")}

    def _added(self, call: Call) -> bool:
        """Return True if the argument is not one of the tool's own."""
        properties = properties_of(call.request.tool.input_schema)
        return properties.get(self.requires) == self._described()

    def _refuse(self, call: Call, problem: str) -> Observation:
        described = self.argument.get("description", "")
        return self.refusal(call, "validation", f"{problem}. {described}".strip())

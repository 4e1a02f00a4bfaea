"""Arguments of tools have other names than documented."""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.files.json_schemas import properties_of, validator
from simtrain.perturbations.catalogued import Lasting
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, Observation, ToolSpec


class ArgumentDrift(Lasting):
    """From the call on which it fires, a tool accepts arguments only under new names, which its schema does not list.

    Source: ToolMaze, ToolMisuseBench, RobustBench-TC. The error names the new argument. An agent should fix the call.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="P", recoverable_by=("fix-call",), follows="always")
    example: ClassVar[JsonObject] = {"with": {"rename": {"cake_id": "product"}}}

    rename: dict[str, str] = Field(min_length=1, description="Arguments by their old names, with their new ones.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools with schemas that name the old arguments but neither require them nor forbid others."""
        return tuple(self._loosened(tool) for tool in tools)

    def _loosened(self, tool: ToolSpec) -> ToolSpec:
        # The toolbox checks arguments against this schema before `follow` sees them, so calls under new names must pass it.
        schema = tool.input_schema
        if not self.rename.keys() & properties_of(tool.input_schema).keys():
            return tool
        open_schema = {name: value for name, value in schema.items() if name != "additionalProperties"}
        if "required" in schema:
            required = schema["required"]
            open_schema["required"] = [name for name in required if name not in self.rename]
        return replace(tool, input_schema=open_schema)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Check the arguments as a server with the new names would, and pass them on under the tool's own names."""
        # `given` holds the schema before `offer` loosened it, and with it the arguments that are really required.
        tool = next((tool for tool in call.given if tool.name == call.request.tool.name), call.request.tool)
        drifted = call.memory.get(tool.name, False)
        names = {old: new for old, new in self.rename.items() if drifted and old in properties_of(tool.input_schema)}
        arguments = call.request.arguments
        for old, new in names.items():
            if old in arguments:
                return self.refusal(call, "validation", f"Unknown argument {old!r}. Did you mean {new!r}?")
        back = {new: old for old, new in names.items()}
        known = {back.get(name, name): value for name, value in arguments.items()}
        problem = next(iter(validator(tool.input_schema).iter_errors(known)), None)
        if problem is None:
            return await proceed(replace(call.request, arguments=known))
        # The validator quotes the names that the tool documents, but this server speaks only of the new ones.
        message = str(problem.message)
        for old, new in names.items():
            message = message.replace(f'"{old}"', f'"{new}"')
        return self.refusal(call, "validation", f"{message}.")

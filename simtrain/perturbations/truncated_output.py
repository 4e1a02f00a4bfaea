"""The text of a reply is cut off."""

from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Probability, Traits
from simtrain.files.json_schemas import validator
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.shell_replies import typed, with_output
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, is_list, is_object

SHORT = 40
"""Characters. Shorter texts inside structured content are not cut: names, states, dates."""


class TruncatedOutput(ReplyPerturbation):
    """The tool does its work, but only the beginning of its text arrives.

    Source: ToolBench-X, AgentDisruptBench, mcp-chaos. An agent should read again, or page. Promised structured content
    is cut as well, as far as it still fits the output schema; otherwise it is left out.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("page", "retry"), shell=True, page=True)

    keep: Probability | None = Field(
        default=None, description="Share of the text that arrives; unset, 1 less the severity."
    )
    marker: str = Field(default="... [truncated]", description="What replaces the rest.")

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the beginning of the reply."""
        share = 1 - self.severity if self.keep is None else self.keep
        if share == 1:
            return reply
        if typed(call) is not None:
            return self.signed(self._stopped(reply, share))
        structured = self._structured(reply.content, call.request.tool, share)
        return reworded(reply, self._cut(reply.text, share), structured)

    def _stopped(self, reply: Observation, share: float) -> Observation:
        """Return what a shell printed without the end of its standard output."""
        printed = str((reply.content or {}).get("stdout", ""))
        kept = printed[: int(len(printed) * share)]
        # In the words in which the tool itself leaves out the middle of a long output.
        left = len(printed) - len(kept)
        return (
            with_output(reply, {"stdout": f"{kept.removesuffix(chr(10))}\n[... {left} characters left out ...]\n"})
            if left
            else reply
        )

    def _cut(self, text: str, share: float) -> str:
        return text[: int(len(text) * share)] + self.marker if text else text

    def _structured(self, content: JsonObject | None, tool: ToolSpec, share: float) -> JsonObject | None:
        if content is None or tool.output_schema is None:
            return None
        cut = self._shortened(content, share)
        # Clients raise on structured content that breaks its schema, and the agent would not even see the cut text.
        return cut if validator(tool.output_schema).is_valid(cut) else content

    def _shortened(self, value: JsonValue, share: float) -> JsonValue:
        if isinstance(value, str):
            return value if len(value) <= SHORT else self._cut(value, share)
        if is_object(value):
            return {key: self._shortened(item, share) for key, item in value.items()}
        if is_list(value):
            return [self._shortened(item, share) for item in value[: int(len(value) * share)]]
        return value

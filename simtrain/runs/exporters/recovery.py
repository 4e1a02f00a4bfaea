"""Recovery trajectories: the fault, the diagnosis and the recovery, with a label and a loss weight for every turn."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS, ChatRows, opening, replies, spoken
from simtrain.runs.exporters.phases import Labelled, earned, faulted, labelled, noticeable
from simtrain.values.types import JsonObject

Weight: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class RecoveryRows(ChatRows):
    """Chat rows of perturbed episodes with nothing removed, retries included.

    `messages` and `tools` are those of `openai`, and each assistant message has its loss `weight`. `turns` classifies
    each assistant message: `message` (its place), `phase` (`before`, `fault`, `retry`, `diagnosis`, `recovery`,
    `after`) and `mistake`. Text that a model reads contains no label.
    """

    outcome: Literal["recovered", "all"] = Field(
        "recovered", description="Only episodes with full reward (1), or also others."
    )
    before: Weight = Field(0, description="Weight of turns up to the one that met the first fault.")
    mistakes: Weight = Field(0, description="Weight of mistakes: refused calls, and a last message that is wrong.")
    after: Weight = Field(0, description="Weight of turns after the recovery, which are like those of a clean episode.")
    others: Weight = Field(1, description="Weight of all other turns: retries, diagnosis, recovery, further faults.")
    labels: bool = Field(False, description="Name the perturbations under `turns`. Never show them to an agent.")

    def lacking(self, trajectory: Trajectory) -> str | None:
        if not spoken(trajectory):
            return NO_WORDS
        if not faulted(trajectory):
            return "in which the agent could notice no perturbation"
        if self.outcome == "all":
            return None
        if not earned(trajectory):
            return "without full reward"
        return None if any(self._weights(trajectory, labelled(trajectory))) else "in which no turn has a weight"

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row; none if the agent could notice nothing, did not recover, or had nothing to do about it."""
        if self.lacking(trajectory):
            return
        turns = labelled(trajectory)
        names = names_of(trajectory)
        messages, marks = opening(trajectory), list[JsonObject]()
        for item, weight in zip(turns, self._weights(trajectory, turns), strict=True):
            marks.append(self._mark(item, len(messages), weight))
            message = self.message(item.turn, names)
            messages.append(message | {"weight": weight})
            if item is not turns[-1]:
                messages.extend(replies(item.turn))
        row: JsonObject = {"messages": messages}
        if trajectory.tools:
            row["tools"] = definitions(trajectory, names)
            row["parallel_tool_calls"] = any(len(item.turn.steps) > 1 for item in turns)
        yield row | {"turns": marks}

    def _weights(self, trajectory: Trajectory, turns: Sequence[Labelled]) -> list[float]:
        first_fault = next((place for place, item in enumerate(turns) if item.phase != "before"), None)
        seen = (noticeable(trajectory) or 0) < 0
        weights = [
            self._by_phase(item, first=item.phase == "fault" and place == first_fault and not seen)
            for place, item in enumerate(turns)
        ]
        # OpenAI's service takes the integers 0 and 1.
        return [int(weight) if weight in (0, 1) else weight for weight in weights]

    def _by_phase(self, item: Labelled, *, first: bool) -> float:
        # First: a mistake is no example, in whichever phase it was made.
        if item.mistake:
            return self.mistakes
        if first or item.phase == "before":
            return self.before
        return self.after if item.phase == "after" else self.others

    def _mark(self, item: Labelled, message: int, weight: float) -> JsonObject:
        mark: JsonObject = {"message": message, "phase": item.phase, "mistake": item.mistake, "weight": weight}
        if self.labels:
            events = [event for step in item.turn.steps for event in step.events]
            mark["events"] = [{"label": event.label, "use": event.use, "layer": event.layer} for event in events]
        return mark

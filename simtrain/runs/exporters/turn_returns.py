"""Turns with their mean returns: how much each message was worth in its place, from episodes that begin alike."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pydantic import Field

from simtrain.contracts.trajectory import Trajectory
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS, ChatRows, opening, spoken
from simtrain.runs.trees import TreeChoice, TreePlace, trees
from simtrain.values.types import JsonObject


class TurnReturns(ChatRows):
    """One row per message in each place of a tree: the messages before it, its mean return, and its siblings with theirs.

    Branches of a fork, and attempts at one case, are one tree as long as what was said and replied is the same. `return` is the mean
    reward of the `leaves` episodes in which the message was sent there, `advantage` the same less the mean of the place. For
    preference or advantage training by steps.
    """

    only: Literal["all", "siblings"] = Field("all", description="`siblings`: only where several messages were sent.")

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield the rows of a tree with one episode."""
        return self.over([trajectory])

    def lacking(self, trajectory: Trajectory) -> str | None:
        if trajectory.reward is None:
            return "without a reward"
        return None if spoken(trajectory) else NO_WORDS

    def over(self, trajectories: Iterable[Trajectory]) -> Iterator[JsonObject]:
        """Yield the rows, tree by tree. All trajectories are held in memory."""
        for tree in trees(one for one in trajectories if one.reward is not None):
            names = names_of(tree.leaves[0])
            for place in tree.walk():
                choices = [choice for choice in place.choices if choice.turn.text or choice.turn.steps]
                if self.only == "all" or len(choices) > 1:
                    yield from self._at(place, choices, names)

    def _at(self, place: TreePlace, choices: Sequence[TreeChoice], names: dict[str, str]) -> Iterator[JsonObject]:
        one = place.leaves[0]
        before = [*opening(one), *self.history(place.seen, names)]
        key: JsonObject = {"scenario": one.scenario, "episode": one.episode, "seed": one.seed, "turn": place.depth}
        tools: JsonObject = {"tools": definitions(one, names)} if one.tools else {}
        worth = [self._worth(choice, names) for choice in choices]
        for choice, row in zip(choices, worth, strict=True):
            yield {
                "prompt": before,
                **row,
                "advantage": place.advantage(choice),
                "siblings": [other for other in worth if other is not row],
                **tools,
                **key,
            }

    def _worth(self, choice: TreeChoice, names: dict[str, str]) -> JsonObject:
        return {
            "completion": [self.message(choice.turn, names)],
            "return": choice.mean_return,
            "leaves": len(choice.rewards),
        }

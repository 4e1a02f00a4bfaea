"""Fiction: questions about an invented world, answered by searching and reading the web that tells of it."""

from collections.abc import Sequence
from typing import ClassVar

from simtrain.contracts.environment import Environment
from simtrain.contracts.plan import Plan
from simtrain.contracts.question import Question
from simtrain.contracts.scenario import Episode
from simtrain.contracts.world import World
from simtrain.episodes.proxy import Proxy
from simtrain.questions.browser import texts
from simtrain.questions.solving import plan_in
from simtrain.scenarios.paradigms.impersonation import Impersonation
from simtrain.values.errors import InputError
from simtrain.values.types import Action
from simtrain.worlds.search.state import SearchState


class Fiction(Impersonation):
    """Every question is an episode. The oracle's plan for it is found through the world's own search engine."""

    plans: ClassVar[bool] = True

    def open(self, episode: Episode, *, world: World | None = None) -> Environment:
        """Return the proxy over a fresh state of the world, whose snippets may hide the answer of the question."""
        opened = super().open(episode, world=world)
        question = Question.model_validate(episode.case)
        if isinstance(opened, Proxy) and isinstance(opened.state, SearchState):
            gold = question.gold(episode.scenario.source.build(episode.variant).query)
            opened.state.conceal((cell for row in gold for cell in row.values()), question=question.id)
        return opened

    def reference(self, episode: Episode) -> Plan | None:
        """Return the scenario's own plan, else the one found for the question. Raises InputError if the answer cannot
        be reached.
        """
        own = super().reference(episode)
        if own is not None:
            return own
        question = Question.model_validate(episode.case)
        with episode.scenario.document.locating(("cases", "questions")):
            return plan_in(episode.scenario.source.build(episode.variant), question)

    def detour(self, episode: Episode, lost: Sequence[Action]) -> Plan | None:
        """Return a plan that reads the same on other pages, found by other searches; None if no page in reach states it."""
        if episode.scenario.spec.reference is not None:
            return None
        world, question = episode.scenario.source.build(episode.variant), Question.model_validate(episode.case)
        # Pages and queries of the lost calls: a detour must do without all of them.
        named = frozenset(text for call in lost for _, text in texts(call.arguments))
        try:
            return plan_in(world, question, without=named)
        # There is no other page: the caller goes on with the plan that it has.
        except InputError:
            return None

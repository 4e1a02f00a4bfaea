"""A plausible wrong number."""

from collections.abc import Iterator
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.world import WorldState
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.figures import WrongFigure, figures_in, figures_in_text, misspelt, off, spoken
from simtrain.perturbations.reply_edits import at, content_of, leaves, put, respoken, respoken_within, rewritten
from simtrain.values.types import JsonValue, Observation


class ValueCorruption(WrongFigure, ReplyPerturbation):
    """One number of a reply is 10 to 25 % off, in structured content and text: never an id, date or page number.

    Source: ToolMaze, ToolBench-X, BENCH2ROBUST. An agent should look up an important number elsewhere. The same call
    again returns the truth, unless this fires again. Errors, and replies without such a number, pass.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="D", visible=False, recoverable_by=("cross-check",), shell=True, page=True
    )

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the reply with one of its numbers changed."""
        share = self.share(call.rng)
        content = content_of(reply)
        if content is None:
            return self._misspoken(reply, call.rng.shuffled(figures_in_text(reply.text)), share)
        tool = call.request.tool
        for other, words, world in self._attempts(call, content, share):
            found = rewritten(reply, other, tool=tool, source=self.source, words=words, world=world)
            if found is not None:
                return found
        return reply

    def _attempts(
        self, call: Call, content: JsonValue, share: float
    ) -> Iterator[tuple[JsonValue, dict[str, str], WorldState | None]]:
        """Yield the content with one figure off by a share, up or down, and the words to change along; then with
        one number of its prose changed.
        """
        for path in call.rng.shuffled(list(figures_in(content, fields=tuple(self.fields)))):
            right = at(content, path)
            # The other direction as well: a bound of the output schema may forbid one of them.
            for wrong in (off(right, share), off(right, -share)):
                if wrong is not None:
                    yield put(content, path, wrong), dict(zip(spoken(right), spoken(wrong), strict=False)), None
        # Not URLs: a changed number in one is a dead link, not a wrong fact.
        prose = "\n".join(
            leaf for _, leaf in leaves(content) if isinstance(leaf, str) and "://" not in leaf.split(" ")[0]
        )
        for token, wrong in _misspellings(call.rng.shuffled(figures_in_text(prose)), share):
            yield respoken_within(content, {token: wrong}), {token: wrong}, call.world

    def _misspoken(self, reply: Observation, tokens: list[str], share: float) -> Observation:
        """Return a prose reply with one of its numbers off by a share."""
        words = next(_misspellings(tokens, share), None)
        return reply if words is None else self.reworded(reply, respoken(reply.text, dict([words])), reply.content)


def _misspellings(tokens: list[str], share: float) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a text as written, each with a wrong one off by a share."""
    for token in tokens:
        wrong = misspelt(token, share)
        if wrong is not None:
            yield token, wrong

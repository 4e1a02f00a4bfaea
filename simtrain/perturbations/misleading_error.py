"""An error that suggests the wrong cure."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.pools import texts
from simtrain.perturbations.worded_refusal import WordedRefusal


class MisleadingError(WordedRefusal):
    """The service is briefly down; its error blames an argument or another tool, and suggests a wrong fix.

    Source: ToolMaze, ToolMisuseBench. An agent should ignore the hint and make the same call again, a bounded number of
    times.
    """

    traits: ClassVar[Traits] = Traits(side="call", layer="M", recoverable_by=("retry",), shell=True, page=True)
    task: ClassVar[str] = """\
You write the error messages of a service whose hints are wrong. Write one that says what `meaning` says, in your own words and to
fit the call. It holds the text of `claim` as it stands."""

    def template(self, call: Call) -> tuple[str, str]:
        """Return a hint from the pool about an argument of the call; about the call itself where it has none."""
        # Sorted: the same call with its arguments in another order must draw the same hint.
        arguments = sorted(call.request.arguments)
        kind = "about_arguments" if arguments else "about_calls"
        hint = call.rng.choose(texts(self.source, kind))
        claim = call.rng.choose(arguments) if arguments else call.request.tool.name
        return hint.format(name=claim), claim

"""The reference server `sequential-thinking`: thoughts and branches, kept in the memory of its process."""

from collections.abc import Mapping
from pathlib import Path

from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.types import JsonObject


def thought(draw: Draw, number: int) -> JsonObject:
    """Return a thought with this number, and a total that is drawn."""
    total = max(1, number + draw.integer(-2, 5))
    needed = draw.chance(0.8)
    return {"thought": draw.words(), "nextThoughtNeeded": needed, "thoughtNumber": number, "totalThoughts": total}


class SequentialThinking(Subject):
    """Kinds of values: `thought` the number of one, `branch` the name of one."""

    tables = ("thoughts",)
    calls = Path(__file__).with_suffix(".yaml")
    helpers = (thought,)

    # Thoughts cannot be deleted, so each sequence needs a new process.
    restart = True

    def environment(self, root: Path) -> Mapping[str, str]:
        """Return an environment that stops the server from drawing boxes on stderr."""
        return {"DISABLE_THOUGHT_LOGGING": "true"}

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note the number of the thought, and the existing branches."""
        content: JsonObject = reply["structuredContent"]
        past.note("thought", content["thoughtNumber"])
        past.note("branch", *content["branches"])

"""Request replies in a given format: parse them strictly, and ask again with a note about the error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeVar

from simtrain.llm.client import ChatClient
from simtrain.llm.completion import whole
from simtrain.values.errors import ModelFault
from simtrain.values.types import JsonObject, Usage

Found = TypeVar("Found")

TRIES = 2


@dataclass
class StrictReplies:
    """Asks one model for replies in a strict format; `usage` and `attempts` are totals over all requests."""

    client: ChatClient
    sampling: JsonObject
    lacking: str
    """What is missing, for the error message: `the judge gave no rating`."""
    tries: int = TRIES
    again: str = "That cannot be read: {problem}. Reply with the JSON object alone."
    """What is said to the model about a reply that cannot be used."""
    usage: Usage = field(default_factory=Usage)
    attempts: int = 0
    problem: str = ""
    """What was wrong with the last reply."""

    async def ask(self, messages: Sequence[JsonObject], read: Callable[[str], Found]) -> Found:
        """Return the result of `read` on a reply; it raises ValueError, with the reason, for an unreadable one.

        Raises ModelFault if the model cannot be reached, or no reply can be read.
        """
        sent = list(messages)
        for _ in range(self.tries):
            completion = await self.client.complete(sent, **self.sampling)
            self.usage += completion.usage or Usage()
            self.attempts += completion.attempts
            try:
                return read(whole(completion))
            except ValueError as error:
                self.problem = str(error)
            reply = [{"role": "assistant", "content": completion.text}] if completion.text else []
            # Only the latest attempt goes back: earlier ones would cost tokens and repeat the same mistake.
            sent = [*messages, *reply, {"role": "user", "content": self.again.format(problem=self.problem)}]
        raise ModelFault(f"{self.lacking} that can be read: {self.problem}")


def fenced_off(system: str, data: str, **fields: object) -> list[JsonObject]:
    """Return messages that show a model `data` as data, not as instructions: between two boundary lines that the
    system prompt names (`boundary`).
    """
    # The data cannot contain the boundary, which is derived from the data.
    boundary = f"=== {blake2b(data.encode('utf-8', 'replace'), digest_size=12).hexdigest()} ==="
    return [
        {"role": "system", "content": system.format(boundary=boundary, **fields)},
        {"role": "user", "content": f"{boundary}\n{data}\n{boundary}"},
    ]

"""Requests for a reply of a given form: it is read strictly, and requested once more with a note on what is wrong."""

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
    """Replies of one model that are read strictly; `usage` and `attempts` sum up what they took."""

    client: ChatClient
    sampling: JsonObject
    lacking: str
    """What the error says is missing: `the judge gave no rating`."""
    usage: Usage = field(default_factory=Usage)
    attempts: int = 0

    async def ask(self, messages: Sequence[JsonObject], read: Callable[[str], Found]) -> Found:
        """Return what `read` makes of a reply; it raises ValueError, saying what is wrong, for one that cannot be read.

        Raises ModelFault when the model cannot be reached, or no reply can be read.
        """
        problem, sent = "", list(messages)
        for _ in range(TRIES):
            completion = await self.client.complete(sent, **self.sampling)
            self.usage += completion.usage or Usage()
            self.attempts += completion.attempts
            try:
                return read(whole(completion))
            except ValueError as error:
                problem = str(error)
            reply = [{"role": "assistant", "content": completion.text}] if completion.text else []
            again = f"That cannot be read: {problem}. Reply with the JSON object alone."
            sent = [*messages, *reply, {"role": "user", "content": again}]
        raise ModelFault(f"{self.lacking} that can be read: {problem}")


def fenced_off(system: str, data: str, **fields: object) -> list[JsonObject]:
    """Return the messages that show a model `data` which is not an instruction: between two lines that the system
    prompt names (`boundary`).
    """
    # The data cannot hold the boundary, since it decides what the boundary is.
    boundary = f"=== {blake2b(data.encode('utf-8', 'replace'), digest_size=12).hexdigest()} ==="
    return [
        {"role": "system", "content": system.format(boundary=boundary, **fields)},
        {"role": "user", "content": f"{boundary}\n{data}\n{boundary}"},
    ]

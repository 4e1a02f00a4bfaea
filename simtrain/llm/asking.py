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
    """Strictly parsed replies of one model; `usage` and `attempts` are totals over all of them."""

    client: ChatClient
    sampling: JsonObject
    lacking: str
    """What is missing, for the error message: `the judge gave no rating`."""
    usage: Usage = field(default_factory=Usage)
    attempts: int = 0

    async def ask(self, messages: Sequence[JsonObject], read: Callable[[str], Found]) -> Found:
        """Return the result of `read` on a reply; it raises ValueError, with the reason, for an unreadable one.

        Raises ModelFault if the model cannot be reached, or no reply can be read.
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
    """Return messages that show a model `data` as data, not as instructions: between two boundary lines that the
    system prompt names (`boundary`).
    """
    # The data cannot contain the boundary, which is derived from the data.
    boundary = f"=== {blake2b(data.encode('utf-8', 'replace'), digest_size=12).hexdigest()} ==="
    return [
        {"role": "system", "content": system.format(boundary=boundary, **fields)},
        {"role": "user", "content": f"{boundary}\n{data}\n{boundary}"},
    ]

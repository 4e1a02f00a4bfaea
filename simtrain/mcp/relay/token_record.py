"""What is asked of a chat server for its token ids, what is taken out of its replies again, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simtrain.llm.token_ids import ASKED_OF_CHAT, ASKED_OF_COMPLETIONS, ids_in, read_tokens
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

_CHAT = "/chat/completions"
_IDS = ("prompt_token_ids", "token_ids")


def asks_for(path: str) -> JsonObject | None:
    """Return the fields that ask for ids at a path; None for a path where a model writes nothing."""
    if path.endswith(_CHAT):
        return ASKED_OF_CHAT
    return ASKED_OF_COMPLETIONS if path.endswith("/completions") else None


@dataclass
class TokenRecord:
    """One request: whose it is, and the tokens of its reply, gathered from a document or from the events of a stream.

    `added` are the fields that the request did not have. What they bring is taken out of the reply.
    """

    number: int
    episode: str | None
    path: str
    body: JsonObject
    added: JsonObject
    prompt_ids: tuple[int, ...] = ()
    choices: dict[int, JsonObject] = field(default_factory=dict[int, JsonObject])

    @property
    def complete(self) -> bool:
        """True if the server gave the ids."""
        return any(choice["completion_ids"] for choice in self.choices.values())

    def take(self, data: JsonObject) -> bool:
        """Read a reply, or a part of one, and take out of it what was asked for here. True if that changed it."""
        given: JsonValue = data.get("choices")
        choices = [one for one in given if is_object(one)] if is_list(given) else []
        self.prompt_ids = self.prompt_ids or ids_in(data.get("prompt_token_ids"))
        for choice in choices:
            self._gather(data, choice)
        changed = self._without(data)
        for choice in choices:
            changed |= self._without(choice)
            if "logprobs" in self.added and choice.get("logprobs") is not None:
                choice["logprobs"], changed = None, True
        return changed

    def lines(self) -> Iterator[JsonObject]:
        """Yield what is recorded: a line for each choice. No message, no header and no key is part of it."""
        for index, choice in sorted(self.choices.items()):
            yield {
                "episode": self.episode,
                "request": self.number,
                "choice": index,
                "path": self.path,
                "model": self.body.get("model"),
                "prompt_ids": self.prompt_ids,
                **choice,
            }

    def _gather(self, data: JsonObject, choice: JsonObject) -> None:
        index: JsonValue = choice.get("index")
        kept = self.choices.setdefault(
            index if isinstance(index, int) else 0, {"completion_ids": [], "logprobs": [], "finish_reason": None}
        )
        kept["finish_reason"] = choice.get("finish_reason") or kept["finish_reason"]
        tokens = read_tokens(data, choice)
        if tokens is not None:
            self.prompt_ids = self.prompt_ids or tokens.prompt_ids
            kept["completion_ids"] += tokens.completion_ids
            kept["logprobs"] += tokens.logprobs
        else:
            self.prompt_ids = self.prompt_ids or ids_in(choice.get("prompt_token_ids"))

    def _without(self, part: JsonObject) -> bool:
        if "return_token_ids" not in self.added:
            return False
        found = [name for name in _IDS if name in part]
        for name in found:
            del part[name]
        return bool(found)

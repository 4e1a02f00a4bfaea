"""The fields that request token ids from a chat server, their removal from its replies, and the record of the ids."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from simtrain.llm.token_ids import ASKED_OF_CHAT, ASKED_OF_COMPLETIONS, ids_in, read_tokens
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

_CHAT = "/chat/completions"
_IDS = ("prompt_token_ids", "token_ids")


def asks_for(path: str) -> JsonObject | None:
    """Return the fields that request ids at a path; None for a path where no model writes."""
    if path.endswith(_CHAT):
        return ASKED_OF_CHAT
    return ASKED_OF_COMPLETIONS if path.endswith("/completions") else None


@dataclass
class TokenRecord:
    """One request: its episode, and the tokens of its reply, gathered from a document or from the events of a stream.

    `added` are the fields that the relay added to the request. What they add to the reply is removed again.
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
        """True if the server returned ids."""
        return any(choice["completion_ids"] for choice in self.choices.values())

    def take(self, data: JsonObject) -> bool:
        """Read a reply, or a part of one, and remove what only the relay requested. Return True if that changed it."""
        given: JsonValue = data.get("choices")
        choices = [one for one in given if is_object(one)] if is_list(given) else []
        self.prompt_ids = self.prompt_ids or ids_in(data.get("prompt_token_ids"))
        for choice in choices:
            self._gather(data, choice)
        changed = self._without(data)
        for choice in choices:
            changed |= self._without(choice)
            if "logprobs" in self.added and choice.get("logprobs") is not None:
                # None and not left out: that is how servers answer a request without logprobs.
                choice["logprobs"], changed = None, True
        return changed

    def lines(self) -> Iterator[JsonObject]:
        """Yield the lines of the record, one for each choice, without any message, header or key."""
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

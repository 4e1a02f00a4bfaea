"""Scripted replies of the fake server: text, tool calls, and every way in which a real server fails."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.values.types import JsonObject, encode


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call. `arguments` given as text are sent verbatim; `id` is generated if it is None."""

    name: str
    arguments: Mapping[str, object] | str = "{}"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """A chat completion. `reasoning_key` is the field with the thinking, whose name differs between servers."""

    text: str | None = None
    calls: Sequence[Tool] = ()
    reasoning: str | None = None
    reasoning_key: str = "reasoning_content"
    finish_reason: str | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 10
    cached_tokens: int = 0

    def body(self, *, model: str, number: int) -> JsonObject:
        """Return the completion in the wire format; `number` makes its ids unique."""
        message: JsonObject = {"role": "assistant", "content": self.text}
        if self.reasoning is not None:
            message[self.reasoning_key] = self.reasoning
        if self.calls:
            message["tool_calls"] = [_wire(call, f"call_{number}_{index}") for index, call in enumerate(self.calls)]
        reason = self.finish_reason or ("tool_calls" if self.calls else "stop")
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            # Fixed, so that replies are the same bytes in every run.
            "created": 1893456000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
            "usage": {
                "prompt_tokens": self.prompt_tokens,
                "completion_tokens": self.completion_tokens,
                "total_tokens": self.prompt_tokens + self.completion_tokens,
                "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
            },
        }


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error status with an error body in the wire format.

    `retry_after` is the literal header, seconds or an HTTP date; `date` is the Date header.
    """

    status: int
    message: str = "refused by the script"
    code: str | None = None
    retry_after: str | None = None
    date: str | None = None

    def body(self) -> JsonObject:
        """Return the error object in the wire format."""
        return {"error": {"message": self.message, "type": "server_error", "param": None, "code": self.code}}

    def headers(self) -> str:
        """Return the additional header lines."""
        given = {"Retry-After": self.retry_after, "Date": self.date}
        return "".join(f"{name}: {value}\r\n" for name, value in given.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Hang:
    """No reply; the connection stays open until the client gives up."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """A closed connection: in the middle of the body, or before the first byte if `mid_body` is false."""

    mid_body: bool = True


@dataclass(frozen=True, slots=True)
class Garbage:
    """A reply with status 200 and these bytes as its body."""

    body: bytes = b'{"choices": [{"message": '


Reply: TypeAlias = Say | Refuse | Hang | Disconnect | Garbage


def by_turn(replies: Sequence[Reply]) -> Callable[[JsonObject], Reply]:
    """Return a script for any number of concurrent episodes: the number of assistant messages so far selects the reply.

    The last reply is repeated if there are more turns than replies.
    """

    def choose(request: JsonObject) -> Reply:
        turn = sum(1 for message in request["messages"] if message["role"] == "assistant")
        return replies[min(turn, len(replies) - 1)]

    return choose


def _wire(call: Tool, made_up: str) -> JsonObject:
    arguments = call.arguments if isinstance(call.arguments, str) else encode(dict(call.arguments))
    return {"id": call.id or made_up, "type": "function", "function": {"name": call.name, "arguments": arguments}}

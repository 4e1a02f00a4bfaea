"""What the fake server can be told to answer: words, tool calls, and every way in which a real server fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.values.types import JsonObject, encode


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call. `arguments` given as text are sent exactly so; `id` is made up when there is none."""

    name: str
    arguments: Mapping[str, object] | str = "{}"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """A chat completion. `reasoning_key` is the field that carries the thinking: vLLM and SGLang differ."""

    text: str | None = None
    calls: Sequence[Tool] = ()
    reasoning: str | None = None
    reasoning_key: str = "reasoning_content"
    finish_reason: str | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 10
    cached_tokens: int = 0

    def body(self, *, model: str, number: int) -> JsonObject:
        """Return the completion as the wire has it; `number` makes its ids unique."""
        message: JsonObject = {"role": "assistant", "content": self.text}
        if self.reasoning is not None:
            message[self.reasoning_key] = self.reasoning
        if self.calls:
            message["tool_calls"] = [_wire(call, f"call_{number}_{index}") for index, call in enumerate(self.calls)]
        reason = self.finish_reason or ("tool_calls" if self.calls else "stop")
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
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
    """An error status with the error body of the wire.

    `retry_after` is the literal header, seconds or an HTTP date; `date` is the Date header.
    """

    status: int
    message: str = "refused by the script"
    code: str | None = None
    retry_after: str | None = None
    date: str | None = None

    def body(self) -> JsonObject:
        """Return the error object as the wire has it."""
        return {"error": {"message": self.message, "type": "server_error", "param": None, "code": self.code}}

    def headers(self) -> str:
        """Return the header lines beside the usual ones."""
        given = {"Retry-After": self.retry_after, "Date": self.date}
        return "".join(f"{name}: {value}\r\n" for name, value in given.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer at all; the connection stays open until the client gives up."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection is cut: in the middle of the body, or (`mid_body` false) before the first byte."""

    mid_body: bool = True


@dataclass(frozen=True, slots=True)
class Garbage:
    """Status 200 with these bytes as the body."""

    body: bytes = b'{"choices": [{"message": '


Reply: TypeAlias = Say | Refuse | Hang | Disconnect | Garbage


def by_turn(replies: Sequence[Reply]) -> Callable[[JsonObject], Reply]:
    """Return a script for any number of episodes at once: the reply to choose is the number of assistant messages so far.

    The last reply is repeated when there are more turns than replies.
    """

    def choose(request: JsonObject) -> Reply:
        turn = sum(1 for message in request["messages"] if message["role"] == "assistant")
        return replies[min(turn, len(replies) - 1)]

    return choose


def _wire(call: Tool, made_up: str) -> JsonObject:
    arguments = call.arguments if isinstance(call.arguments, str) else encode(dict(call.arguments))
    return {"id": call.id or made_up, "type": "function", "function": {"name": call.name, "arguments": arguments}}

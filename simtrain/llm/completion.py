"""Parse the untrusted JSON replies of OpenAI-compatible servers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from simtrain.llm.token_ids import read_tokens
from simtrain.values.tokens import Tokens
from simtrain.values.types import CUT, JsonObject, JsonValue, Usage, encode, is_list, is_object

_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)
_THINKING = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)


class Malformed(ValueError):
    """Raised for a reply with status 200 that is not a chat completion; a retry may help."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in US dollars per million tokens; cached prompt tokens cost `cached`, or `prompt` if that is None."""

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None

    def of(self, *, prompt: int, completion: int, cached: int) -> float:
        """Return the cost in US dollars of one call; `prompt` includes the cached tokens."""
        rate = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * rate + completion * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` is text, and may not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply of a chat model. `attempts` is the number of requests made, the last one included."""

    text: str
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    usage: Usage | None
    finish_reason: str | None
    attempts: int = 1
    tokens: Tokens | None = None

    @property
    def cut(self) -> bool:
        """True if the reply ended at the token limit, and not by the model's choice."""
        return self.finish_reason == CUT


@dataclass(frozen=True, slots=True)
class ModelRefusal:
    """A server's refusal of a call: its message, and its code if it has one."""

    message: str
    code: str | None = None


def read_error(body: bytes) -> ModelRefusal:
    """Return the refusal in the body of an error status; a body in an unknown form is quoted whole."""
    text = body.decode("utf-8", "replace").strip()
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ModelRefusal(text)
    # Older vLLM servers send the error itself, without the key.
    given = data.get("error", data) if is_object(data) else None
    if isinstance(given, str):
        return ModelRefusal(given)
    if not is_object(given):
        return ModelRefusal(text)
    message, code = given.get("message"), given.get("code")
    return ModelRefusal(
        message if isinstance(message, str) and message else text, code if isinstance(code, str) else None
    )


def read_completion(body: bytes, *, price: Price | None = None, attempts: int = 1) -> Completion:
    """Return the completion in a response body. Raises Malformed if it contains none."""
    data, choice = _answered(body)
    message = _mapping(choice.get("message"))
    written, thought = split_thinking(_text(message.get("content")))
    # Servers differ in the name of this field.
    given = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    return replace(
        _completion(data, choice, written, price, attempts),
        reasoning="\n".join(part for part in (given, thought) if part) or None,
        calls=tuple(_calls(message.get("tool_calls"))),
    )


def read_text_completion(body: bytes, *, price: Price | None = None, attempts: int = 1) -> Completion:
    """Return the completion in a response body of the older `/completions`: the raw text, thinking and calls included.

    Raises Malformed.
    """
    data, choice = _answered(body)
    text = choice.get("text")
    if not isinstance(text, str):
        raise Malformed("the completion has no text")
    return _completion(data, choice, text, price, attempts)


def _completion(data: JsonObject, choice: JsonObject, text: str, price: Price | None, attempts: int) -> Completion:
    """Return a completion with this text alone."""
    reason = choice.get("finish_reason")
    return Completion(
        text=text,
        reasoning=None,
        calls=(),
        usage=_usage(data.get("usage"), price),
        finish_reason=reason if isinstance(reason, str) else None,
        attempts=attempts,
        tokens=read_tokens(data, choice),
    )


def split_thinking(text: str) -> tuple[str, str]:
    """Return the text and the thinking of a reply: `<think>` blocks are removed, also one that is never closed or never opened.

    If the template opens the block in the prompt, the model's text contains only the closing tag.
    """
    # Most replies have no thinking; this runs once for each of them.
    if "think>" not in text:
        return text, ""
    close, opening = text.find("</think>"), text.find("<think>")
    thoughts: list[str] = []
    if close >= 0 and not 0 <= opening < close:
        thoughts.append(text[:close])
        text = text[close + len("</think>") :]
    thoughts += _THINKING.findall(text)
    return _THINKING.sub("", text).strip(), "\n".join(part.strip() for part in thoughts)


def _answered(body: bytes) -> tuple[JsonObject, JsonObject]:
    """Return the reply and its first choice. Raises Malformed."""
    try:
        data = _mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        raise Malformed("the reply is not JSON") from None
    choices = data.get("choices")
    if is_list(choices) and choices:
        return data, _mapping(choices[0])
    error = data.get("error")
    problem = error.get("message") if is_object(error) else error
    raise Malformed(f"the reply has no choices: {problem}" if problem else "the reply has no choices")


def _mapping(value: JsonValue) -> JsonObject:
    if not is_object(value):
        raise Malformed("the reply is not shaped like a chat completion")
    return value


def _text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not is_list(content):
        raise Malformed("the content of the message is not text")
    # Some servers answer with a list of parts, as requests may hold them.
    parts = [part.get("text") for part in content if is_object(part) and part.get("type") == "text"]
    return "".join(part for part in parts if isinstance(part, str))


def _calls(value: JsonValue) -> Sequence[ToolCall]:
    if value is None:
        return ()
    if not is_list(value):
        raise Malformed("tool_calls is not a list")
    return [_call(_mapping(item), index) for index, item in enumerate(value)]


def _call(item: JsonObject, index: int) -> ToolCall:
    function = _mapping(item.get("function"))
    name, arguments, given = function.get("name"), function.get("arguments"), item.get("id")
    if not isinstance(name, str):
        raise Malformed("a tool call has no name")
    # Ollama and some proxies send the arguments as an object; an absent or empty text means no arguments.
    try:
        text = arguments if isinstance(arguments, str) else "" if arguments is None else encode(arguments)
    except orjson.JSONEncodeError:
        raise Malformed("the arguments of a tool call are nested too deeply") from None
    return ToolCall(
        given if isinstance(given, str) and given else f"call_{index}", name, text if text.strip() else "{}"
    )


def _usage(value: JsonValue, price: Price | None) -> Usage | None:
    if not is_object(value):
        return None
    details = value.get("prompt_tokens_details")
    prompt, completion = _count(value.get("prompt_tokens")), _count(value.get("completion_tokens"))
    known = details.get("cached_tokens") if is_object(details) else 0
    # More cached than prompt tokens, which some server may claim, would make the cost negative.
    cached = min(_count(known), prompt)
    cost = price.of(prompt=prompt, completion=completion, cached=cached) if price else 0.0
    return Usage(prompt, completion, cached, cost)


def _count(value: JsonValue) -> int:
    # Servers send null, floats or -1 where they do not count.
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


CUT_OFF = "it was cut off at the token limit (max_tokens)"
"""The error message for a reply that ended at the token limit."""


def whole(completion: Completion) -> str:
    """Return the text of a complete reply. Raises ValueError for one that was cut off."""
    if completion.cut:
        raise ValueError(CUT_OFF)
    return completion.text


def json_object(text: str) -> JsonObject:
    """Return the JSON object that a reply consists of, fenced or bare. Raises ValueError with the reason for any other text."""
    fenced = _FENCE.match(text.strip())
    try:
        value: JsonValue = orjson.loads(fenced[1] if fenced else text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not is_object(value):
        raise ValueError("it is not a JSON object")
    return value

"""Token ids and logprobs: how to request them from servers, and where each returns them.

vLLM and SGLang take `return_token_ids`: `prompt_token_ids` is next to the choices or in one, `token_ids` in a choice. llama.cpp
gives the id of each token with its logprob, and counts a prompt only by `/tokenize`. SGLang's `meta_info` has both as well.
"""

from collections.abc import Mapping, Sequence

from simtrain.values.tokens import Tokens
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object

ASKED_OF_CHAT: JsonObject = {"return_token_ids": True, "logprobs": True, "top_logprobs": 1}
"""The fields of a chat request that ask for ids and logprobs. llama.cpp gives no logprobs if `top_logprobs` is 0."""

ASKED_OF_COMPLETIONS: JsonObject = {"return_token_ids": True, "logprobs": 1}
"""The same for the older `/completions`."""

_ID = "token_id:"


def read_tokens(data: Mapping[str, JsonValue], choice: Mapping[str, JsonValue]) -> Tokens | None:
    """Return the tokens of a reply's choice, with empty prompt ids if the server does not report them.

    None if the server does not report the completion's ids.
    """
    entries = _entries(choice.get("logprobs"))
    outputs = _outputs(choice.get("meta_info"))
    completion = (
        ids_in(choice.get("token_ids"))
        or ids_in([entry.get("id") for entry in entries])
        or ids_in([_written_id(entry.get("token")) for entry in entries])
        or ids_in([output[1] for output in outputs])
    )
    if not completion:
        return None
    prompt = ids_in(data.get("prompt_token_ids")) or ids_in(choice.get("prompt_token_ids"))
    logprobs = (
        _numbers([entry.get("logprob") for entry in entries])
        or _numbers(as_object(choice.get("logprobs")).get("token_logprobs"))
        or _numbers([output[0] for output in outputs])
    )
    # Log probabilities that do not match the ids one to one belong to other tokens.
    return Tokens(prompt, completion, logprobs if len(logprobs) == len(completion) else ())


def _entries(logprobs: JsonValue) -> Sequence[JsonObject]:
    """Return one object per sampled token."""
    content = as_object(logprobs).get("content")
    return [entry for entry in content if is_object(entry)] if is_list(content) else ()


def _outputs(meta: JsonValue) -> Sequence[Sequence[JsonValue]]:
    """Return SGLang's triples of logprob, id and text."""
    given = as_object(meta).get("output_token_logprobs")
    return [one for one in given if is_list(one) and len(one) >= 2] if is_list(given) else ()


def _written_id(token: JsonValue) -> JsonValue:
    """Return the id in vLLM's `token_id:123` (`return_tokens_as_token_ids`)."""
    digits = token[len(_ID) :] if isinstance(token, str) and token.startswith(_ID) else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


def ids_in(value: JsonValue) -> tuple[int, ...]:
    """Return token ids; empty if the value is not a list of them."""
    if not is_list(value):
        return ()
    found = tuple(one for one in value if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 2**31)
    # All or none: a gap would shift every id after it.
    return found if len(found) == len(value) else ()


def _numbers(value: JsonValue) -> tuple[float, ...]:
    if not is_list(value):
        return ()
    found = tuple(float(one) for one in value if isinstance(one, int | float) and not isinstance(one, bool))
    return found if len(found) == len(value) else ()

"""Check before a run that a server shows its model the tools, and that an episode fits into the model's context."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from simtrain.contracts.journal import Limits
from simtrain.llm.client import ChatClient, WireMessage
from simtrain.llm.retries import REFUSED, ModelError
from simtrain.llm.token_ids import ASKED_OF_CHAT, ASKED_OF_COMPLETIONS
from simtrain.llm.tokenizing import tokenized
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_object

# vLLM and SGLang; OpenRouter, Together and LM Studio; Groq; Mistral; llama.cpp (under `meta`).
_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """The input of a model's first turn: messages or a text, the tools on the wire, and the limits of what may follow."""

    scenario: str
    messages: Sequence[WireMessage] | str
    tools: orjson.Fragment | None
    tool_count: int
    limits: Limits


async def check_token_ids(client: ChatClient, opening: FirstPrompt, sampling: JsonObject) -> None:
    """Refuse, with an InputError, a server that does not tell the ids of the tokens that it samples."""
    remedy = "serve the model with vLLM, SGLang or llama.cpp, or leave token_ids out"
    try:
        if isinstance(opening.messages, str):
            fields = {**ASKED_OF_COMPLETIONS, **sampling, "max_tokens": 1}
            found = await client.continue_text(await tokenized(client, opening.messages), **fields)
        else:
            asked: JsonObject = {**ASKED_OF_CHAT, **sampling, "max_tokens": 1}
            found = await client.complete(opening.messages, tools=opening.tools, **asked)
    except ModelError as error:
        raise InputError(f"token ids are unavailable: {error}", remedy=remedy, place=opening.scenario) from None
    if found.tokens is None:
        raise InputError(f"{client.server} returns no token ids", remedy=remedy, place=opening.scenario)


async def check_room(client: ChatClient, opening: FirstPrompt, sampling: JsonObject) -> None:
    """Raise InputError if a server shows its model no tools, or its context is too small for the prompt and one reply.

    The server itself counts the prompt's tokens, in a request for a single token. Limits that it does not report go unchecked.
    """
    # OpenAI's reasoning models accept the limit only under this other name.
    limit = "max_completion_tokens" if "max_completion_tokens" in sampling else "max_tokens"
    probe = {**sampling, limit: 1}
    try:
        prompt = await _counted(client, opening.messages, opening.tools, probe)
    except ModelError as error:
        if error.status not in REFUSED:
            raise InputError(str(error), place=opening.scenario) from None
        await _explain(client, opening, probe, error)
        return
    if not prompt:
        return
    if opening.tools is not None:
        without = await _counted(client, opening.messages, None, probe)
        # Less than one token per tool: some chat templates drop the tools silently, and the model would be blamed.
        if without and prompt - without < opening.tool_count:
            raise InputError(
                f"{client.server} does not show {client.model} its tools: the prompt has {prompt:,} tokens with "
                f"{opening.tool_count} tools, and {without:,} without them",
                remedy="serve it with a chat template that lists tools, or play with --with protocol=text",
                place=opening.scenario,
            )
    _check_limits(client, opening, prompt, await _context(client), sampling.get(limit))


def _check_limits(
    client: ChatClient, opening: FirstPrompt, prompt: int, context: int | None, max_tokens: JsonValue
) -> None:
    """Compare the tokens of a prompt with the episode's limits and with the context, if the server reports it."""
    limits, place = opening.limits, opening.scenario
    if limits.tokens is not None and prompt >= limits.tokens:
        raise InputError(
            f"the prompt alone has {prompt:,} tokens; the limit of an episode is {limits.tokens:,}",
            remedy="raise limits.tokens",
            place=place,
        )
    if context is None:
        return
    reply = max_tokens if isinstance(max_tokens, int) else 1
    if prompt + reply > context:
        raise InputError(
            f"a prompt of {prompt:,} tokens and a reply of {reply:,} do not fit into the context of "
            f"{client.model} at {client.server}: {context:,} tokens",
            remedy="serve it with a larger context, or lower max_tokens or the number of tools",
            place=place,
        )
    # Only a warning: most episodes end long before their last turn.
    longest = prompt + limits.turns * reply
    longest = longest if limits.tokens is None else min(longest, limits.tokens)
    if max_tokens is not None and longest > context:
        _log.warning(
            "%s: a prompt of %s tokens and %s turns of %s may outgrow the context of %s: %s tokens; an episode that does fails",
            *(place, f"{prompt:,}", limits.turns, f"{reply:,}", client.model, f"{context:,}"),
        )


async def _counted(
    client: ChatClient, messages: Sequence[WireMessage] | str, tools: orjson.Fragment | None, probe: JsonObject
) -> int:
    """Return the tokens of a prompt; 0 where the server does not count."""
    if isinstance(messages, str):
        completion = await client.continue_text(messages, **probe)
    else:
        completion = await client.complete(messages, tools=tools, **probe)
    return completion.usage.prompt_tokens if completion.usage is not None else 0


async def _explain(client: ChatClient, opening: FirstPrompt, probe: JsonObject, refused: ModelError) -> None:
    """Raise InputError if a server refused the first prompt for its tools or its length; a refusal of the probe itself is ignored."""
    if opening.tools is not None and await _takes_without_tools(client, opening, probe):
        raise InputError(
            f"a call with tools is refused: {refused}",
            remedy="let the server take tools, or play with --with protocol=text",
            place=opening.scenario,
        )
    if "context" in str(refused).lower():
        raise InputError(
            f"the first prompt is refused: {refused}",
            remedy="serve the model with a larger context",
            place=opening.scenario,
        )


async def _takes_without_tools(client: ChatClient, opening: FirstPrompt, probe: JsonObject) -> bool:
    """True if the server accepts the same prompt without tools, which makes the tools the reason for its refusal."""
    try:
        await _counted(client, opening.messages, None, probe)
    except ModelError:
        return False
    return True


async def _context(client: ChatClient) -> int | None:
    """Return the size of the model's context in tokens, from the server's list of models; None if that does not state it."""
    listed = await client.listed()
    named = [entry for entry in listed if entry["id"] == client.model]
    # A server with a single model may accept any model name.
    for entry in named or (listed if len(listed) == 1 else []):
        meta: JsonValue = entry.get("meta")
        facts = {**meta, **entry} if is_object(meta) else entry
        for name in _CONTEXT:
            found: JsonValue = facts.get(name)
            if isinstance(found, int) and found > 0:
                return found
    return None

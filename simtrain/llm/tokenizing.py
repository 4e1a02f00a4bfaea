"""Tokenize text on the server that samples, so that no tokenizer is needed here."""

from collections.abc import Sequence

from orjson import Fragment

from simtrain.llm.client import ChatClient, WireMessage
from simtrain.llm.retries import ModelError
from simtrain.llm.token_ids import ids_in
from simtrain.values.types import JsonObject, as_object


async def tokenized(client: ChatClient, text: str) -> tuple[int, ...]:
    """Return the token ids of a piece of a rendered conversation, special tokens included, by `/tokenize`.

    llama.cpp, vLLM and SGLang have it. Raises ModelError if it fails or returns no ids.
    """
    if not text:
        return ()
    # llama.cpp reads the first three, vLLM and SGLang the others.
    body: JsonObject = {"content": text, "add_special": False, "parse_special": True}
    found = ids_in(
        as_object(await client.ask("/tokenize", {**body, "prompt": text, "add_special_tokens": False})).get("tokens")
    )
    if not found:
        raise ModelError(f"{client.server}: the reply of /tokenize holds no token ids")
    return found


async def chat_prompt_ids(
    client: ChatClient, messages: Sequence[WireMessage], tools: Sequence[JsonObject] | Fragment | None
) -> tuple[int, ...]:
    """Return the ids of a chat's prompt from llama.cpp, whose replies do not contain them. Raises ModelError."""
    body: JsonObject = {"messages": list(messages)} | ({} if tools is None else {"tools": tools})
    prompt = as_object(await client.ask("/apply-template", body)).get("prompt")
    if not isinstance(prompt, str):
        raise ModelError(f"{client.server}: the reply of /apply-template holds no prompt")
    return await tokenized(client, prompt)

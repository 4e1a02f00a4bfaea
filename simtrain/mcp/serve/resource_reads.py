"""Reads of resources and prompts as steps of an episode: from a reply to an observation, and from a perturbed one back to a reply."""

from simtrain.contracts.request import READ
from simtrain.mcp_wire.frames import objects
from simtrain.mcp_wire.handler import INTERNAL_ERROR
from simtrain.mcp_wire.raw_replies import block_text, error_text
from simtrain.values.types import JsonObject, Observation, Provenance, writable


def named(params: JsonObject) -> JsonObject:
    """Return the arguments of a read for its step: the URI, or the prompt's name and arguments."""
    return {key: params[key] for key in ("uri", "name", "arguments") if key in params}


def observed(response: JsonObject, source: str) -> Observation:
    """Return the observation of a reply, `{"result": ...}` or `{"error": ...}`: its texts, one per line.

    Contents that are not text are named in square brackets. `source` is who gave the reply.
    """
    failed = "error" in response
    text = error_text(response["error"]) if failed else "\n".join(map(block_text, _blocks(response["result"])))
    return Observation(writable(text), is_error=failed, provenance=Provenance(source))


def perturbed_reply(method: str, params: JsonObject, observation: Observation, clean: JsonObject | None) -> JsonObject:
    """Return the reply to a perturbed read. `clean` is the reply without perturbations, if there is one.

    Resources and prompts have no error results, so an error is a JSON-RPC error. A perturbed text is all in the first block.
    """
    if observation.is_error:
        return {"error": {"code": INTERNAL_ERROR, "message": observation.text}}
    result: JsonObject = dict(clean["result"]) if clean is not None and "result" in clean else {}
    key = "contents" if method == READ else "messages"
    items = objects(result.get(key))
    first = next((item for item in items if _is_text(item)), None)
    # Blobs stay: a perturbation sees only text.
    others = [item for item in items if not _is_text(item)]
    if method == READ:
        return {"result": {**result, key: [{**(first or {"uri": params["uri"]}), "text": observation.text}, *others]}}
    message = first or {"role": "user", "content": {"type": "text"}}
    content: JsonObject = {**message["content"], "text": observation.text}
    return {"result": {**result, key: [{**message, "content": content}, *others]}}


def _blocks(result: JsonObject) -> list[JsonObject]:
    """Return the contents of a resource, or the contents of a prompt's messages."""
    if "messages" in result:
        return [content for message in objects(result["messages"]) for content in objects([message.get("content")])]
    return objects(result.get("contents"))


def _is_text(item: JsonObject) -> bool:
    return any(isinstance(block.get("text"), str) for block in objects([item.get("content", item)]))

"""The requests that a relay may perturb (tool calls, resource reads, prompts), as frames and as perturbations see them."""

from dataclasses import replace

from simtrain.contracts.request import FILL, READ, Request
from simtrain.mcp.serve.resource_reads import named, observed, perturbed_reply
from simtrain.mcp.serve.tool_results import call_response
from simtrain.mcp_wire.eras import VERSION_KEY
from simtrain.mcp_wire.frames import reply_body
from simtrain.mcp_wire.raw_replies import observation_of
from simtrain.values.types import JsonObject, Observation, as_object
from simtrain.worlds.recorded.replay_index import CALL

PERTURBABLE = frozenset({CALL, READ, FILL})


def name_of(frame: JsonObject) -> str:
    """Return the name of a request: the tool, or the method of a read."""
    method = str(frame["method"])
    return str(as_object(frame.get("params")).get("name")) if method == CALL else method


def arguments_of(frame: JsonObject) -> JsonObject:
    """Return the arguments of a request as perturbations see them."""
    params = as_object(frame.get("params"))
    return as_object(params.get("arguments")) if frame["method"] == CALL else named(params)


def with_request(frame: JsonObject, request: Request) -> JsonObject:
    """Return the frame with the request as perturbations left it; the same object if they did not change it."""
    # The same object lets the transport forward the original bytes, down to white space.
    if name_of(frame) == request.tool.name and arguments_of(frame) == request.arguments:
        return frame
    params = as_object(frame.get("params"))
    called = {"name": request.tool.name, "arguments": request.arguments}
    return {**frame, "params": {**params, **(called if frame["method"] == CALL else request.arguments)}}


def reply_observed(frame: JsonObject, response: JsonObject) -> Observation:
    """Return the observation that perturbations see for a response frame."""
    body = reply_body(response)
    return observation_of(body) if frame["method"] == CALL else replace(observed(body, "server"), provenance=None)


def response(frame: JsonObject, identity: object, observation: Observation, clean: JsonObject | None) -> JsonObject:
    """Return the response frame for a perturbed observation. `clean` is the server's own frame, if there is one."""
    params = as_object(frame.get("params"))
    if frame["method"] == CALL:
        body = call_response(observation)
        made = observation.wire is None
    else:
        body = perturbed_reply(str(frame["method"]), params, observation, None if clean is None else reply_body(clean))
        made = clean is None
    # The modern era requires `resultType`; a server's own reply has it already.
    if made and "result" in body and VERSION_KEY in as_object(params.get("_meta")):
        body = {"result": {**body["result"], "resultType": "complete"}}
    return {"jsonrpc": "2.0", "id": identity, **body}

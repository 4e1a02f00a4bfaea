"""ATIF 1.8, the Agent Trajectory Interchange Format: trajectories out, and back in."""

from collections.abc import Iterator
from typing import cast

import orjson
from pydantic import Field

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.trajectory import Trajectory, from_line, to_line
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

SCHEMA_VERSION = "ATIF-v1.8"

# ATIF name -> name in `Usage`.
_METRICS = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "cached_tokens": "cached_tokens",
    "cost_usd": "cost",
}

# Fields that ATIF has a place for, and wall-clock facts; everything else in a trajectory goes to `extra`.
_PLACED = ("system", "prompt", "turns", "timing")


class Atif(Exporter):
    """ATIF-v1.8 documents, one JSON line each.

    Format: RFC 0001 of the Harbor project,
    https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md. An assistant turn is one agent
    step with its calls and replies. What the format has no place for (reward, key, final state, native tool names) is
    under `extra.simtrain`, from which `from_atif` restores the trajectory. No wall-clock times are written; virtual
    time is in the `extra` of each result.
    """

    labels: bool = Field(
        False, description="Keep which perturbations fired, and the reply without them. Never show them to an agent."
    )

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield one row."""
        record = orjson.loads(to_line(trajectory))
        names = names_of(trajectory)
        steps = [*_opening(record), *(self._turn(turn, names) for turn in record["turns"])]
        steps = [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]
        agent: JsonObject = record["agent"]
        row: JsonObject = {
            "schema_version": SCHEMA_VERSION,
            "session_id": trajectory.scenario_digest,
            "trajectory_id": "/".join(str(part) for part in trajectory.key),
            "agent": {
                "name": str(agent.get("name") or "agent"),
                "version": trajectory.version or "unknown",
                "model_name": agent.get("model"),
                "tool_definitions": definitions(trajectory, names),
            },
            "steps": steps,
            "final_metrics": {f"total_{key}": value for key, value in _metrics(record["usage"]).items()}
            | {"total_steps": len(steps)},
            "extra": {
                "simtrain": {key: value for key, value in record.items() if key not in _PLACED} | {"tool_names": names}
            },
        }
        yield _without_none(row)

    def _turn(self, turn: JsonObject, names: dict[str, str]) -> JsonObject:
        steps = turn["steps"]
        written: JsonObject = {"source": "agent", "message": turn["text"], "reasoning_content": turn["reasoning"]}
        if turn["usage"] is not None:
            written |= {"llm_call_count": 1, "metrics": _metrics(turn["usage"])}
        if turn["finish_reason"] is not None:
            written["extra"] = {"simtrain": {"finish_reason": turn["finish_reason"]}}
        if steps:
            written["tool_calls"] = [_call(step["action"], names) for step in steps]
            written["observation"] = {"results": [self._result(step) for step in steps]}
        return written

    def _result(self, step: JsonObject) -> JsonObject:
        observation = step["observation"]
        kept = {key: value for key, value in observation.items() if key != "text"}
        extra: JsonObject = {"index": step["index"], "clock": step["clock"], "observation": kept}
        if self.labels:
            extra["events"] = step["events"]
        return {"source_call_id": step["action"]["id"], "content": observation["text"], "extra": {"simtrain": extra}}


def from_atif(row: JsonObject) -> Trajectory:
    """Return the trajectory in a row that `Atif` wrote, without `timing`, and without perturbation events unless `labels` was set.

    Raises InputError for an ATIF document that does not come from simtrain.
    """
    try:
        kept = row["extra"]["simtrain"]
        native = {wire: name for name, wire in kept["tool_names"].items()}
        steps = row["steps"]
        record = {key: value for key, value in kept.items() if key != "tool_names"} | {
            "system": next((step["message"] for step in steps if step["source"] == "system"), ""),
            "prompt": next(step["message"] for step in steps if step["source"] == "user"),
            "turns": [_turn_back(step, native) for step in steps if step["source"] == "agent"],
        }
    except (KeyError, TypeError, StopIteration) as error:
        raise InputError(f"not an ATIF document written by simtrain: {error!r} is missing") from None
    # Through the reader of run folders, which validates the record.
    return from_line(orjson.dumps(record))


def _opening(record: JsonObject) -> Iterator[JsonObject]:
    if record["system"]:
        yield {"source": "system", "message": record["system"]}
    yield {"source": "user", "message": record["prompt"]}


def _metrics(usage: JsonObject | None) -> JsonObject:
    return {metric: usage[name] for metric, name in _METRICS.items()} if usage else {}


def _call(action: JsonObject, names: dict[str, str]) -> JsonObject:
    call: JsonObject = {
        "tool_call_id": action["id"],
        "function_name": names[action["tool"]],
        "arguments": action["arguments"],
    }
    if action["malformed"] is not None:
        call["extra"] = {"simtrain": {"malformed": action["malformed"]}}
    return call


def _turn_back(step: JsonObject, native: dict[str, str]) -> JsonObject:
    # Absent keys are read as null: they were dropped when the row was written.
    metrics = step.get("metrics")
    calls = cast(list[JsonObject], step.get("tool_calls") or [])
    observation = cast(JsonObject, step.get("observation") or {"results": []})
    kept = cast(JsonObject, step.get("extra") or {"simtrain": {}})
    return {
        "text": step["message"],
        "reasoning": step.get("reasoning_content"),
        "usage": {name: metrics[metric] for metric, name in _METRICS.items()} if metrics else None,
        "steps": [_step_back(call, result, native) for call, result in zip(calls, observation["results"], strict=True)],
        "finish_reason": kept["simtrain"].get("finish_reason"),
    }


def _step_back(call: JsonObject, result: JsonObject, native: dict[str, str]) -> JsonObject:
    extra = result["extra"]["simtrain"]
    kept = cast(JsonObject, call.get("extra") or {"simtrain": {}})
    return {
        "index": extra["index"],
        "action": {
            "id": call["tool_call_id"],
            "tool": native[call["function_name"]],
            "arguments": call["arguments"],
            "malformed": kept["simtrain"].get("malformed"),
        },
        "observation": {"text": result["content"], **extra["observation"]},
        "clock": extra["clock"],
        "events": extra.get("events", []),
    }


def _without_none(row: JsonObject) -> JsonObject:
    """Drop null values, as ATIF does; only for keys of the format, never in JSON that came from a world."""
    agent = {key: value for key, value in row["agent"].items() if value is not None}
    steps = [{key: value for key, value in step.items() if value is not None} for step in row["steps"]]
    return row | {"agent": agent, "steps": steps}

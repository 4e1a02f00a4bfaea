"""Build the agent that a command line names."""

from collections.abc import Mapping
from typing import cast

from simtrain.contracts.agent import Agent
from simtrain.contracts.registry import known, resolve
from simtrain.files.yaml_files import validated
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonValue

_NAMED = {"chat": "model", "mcp": "command"}
"""Plug-ins whose name may be followed by a colon and the value of this knob."""


def build_agent(name: str, knobs: Mapping[str, JsonValue] | None = None) -> Agent:
    """Return the agent for a name: a plug-in (`resilient`), `chat:MODEL`, `mcp:COMMAND`, or `package.module:attribute`.

    See `simtrain.agents.import_agent` for what the attribute may be.
    Raises InputError for an unknown name, and for knobs that the agent does not have.
    """
    given = dict(knobs or {})
    plugin, colon, rest = name.partition(":")
    if name in known("agents"):
        return _build(name, given)
    if colon and plugin in _NAMED:
        return _build(plugin, {_NAMED[plugin]: rest, **given})
    if colon:
        from simtrain.agents.import_agent import import_agent

        return import_agent(plugin, rest, knobs=given)
    raise InputError(
        f"unknown agent {name!r}",
        remedy=f"{nearest(name, known('agents'))} (or chat:MODEL, mcp:COMMAND, or package.module:attribute)",
    )


def _build(name: str, knobs: dict[str, JsonValue]) -> Agent:
    return validated(cast(type[Agent], resolve("agents", name)), knobs, place=f"agent {name}")

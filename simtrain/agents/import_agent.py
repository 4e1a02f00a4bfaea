"""Agents from user code: `--agent package.module:attribute`."""

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from simtrain.agents.function_agent import AgentFunction, FunctionAgent
from simtrain.contracts.agent import Agent, Loop, Policy
from simtrain.files.yaml_files import validated
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonValue

_FORMS = (
    "it may be a simtrain Agent, an async function (prompt, tools, step) -> answer, "
    "a function (tools) -> compiled graph, or a compiled LangGraph graph"
)


def import_agent(module: str, attribute: str, *, knobs: Mapping[str, JsonValue] | None = None) -> Agent:
    """Return the agent that a name in a module refers to; modules in the working folder can be imported.

    Raises InputError when the module or name does not exist or cannot be imported, when it is not an agent, and for knobs
    that it does not have.
    """
    name = f"{module}:{attribute}"
    return as_agent(_attribute(_module(module), attribute, name=name), name=name, knobs=knobs)


def as_agent(thing: object, *, name: str | None = None, knobs: Mapping[str, JsonValue] | None = None) -> Agent:
    """Return an object as an agent: an Agent or a subclass of it, an async function, a factory of graphs, or a compiled graph.

    Raises InputError for any other object, and for knobs that the agent does not have.
    """
    shown = name or getattr(thing, "__name__", type(thing).__name__)
    if isinstance(thing, type):
        return _agent(thing, shown, dict(knobs or {}))
    if knobs:
        raise InputError(f"the agent {shown} has no knobs", remedy=f"leave out {', '.join(knobs)}")
    if isinstance(thing, Agent):
        return thing
    if _is_graph(thing):
        from simtrain.agents.graph_agent import GraphAgent

        return GraphAgent(graph=thing)
    return _function(thing, shown)


def _module(module: str) -> object:
    if not module:
        raise InputError("there is no module before the colon", remedy="write package.module:attribute")
    # `python -m` puts the working folder first, the installed command does not.
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(module, error) from None
    except ImportError as error:
        raise InputError(f"the module {module} cannot be imported: {error}") from error
    # A module may do anything when imported, sys.exit included; the command must still end in one line.
    except (Exception, SystemExit) as error:
        raise InputError(f"the module {module} cannot be imported: {type(error).__name__}: {error}") from error


def _missing(module: str, error: ModuleNotFoundError) -> InputError:
    missing = error.name or module
    # The named module itself, or a package above it; else it exists, and something that it imports does not.
    if module == missing or module.startswith(f"{missing}."):
        return InputError(
            f"there is no module {module}", remedy=f"it is looked for in {Path.cwd()} and where Python looks"
        )
    if missing.partition(".")[0] == "langchain":
        return InputError(f"{module} needs LangChain", remedy="pip install 'simtrain[langchain]'")
    return InputError(f"the module {module} needs {missing}, which is not installed")


def _attribute(module: object, attribute: str, *, name: str) -> object:
    found = module
    for part in attribute.split("."):
        if not part or not hasattr(found, part):
            known = [other for other in dir(found) if not other.startswith("_")]
            raise InputError(f"there is no {name}", remedy=nearest(part, known))
        found = getattr(found, part)
    return found


def _agent(kind: type[object], name: str, knobs: dict[str, JsonValue]) -> Agent:
    if not issubclass(kind, Agent):
        raise InputError(f"{name} is not an agent but a class that does not extend Agent", remedy=_FORMS)
    if inspect.isabstract(kind) or not issubclass(kind, Policy | Loop):
        raise InputError(f"{name} cannot play", remedy="subclass Policy and write `player`, or Loop and write `run`")
    return validated(kind, knobs, place=f"agent {name}")


def _is_graph(thing: object) -> bool:
    # User code that made a graph has imported LangGraph; importing it here only to rule a graph out would be slow.
    if "langchain_core.runnables" not in sys.modules:
        return False
    from langchain_core.runnables import Runnable

    return isinstance(thing, Runnable)


def _function(thing: object, name: str) -> Agent:
    # By name: the check must not import LangGraph for an agent that is no graph.
    if type(thing).__name__ == "StateGraph":
        raise InputError(f"{name} is a graph that is not compiled", remedy="name what its compile() returns")
    if not callable(thing):
        raise InputError(f"{name} is not an agent but an object of type {type(thing).__name__}", remedy=_FORMS)
    wanted = _positional(thing)
    if wanted == 1:
        from simtrain.agents.graph_agent import GraphAgent

        return GraphAgent(graph=thing)
    if wanted == 3 and _is_async(thing):
        return FunctionAgent(function=cast(AgentFunction, thing))
    kind = "an async function" if _is_async(thing) else "a function"
    raise InputError(f"{name} is not an agent but {kind} {_signature(thing)}", remedy=_FORMS)


def _is_async(thing: Callable[..., object]) -> bool:
    # An object whose class has an async __call__ is as good as an async function.
    return inspect.iscoroutinefunction(thing) or inspect.iscoroutinefunction(getattr(thing, "__call__", None))  # noqa: B004


def _positional(function: Callable[..., object]) -> int | None:
    """Return the number of required positional arguments of a function; None if its signature is unavailable."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds and parameter.default is inspect.Parameter.empty for parameter in parameters)


def _signature(function: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(...)"

"""simtrain: train, drill and test LLM agents in simulated environments.

The public face: `load_scenario`, `open_episode`, `Sessions`, `rollout`, `rollout_tree`, `run`, `drill`, `climb`, `grade`, `export`, and
`as_agent` for an agent of your own.
Everything is imported when it is first used.
"""

# Not typing's: to import it takes as long as Python needs to start, and until then Ctrl-C would end in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from simtrain.public import (
        Session,
        Sessions,
        as_agent,
        climb,
        drill,
        export,
        grade,
        load_scenario,
        load_scenarios,
        open_episode,
        rollout,
        rollout_tree,
        run,
        serve_sessions,
    )
    from simtrain.values.version import VERSION as __version__

__all__ = [
    "Session",
    "Sessions",
    "__version__",
    "as_agent",
    "climb",
    "drill",
    "export",
    "grade",
    "load_scenario",
    "load_scenarios",
    "open_episode",
    "rollout",
    "rollout_tree",
    "run",
    "serve_sessions",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from simtrain.values.version import VERSION

        return VERSION
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("simtrain.public"), name)
    raise AttributeError(f"module 'simtrain' has no attribute {name!r}")

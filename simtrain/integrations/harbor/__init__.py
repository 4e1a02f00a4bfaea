"""Harbor: scenarios as folders of its format, and its environment where there is no Docker. Imports mcp, public and below, and harbor."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simtrain.integrations.harbor.environment import HarborEnvironment as Environment

__all__ = ["Environment"]


def __getattr__(name: str) -> object:
    if name == "Environment":
        # Imported when it is asked for: the package harbor is needed for it alone.
        from simtrain.integrations.harbor.environment import HarborEnvironment

        return HarborEnvironment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

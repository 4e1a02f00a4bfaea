"""Fixtures for pytest, a fake OpenAI-compatible server on a loopback socket, tiny example worlds, and contract checks.

Imports public and below; nothing else imports it. Everything is imported when it is first used.
"""

# Not typing's: pytest loads this package at every start, used or not.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from simtrain.testing.replies import Disconnect, Garbage, Hang, Refuse, Reply, Say, Tool, by_turn
    from simtrain.testing.server import FakeOpenAI, Received, Script

__all__ = [
    "Disconnect",
    "FakeOpenAI",
    "Garbage",
    "Hang",
    "Received",
    "Refuse",
    "Reply",
    "Say",
    "Script",
    "Tool",
    "by_turn",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from importlib import import_module

        place = "server" if name in ("FakeOpenAI", "Received", "Script") else "replies"
        return getattr(import_module(f"simtrain.testing.{place}"), name)
    raise AttributeError(f"module 'simtrain.testing' has no attribute {name!r}")

"""For tests of anything that talks to a model: an OpenAI-compatible server on a real loopback socket. Nothing imports it."""

from __future__ import annotations

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

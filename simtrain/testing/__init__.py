"""A fake OpenAI-compatible server on a loopback socket, tiny example worlds, and contract checks. Nothing else imports it."""

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

"""For tests of anything that talks to a model: an OpenAI-compatible server in this process, on a real loopback socket.

    with FakeOpenAI([Say("", calls=[Tool("orders.search", {"q": "lamp"})]), Say("ANSWER: 12")]) as server:
        client = ChatClient("fake", base_url=server.url)

`python -m simtrain.testing --help` runs the same server in a process of its own, for benchmarks.
"""

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

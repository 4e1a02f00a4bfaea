"""The scenario that tiny models are trained on, and messages as TRL hands them to reward functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

GATE = str(Path(__file__).with_name("gates") / "gate.yaml")
"""Whether one of four gates is open. One look tells; which are open depends on the world's seed."""


def row(case: int = 0, *, world_seed: int = 5, **columns: Any) -> dict[str, Any]:
    """A row of this scenario, without a prompt unless one is given."""
    return {"scenario": GATE, "world_seed": world_seed, "case": case, "seed": 0, "attempt": 0, **columns}


def said(text: str) -> dict[str, Any]:
    """The model's last message."""
    return {"role": "assistant", "content": text}


def calling(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A message with one call."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def replied(name: str, text: str) -> dict[str, Any]:
    """A tool's reply, as TRL writes it down."""
    return {"role": "tool", "name": name, "content": text}

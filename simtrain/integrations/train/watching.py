"""What is told while a recipe is trained: which part is at work, and how far it is."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingWatch:
    """Called as the work goes on: `begin(name, total)` for each part, `step(done, note)` for each unit of it."""

    begin: Callable[[str, int], None] = lambda name, total: None
    step: Callable[[int, str], None] = lambda done, note: None

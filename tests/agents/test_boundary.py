"""An agent knows what it was shown and nothing else: no agent's code reaches the world, the schedule of faults or the gold."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import simtrain.agents

FOLDER = Path(simtrain.agents.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))

CLOSED = (
    "simtrain.worlds", "simtrain.episodes", "simtrain.scenarios", "simtrain.grading", "simtrain.runs", "simtrain.world_models",
    "simtrain.contracts.world", "simtrain.contracts.environment", "simtrain.contracts.request", "simtrain.questions",
    "simtrain.perturbations",
)  # fmt: skip
"""What holds the world's facts, in whole or in part."""
OPEN = ("simtrain.questions.wordings", "simtrain.questions.browser", "simtrain.perturbations.attacks.instruction")
"""How questions are worded, which tools search and open pages, how an instruction in a text reads: what anybody can see."""

FACTS = frozenset({"environment", "world", "state", "changes", "events", "provenance", "bent", "noticeable", "gold"})
"""Attributes that lead from a journal, an episode or a reply to what the agent was not shown."""


def reaches(source: str) -> list[str]:
    """What of the world's facts a module can reach: imports, lazy ones and those for types included, and attributes."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            names = []
        found += [name for name in names if within(name, CLOSED) and not within(name, OPEN)]
        if isinstance(node, ast.Attribute) and node.attr in FACTS:
            found.append(f".{node.attr}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "attrgetter"):
            found += [repr(one.value) for one in node.args if isinstance(one, ast.Constant) and one.value in FACTS]
    return found


def within(name: str, folders: tuple[str, ...]) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for folder in folders)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_no_agent_reads_the_facts_of_the_world(module: Path) -> None:
    assert reaches(module.read_text()) == []


@pytest.mark.parametrize(
    "planted, found",
    [
        ("from simtrain.episodes.proxy import Proxy", ["simtrain.episodes.proxy", "simtrain.episodes.proxy.Proxy"]),
        ("def act():\n    from simtrain.worlds import service", ["simtrain.worlds", "simtrain.worlds.service"]),
        ("from simtrain import worlds", ["simtrain.worlds"]),
        ("import simtrain.questions.sql", ["simtrain.questions.sql"]),
        ("rows = journal.environment.finished()", [".environment"]),
        ("odd = [step.events for step in turn.steps]", [".events"]),
        ("state = getattr(proxy, 'state')", ["'state'"]),
        ("from simtrain.questions.browser import Tooling", []),
        ("seen = [step.observation.text for step in turn.steps]", []),
    ],
)
def test_a_look_at_what_was_not_shown_is_found(planted: str, found: list[str]) -> None:
    assert reaches(planted) == found

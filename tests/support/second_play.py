"""A second play of every step of a perturbed episode, which knows nothing of how the proxy tells what fired.

Each step is played again by an episode without perturbations, on a copy of the state that the perturbed one was in. What the agent
reads, the virtual time that goes by and the contents of all tables are compared here, and held against what the proxy logged.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from simtrain import load_scenario, open_episode, rollout
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.world import WorldState
from simtrain.episodes.proxy import Proxy
from simtrain.scenarios.arms import armed, bundles
from simtrain.values.arm import Arm
from simtrain.values.types import Action, Observation

Asked: TypeAlias = list[tuple[str, dict[str, Any]]]

TASK = "Could you please tell me what `A-1` costs, and then cancel it because they do not need it?"
_TABLES = "select name from sqlite_master where type = 'table' and sql not like 'create virtual%'"


@dataclass
class Checked:
    """What was found: `firings` by label, steps without one, and in `wrong` each step whose log is not what is there."""

    firings: dict[str, int] = field(default_factory=dict[str, int])
    quiet: int = 0
    wrong: list[str] = field(default_factory=list[str])


def check(family: str, *, labels: Iterable[str] = (), part: slice = slice(None), cases: int = 1) -> Checked:
    """Play some cases of a family with each perturbation of the catalogue alone, or a part of them, every step twice."""
    clean = replace(load_scenario(family), perturbations=())
    known = [label for bundle in bundles(clean, ("catalogue",)) for label in bundle.armed][part]
    found = Checked()
    for case in range(cases):
        calls = _script(clean, case)
        for label in labels or known:
            bent = armed(clean, Arm(label, ("catalogue",), (label,)))
            asyncio.run(_replay(clean, bent, case, calls, label, found))
    return found


def _script(scenario: Scenario, case: int) -> Asked:
    """What the oracle calls in the clean episode; its reads are made again at the end."""
    played = asyncio.run(rollout(scenario, "oracle", case=case))
    calls = [(step.action.tool, step.action.arguments) for step in played.steps]
    writing = {tool.name for tool in played.tools if tool.writes}
    return [*calls, *(call for call in calls if call[0] not in writing)]


async def _replay(clean: Scenario, bent: Scenario, case: int, calls: Asked, label: str, found: Checked) -> None:
    perturbed, unbent = open_episode(bent, case=case), open_episode(clean, case=case)
    assert isinstance(perturbed, Proxy)
    differ = [vars(tool) for tool in unbent.tools] != [vars(tool) for tool in perturbed.tools]
    differ = perturbed.asks(TASK) != TASK or differ
    if differ is not bool(perturbed.perturbed):
        found.wrong.append(f"{label}: tools or task differ: {differ}; said to: {perturbed.perturbed}")
    offered = {tool.name for tool in perturbed.tools}
    async with perturbed:
        for index, (tool, arguments) in enumerate(calls):
            if tool not in offered:
                continue
            twin = open_episode(clean, case=case)
            assert isinstance(twin, Proxy)
            twin.state = perturbed.state.fork()
            async with twin:
                action = Action(f"c{index}", tool, arguments)
                perturbed.begin_turn()
                told, there = await perturbed.step(action), await twin.step(action)
                seen = {
                    "clock": perturbed.state.clock.moment != twin.state.clock.moment,
                    "reply": _read(told) != _read(there),
                    "rows": _dump(perturbed.state) != _dump(twin.state),
                }
            logged = [list(event.changed) for event in perturbed.steps[-1].events]
            said = sorted({name for names in logged for name in names} - {"wire"})
            found.firings[label] = found.firings.get(label, 0) + len(logged)
            found.quiet += not logged
            if [] in logged or said != [name for name, differs in seen.items() if differs]:
                found.wrong.append(f"{label}: call {index} of {tool}: logged {logged}, differing {seen}")


def _read(observation: Observation) -> tuple[str, bool, str]:
    """What an agent reads of a reply."""
    return observation.text, observation.is_error, json.dumps(observation.content, sort_keys=True)


def _dump(state: WorldState) -> dict[str, list[str]]:
    """All rows of all tables of a world."""
    names = [str(row["name"]) for row in state.query(_TABLES)]
    own = [name for name in names if not name.startswith(("_simtrain", "sqlite_"))]
    return {name: sorted(repr(row) for row in state.query(f'select rowid as "#", * from "{name}"')) for name in own}

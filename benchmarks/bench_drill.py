"""Cost of a drill: 20 cases, 30 perturbations, 3 severities, a scripted agent; and of perturbations that are armed and never fire."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time

from depot import freeze
from report import Figure, arguments, show

from simtrain import load_scenario
from simtrain.agents.select import build_agent
from simtrain.contracts.scenario import Armed, Scenario, When
from simtrain.drills.page import write_report
from simtrain.drills.plan import plan_drill
from simtrain.drills.report import report_on
from simtrain.perturbations.latency import Latency
from simtrain.public import episode
from simtrain.runs.rollout import rollout
from simtrain.runs.run import run
from simtrain.runs.runner import RunOptions

SCENARIO = "helpdesk/refund"
CASES = 20
SEVERITIES = (0.0, 0.5, 1.0)
USES = ("latency", "transient_error", "truncated_output", "timeout_after", "timeout_before", "type_coercion")
PERTURBATIONS = 30
IDLE = When(probability=1e-9)
BUSY = When(probability=0.999999)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    scenario = load_scenario(SCENARIO)
    played, seconds, reporting = _drill(scenario)
    freeze()
    idle, _ = _armed(scenario, IDLE, options.rounds)
    busy, times = _armed(scenario, BUSY, options.rounds)
    show(
        "drill",
        [
            Figure(
                f"{played:,} episodes: {CASES} cases x {PERTURBATIONS} perturbations x 3 severities", seconds, "s", 40
            ),
            Figure("  of which the report", reporting, "s"),
            Figure("10 perturbations armed and never firing, per step", idle, "ms", 0.1),
            Figure("10 perturbations armed, all firing, per step", busy, "ms", 0.1),
            Figure("  against the same loop without them", times, "times"),
        ],
        as_json=options.json,
    )


def _drill(scenario: Scenario) -> tuple[int, float, float]:
    """Episodes played, CPU seconds in all, and those of the report."""
    before = process_time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pack = folder / "thirty.yaml"
        pack.write_text(_pack())
        plan = plan_drill([scenario], packs=[str(pack)], severities=SEVERITIES, kinds=["alone"], cases=CASES)
        result = run(plan.scenarios, RunOptions("resilient"), folder / "run")
        middle = process_time()
        write_report(report_on(folder / "run"), folder / "run")
    assert result.played == CASES * (1 + PERTURBATIONS * len(SEVERITIES))
    return result.played, process_time() - before, process_time() - middle


def _pack() -> str:
    uses = [
        f"  - {{use: {USES[number % len(USES)]}, as: fault{number}, when: {{tools: '*', probability: 0.4, max_times: 2}}}}"
        for number in range(PERTURBATIONS)
    ]
    return "\n".join(["name: thirty", "perturbations:", *uses]) + "\n"


def _armed(scenario: Scenario, when: When, rounds: int) -> tuple[float, float]:
    """CPU milliseconds that ten perturbations with a trigger add to one step, and how many times as long it takes."""
    ten = tuple(Armed(f"armed{number}", "latency", when, Latency(seconds=0.1)) for number in range(10))
    bare, armed = replace(scenario, perturbations=()), replace(scenario, perturbations=ten)
    # In turn, so that other work on the machine falls on both.
    both = [(asyncio.run(_cpu_of_a_step(bare)), asyncio.run(_cpu_of_a_step(armed))) for _ in range(rounds)]
    without, along = min(one for one, _ in both), min(other for _, other in both)
    return (along - without) * 1000, along / without


async def _cpu_of_a_step(scenario: Scenario) -> float:
    agent, steps = build_agent("oracle"), 0
    dealt = [episode(scenario, case=number % 10, seed=number) for number in range(60)]
    before = process_time()
    for one in dealt:
        steps += len((await rollout(one, agent, name="oracle")).steps)
    return (process_time() - before) / steps


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()

"""The content of run.json: what was run, and enough to run it again."""

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.curricula.stages import Curriculum
from simtrain.runs.run_folder import FORMAT
from simtrain.runs.runner import RunOptions
from simtrain.scenarios.arms import offered_tools, reachable_tools
from simtrain.values.types import JsonObject
from simtrain.values.version import VERSION


def run_facts(
    scenarios: Sequence[Scenario],
    options: RunOptions,
    agent: JsonObject,
    *,
    episodes: int,
    curriculum: Curriculum | None = None,
) -> JsonObject:
    """Return the content of run.json. `agent` holds the agent's own facts; `episodes` is the number dealt.

    Paths are relative to `folder`, the working folder of the run.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "python": platform.python_version(),
        "agent": {**agent, "name": options.agent, "knobs": options.knobs},
        "seed": options.seed,
        **({"seeds": list(scenarios[0].seeds)} if scenarios and scenarios[0].seeds else {}),
        "episodes": episodes,
        "total": options.episodes,
        "attempts": options.attempts,
        "concurrency": options.concurrency,
        "workers": options.workers,
        "sync_every": options.sync_every,
        **({"curriculum": curriculum.facts(episodes=episodes)} if curriculum else {}),
        "folder": str(Path.cwd()),
        "scenarios": [
            {
                "name": scenario.name,
                "digest": scenario.digest,
                "file": str(scenario.document.path),
                "world": {"name": scenario.source.name, "digest": scenario.source.digest},
                **({"domain": scenario.spec.domain} if scenario.spec.domain != "mcp" else {}),
                "state_graders": [grading.label for grading in scenario.grading if grading.grader.of_world],
                "perturbations": {armed.label: armed.use for armed in scenario.perturbations},
                **({"arm": asdict(scenario.arm), "meets": _meets(scenario)} if scenario.arm else {}),
            }
            for scenario in scenarios
        ],
    }


def _meets(scenario: Scenario) -> JsonObject:
    """Return, by perturbation label, the tools whose calls it may meet."""
    offered = offered_tools(scenario)
    return {armed.label: reachable_tools(armed, offered) for armed in scenario.perturbations}

"""Episodes in a search world: a step of the agents that search, LangGraph in the loop and grading included, and of the same calls alone."""

from __future__ import annotations

import asyncio
from itertools import islice
from time import process_time

from report import Figure, cpu_of_tasks, options, show

from simtrain import load_scenario, open_episode, rollout
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory
from simtrain.scenarios.load import paradigm_of

SCENARIO = "fiction/kestrel_tables"
AGENTS = ("oracle", "search_systematic")


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--episodes", type=int, default=8, help="questions that each agent answers")
    given = parser.parse_args()
    begun = process_time()
    scenario = load_scenario(SCENARIO)
    episodes = list(islice(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1), given.episodes))
    loading = Figure(f"{SCENARIO}: {len(episodes)} questions made and solved, or read", process_time() - begun, "s")
    figures = [figure for agent in AGENTS for figure in measured(agent, episodes, given.rounds)]
    show("search worlds, episodes", [loading, *figures], as_json=given.json)


def measured(agent: str, episodes: list[Episode], rounds: int) -> list[Figure]:
    """CPU of a step: in whole episodes of an agent, and where its calls are made without it."""

    async def played() -> list[Trajectory]:
        return [await rollout(episode, agent) for episode in episodes]

    trajectories = asyncio.run(played())
    steps = sum(len(trajectory.steps) for trajectory in trajectories)

    async def called() -> None:
        for episode, trajectory in zip(episodes, trajectories, strict=True):
            async with open_episode(episode) as environment:
                for step in trajectory.steps:
                    await environment.step(step.action)

    whole = cpu_of_tasks(played, rounds=rounds)
    return [
        Figure(f"{agent}: steps a second and core", steps / whole, "/s"),
        Figure("  a step, with LangGraph and grading", whole / steps * 1000, "ms"),
        Figure("  of which the world", cpu_of_tasks(called, rounds=rounds) / steps * 1000, "ms"),
        Figure("  steps of an episode", steps / len(episodes), ""),
    ]


if __name__ == "__main__":
    main()

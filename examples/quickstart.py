"""The Python API in one file: load a scenario, play one episode, play many, inspect and export them.

python examples/quickstart.py
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from simtrain import export, load_scenario, rollout, run


def main() -> None:
    scenario = load_scenario("helpdesk/refund")

    # One episode. The oracle carries out the scenario's reference plan: no model, no key.
    trajectory = asyncio.run(rollout(scenario, "oracle", case=3))
    print(trajectory.prompt)
    for step in trajectory.steps:
        print(f"  {step.action.tool}({step.action.arguments})")
        print(f"    -> {step.observation.text[:100]}")
    print(f"  answer {trajectory.answer!r}, reward {trajectory.reward}")
    for reward in trajectory.rewards:
        print(f"    {reward.grader}: {reward.value}")

    # Many episodes, by a careful and a careless agent, each into a run folder.
    with TemporaryDirectory() as folder:
        debtors = load_scenario("helpdesk/overdue_debtors")
        for agent in ("resilient", "naive"):
            result = run([debtors], agent, out=Path(folder) / agent, episodes=20, seed=1)
            total = result.summary["total"]
            print(f"{agent}: {total['episodes']} episodes, mean reward {total['mean_reward']}")

        # Rows for fine-tuning, in the format of OpenAI's chat models.
        tally = export(Path(folder) / "resilient", "openai", out=Path(folder) / "train.jsonl")
        print(f"exported {tally.exported} of {tally.read} episodes for fine-tuning")


if __name__ == "__main__":
    main()

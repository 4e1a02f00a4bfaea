"""`simtrain fork`: continue from a step of a recorded episode."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.completing import agent_names
from simtrain.cli.shared_options import Concurrency, Knobs, Out, Resume

HELP = """Continue from a step of a recorded episode.

The calls before that step are made again and must get the recorded replies,
which restores world, clock, draws, faults and messages. From there another
agent may play, with more packs or another seed. STEP is the first step that is
played anew, counted from 0; after the last step, only the answer is new.
Several branches, or steps, make a tree: see --format turn_returns of
simtrain export. Exit code 1 as for simtrain run.

\b
Examples:
  simtrain fork runs/helpdesk helpdesk/refund:c0007 --at 3
  simtrain fork runs/helpdesk c0007 --at 3 --agent oracle --show
  simtrain fork runs/helpdesk c0007 --at 2 --at 4 --branches 8 --seed 1 \\
      --agent chat:gpt-5.4 --out runs/branches
  simtrain fork runs/helpdesk c0007 --at 3 --pack silent_lies
"""


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    episode: Annotated[str, typer.Argument(help="Episode id (c0007), or SCENARIO:ID.")],
    at: Annotated[list[int], typer.Option("--at", help="The first step that is played anew; may be repeated.")],
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", help="The agent that continues; else the run's.", autocompletion=agent_names),
    ] = None,
    knobs: Knobs = None,
    packs: Annotated[
        list[str] | None, typer.Option("--pack", "-p", help="Pack that is armed from the step on; may be repeated.")
    ] = None,
    severity: Annotated[
        float | None, typer.Option("--severity", min=0, max=1, help="How hard the packs hit where they leave it open.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", "-s", help="Seed of all that is drawn from the step on; else as it was.")
    ] = None,
    same_faults: Annotated[
        bool,
        typer.Option("--same-faults", help="Leave the draws of what is armed as they were; the seed is the agent's."),
    ] = False,
    branches: Annotated[
        int,
        typer.Option("--branches", "-k", min=1, help="Continuations of each step, each with its own seed."),
    ] = 1,
    arm: Annotated[str | None, typer.Option("--arm", help="The arm of a drill; else the first.")] = None,
    attempt: Annotated[int | None, typer.Option("--attempt", min=0, help="The attempt; else the first.")] = None,
    concurrency: Concurrency = 32,
    out: Out = None,
    resume: Resume = False,
    show: Annotated[bool, typer.Option("--show", help="Print one trajectory at the end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find the trajectory, play its continuations, and print the result."""
    from simtrain.cli.options import knobs_from
    from simtrain.cli.progress import RunProgress
    from simtrain.cli.run_result import new_folder, report_run
    from simtrain.runs.forks import ForkOptions
    from simtrain.runs.reading import found
    from simtrain.runs.replay import recorded_episode
    from simtrain.runs.run import run_forks
    from simtrain.runs.run_folder import read_facts
    from simtrain.runs.runner import RunOptions
    from simtrain.values.errors import InputError

    if resume and out is None:
        raise InputError("--resume needs --out", remedy="name the run folder to continue")
    trajectory = found(run, episode, arm=arm, attempt=attempt)
    recorded = read_facts(run)["agent"]
    given = knobs_from(knobs or [])
    options = RunOptions(
        agent or str(recorded["name"]),
        # Knobs of the recorded agent belong to it alone: another agent may not have them.
        given if agent else {**recorded["knobs"], **given},
        trajectory.seed,
        concurrency=concurrency,
    )
    forking = ForkOptions(tuple(at), branches, seed, same_faults, tuple(packs or ()), severity)
    folder = out or new_folder(trajectory.scenario, prefix="fork-")
    with RunProgress(quiet=as_json) as progress:
        result = run_forks(
            recorded_episode(run, trajectory),
            trajectory,
            forking,
            options,
            folder,
            source=str(run),
            resume=resume,
            on_planned=progress.planned,
            on_played=progress.played,
        )
    report_run(result, progress, as_json=as_json, show=show)

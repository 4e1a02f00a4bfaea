"""`simtrain run`: play scenarios into a run folder."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.completing import agent_names, scenario_names
from simtrain.cli.options import allow_live_servers, knobs_from, warn
from simtrain.cli.run_result import new_folder, report_run
from simtrain.cli.shared_options import (
    AllowLive,
    Attempts,
    Concurrency,
    Knobs,
    Out,
    Resume,
    Seed,
    SplitName,
    SplitProperty,
    Via,
    Workers,
    seeds_of,
)

HELP = """Play scenarios with an agent into a run folder.

Without --episodes every case is played once; with it, that many episodes in
total over all scenarios named. Exit code 1 if episodes failed through no fault
of the agent, or the run was stopped early; --resume then plays the rest.
Several agents play the same episodes one after the other, each into a folder
of its own below --out, and a table compares them.

\b
Examples:
  simtrain run helpdesk
  simtrain run helpdesk/refund --agent oracle --show
  simtrain run helpdesk --agent chat:gpt-5.4 -k 4 --episodes 400 -c 64
  simtrain run helpdesk airline --agent resilient --agent chat:gpt-5.4
  simtrain run helpdesk --seeds 1..80 --split train
  simtrain run my_scenario.yaml --agent my_package.agent:graph \\
      --out runs/mine --resume
"""


def command(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Families, suites, files or folders.", metavar="NAME|FILE|FOLDER...", autocompletion=scenario_names
        ),
    ],
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            "-a",
            help="oracle, naive, resilient, chat:MODEL, mcp:COMMAND or package.module:attribute; may be repeated. [resilient]",
            autocompletion=agent_names,
        ),
    ] = None,
    knobs: Knobs = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes", "-n", min=1, help="Episodes in total over all that is named; every case once without it."
        ),
    ] = None,
    attempts: Attempts = 1,
    seed: Seed = 0,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds", help="Seeds of the worlds to grow and play in, such as 1..80 or 3,5,9..12; else the scenario's."
        ),
    ] = None,
    split: SplitName = None,
    split_by: SplitProperty = "seed",
    concurrency: Concurrency = 32,
    workers: Workers = 1,
    out: Out = None,
    allow_live: AllowLive = False,
    resume: Resume = False,
    sync_every: Annotated[
        int,
        typer.Option(
            "--sync-every", min=0, help="Sync to disk after this many trajectories; 0 leaves it to the system."
        ),
    ] = 0,
    via: Via = None,
    real_time: Annotated[bool, typer.Option("--real-time", help="Wait for the delays of perturbations.")] = False,
    curriculum: Annotated[
        Path | None,
        typer.Option("--curriculum", help="Curriculum file, or the curriculum.jsonl of a run to repeat its stages."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print one trajectory at the end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play, with a live display, then print the result."""
    from simtrain.cli.progress import RunProgress
    from simtrain.public import load_scenarios, run
    from simtrain.values.errors import InputError

    if resume and out is None:
        raise InputError("--resume needs --out", remedy="name the run folder to continue")
    if allow_live:
        allow_live_servers()
    scenarios = load_scenarios(*names)
    warn(scenarios)
    # Named only after loading, so that a bad scenario leaves no empty folder.
    folder = out or new_folder(names[0])
    agent, *more = agents or ["resilient"]
    if more:
        from simtrain.cli.several_agents import play_several
        from simtrain.curricula.hash_splits import chosen
        from simtrain.runs.runner import RunOptions

        if curriculum is not None:
            raise InputError(
                "under --curriculum an agent's results decide what it plays next, so several would not play the same episodes",
                remedy="run one agent, then the next with --curriculum and the curriculum.jsonl of the first",
            )
        worlds = seeds_of(seeds)
        if split is not None:
            scenarios, worlds = chosen(scenarios, worlds, split_by, split)
        given = knobs_from(knobs or [])
        options = [
            RunOptions(
                one,
                given,
                seed,
                episodes,
                attempts,
                concurrency,
                workers,
                sync_every,
                via,
                None,
                real_time,
                tuple(worlds),
            )
            for one in (agent, *more)
        ]
        play_several(scenarios, options, folder, resume=resume, as_json=as_json, show=show)
        return
    with RunProgress(quiet=as_json) as progress:
        result = run(
            scenarios,
            agent,
            out=folder,
            knobs=knobs_from(knobs or []),
            seed=seed,
            episodes=episodes,
            attempts=attempts,
            concurrency=concurrency,
            workers=workers,
            sync_every=sync_every,
            via=via,
            real_time=real_time,
            seeds=seeds_of(seeds),
            split=split,
            split_by=split_by,
            curriculum=curriculum,
            resume=resume,
            on_planned=progress.planned,
            on_played=progress.played,
        )
    report_run(result, progress, as_json=as_json, show=show)

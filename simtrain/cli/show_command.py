"""`simtrain show`: print a trajectory of a run readably."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import console, print_json

HELP = """Print a trajectory of a run readably.

Without an episode, the run's figures and its first trajectory.

\b
Examples:
  simtrain show runs/helpdesk
  simtrain show runs/helpdesk helpdesk/refund:c0007 --full
  simtrain show runs/helpdesk --failed --json
"""


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    episode: Annotated[str | None, typer.Argument(help="Episode id (c0007), or SCENARIO:ID.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only trajectories without full reward.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the trajectory as JSON.")] = False,
) -> None:
    """Find the trajectory and print it."""
    from simtrain.cli.reading import print_trajectory
    from simtrain.cli.tables import result_table
    from simtrain.errors import InputError
    from simtrain.store import read_rows, read_run
    from simtrain.summary import summarise
    from simtrain.trajectory import SUCCESS

    scenario, _, wanted = (episode or "").rpartition(":")
    for trajectory in read_run(run):
        if episode and (trajectory.episode != wanted or (scenario and trajectory.scenario != scenario)):
            continue
        if failed and trajectory.reward is not None and trajectory.reward >= SUCCESS:
            continue
        if as_json:
            print_json(trajectory)
            return
        screen = console()
        if episode is None and not failed:
            screen.print(result_table(summarise(read_rows(run))))
        print_trajectory(screen, trajectory, full=full)
        return
    raise InputError("no trajectory fits" if episode or failed else "the run holds no trajectory yet", file=run)

"""`simtrain show`: print a trajectory of a run readably."""

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
  simtrain show runs/drill-helpdesk helpdesk/refund:c0003 \\
      --arm uncertain_writes/timeout_after
"""


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    episode: Annotated[str | None, typer.Argument(help="Episode id (c0007), or SCENARIO:ID.")] = None,
    arm: Annotated[str | None, typer.Option("--arm", help="Only this arm of a drill.")] = None,
    attempt: Annotated[int | None, typer.Option("--attempt", min=0, help="Only this attempt.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only trajectories without full reward.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the trajectory as JSON.")] = False,
) -> None:
    """Find the trajectory and print it."""
    from simtrain.cli.tables import result_table
    from simtrain.runs.reading import found, print_trajectory
    from simtrain.runs.summary import summarise
    from simtrain.runs.trajectory_files import read_rows

    trajectory = found(run, episode, arm=arm, attempt=attempt, failed=failed)
    if as_json:
        print_json(trajectory)
        return
    screen = console()
    if episode is None and arm is None and attempt is None and not failed:
        screen.print(result_table(summarise(read_rows(run))))
    print_trajectory(screen, trajectory, full=full)

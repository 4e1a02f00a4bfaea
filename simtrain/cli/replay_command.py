"""`simtrain replay`: play one episode of a run again."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import allow_live_servers, console, print_json
from simtrain.cli.shared_options import AllowLive

HELP = """Play one episode of a run or a drill again, with its agent.

Case, world, faults, seed and attempt are those of the run; nothing is
written. After the trajectory it says whether the result is the same, as it
must be for a deterministic agent that has not changed. Exit code 1 if the
episode fails through no fault of the agent.

\b
Examples:
  simtrain replay runs/helpdesk helpdesk/refund:c0007
  simtrain replay runs/drill-helpdesk helpdesk/refund:c0003 \\
      --arm uncertain_writes/timeout_after --full
"""


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    episode: Annotated[str, typer.Argument(help="Episode id (c0007), or SCENARIO:ID.")],
    arm: Annotated[str | None, typer.Option("--arm", help="The arm of a drill; else the first.")] = None,
    attempt: Annotated[int | None, typer.Option("--attempt", min=0, help="The attempt; else the first.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
    allow_live: AllowLive = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the trajectory as JSON.")] = False,
) -> None:
    """Find the trajectory, play it again and print the result."""
    from simtrain.runs.reading import found, print_trajectory
    from simtrain.runs.replay import differing, replayed

    recorded = found(run, episode, arm=arm, attempt=attempt)
    if allow_live:
        allow_live_servers()
    again = replayed(run, recorded)
    if as_json:
        print_json(again)
    else:
        screen = console()
        print_trajectory(screen, again, full=full)
        others = ", ".join(differing(recorded, again))
        was = f"{recorded.stop.reason}, reward {_reward(recorded.reward)}"
        screen.print(f"Not as in the run ({was}): other in {others}." if others else "As in the run, to the byte.")
    # A wrong or failed agent is a result; only a failure of the simulator is an error of the replay.
    if again.stop.reason == "failed" and again.stop.blame == "simulator":
        sys.exit(1)


def _reward(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"

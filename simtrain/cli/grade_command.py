"""`simtrain grade`: grade a run again without playing it again."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import console, print_json

HELP = """Grade a run again by its scenarios' current rubrics.

Nothing is played: the final worlds are restored from the recorded
trajectories. Their rewards, and the run's figures, are replaced.

\b
Examples:
  simtrain grade runs/helpdesk
  simtrain grade runs/helpdesk --json
"""


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the new figures as JSON.")] = False,
) -> None:
    """Grade, with a display when it takes long, then print the figures."""
    from simtrain.cli.progress import Counting
    from simtrain.cli.tables import result_table
    from simtrain.files.jsonl import whole_lines
    from simtrain.public import grade
    from simtrain.runs.run_folder import read_facts
    from simtrain.runs.trajectory_files import part_files

    read_facts(run)
    total = sum(1 for part in part_files(run) for _ in whole_lines(part))
    with Counting("grading", total=total, quiet=as_json) as counting:
        summary = grade(run, on_graded=counting.advance)
    if as_json:
        print_json({"run": str(run), **summary})
        return
    screen = console()
    screen.print(result_table(summary))
    screen.print(f"{counting.done} trajectories graded.")

"""`simtrain report`: write runs into one HTML file that can be mailed."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import console, print_json

HELP = """Write runs into one HTML file that can be mailed.

Figures, failures in groups, and every episode as `simtrain view` shows it.
The file needs nothing beside it and loads nothing. It holds at most 2,000
episodes; --filter chooses some, in the words of the viewer's filter.

\b
Examples:
  simtrain report runs/helpdesk
  simtrain report runs/helpdesk --filter 'reward<1' --out failures.html
  simtrain report runs/one runs/other --title 'Two agents' --json
"""


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of them.", metavar="RUN...")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file.  [RUN/report.html]")] = None,
    chosen: Annotated[str, typer.Option("--filter", help="Only these episodes, such as 'reward<1 arm=clean'.")] = "",
    title: Annotated[str, typer.Option("--title", help="Heading; the names of the runs without it.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the file and the number of episodes as JSON.")] = False,
) -> None:
    """Index what is not indexed yet, then write."""
    from simtrain.cli.progress import Counting
    from simtrain.view.report import write_report
    from simtrain.view.shelf import RunShelf

    file = out or runs[0] / "report.html"
    with Counting("writing episodes", quiet=as_json) as progress:
        count = write_report(RunShelf(runs), file, chosen=chosen, title=title, on_episode=progress.advance)
    if as_json:
        print_json({"report": str(file), "episodes": count})
    else:
        console().print(f"{count:,} episodes are in {file}", soft_wrap=True)

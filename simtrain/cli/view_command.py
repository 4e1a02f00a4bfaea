"""`simtrain view`: look at runs in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from simtrain.view.shelf import RunShelf

HELP = """Look at runs in a browser, on this machine.

Lists of episodes to filter, sort and search; figures; each episode with what
was perturbed, its reward and its reference; several episodes of a case side by
side; failures in groups. A run that is being played fills in as it goes. Only
this machine can open the pages. Ctrl-C ends it.

\b
Examples:
  simtrain view runs/helpdesk
  simtrain view runs --port 7000
  simtrain view runs/drill-helpdesk runs/mine --json
"""


def command(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders, or folders of them.  [default: runs]", metavar="[RUN...]")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 7575,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as one JSON line.")] = False,
) -> None:
    """Index what is not indexed yet, then serve until Ctrl-C."""
    import asyncio

    from simtrain.cli.progress import Counting
    from simtrain.view.shelf import RunShelf

    shelf = RunShelf(runs or [Path("runs")])
    indexes = [run.index for run in shelf.runs()]
    with Counting("indexing", total=sum(index.behind() for index in indexes), quiet=as_json) as progress:
        for index in indexes:
            index.refresh(progress.advance)
    asyncio.run(_serve(shelf, port, as_json=as_json))


async def _serve(shelf: "RunShelf", port: int, *, as_json: bool) -> None:
    import asyncio

    from simtrain.cli.options import console, on_signal, print_json_line
    from simtrain.view.app import viewing

    over = asyncio.Event()
    on_signal(over.set)
    async with viewing(shelf, port=port) as url:
        if as_json:
            print_json_line({"url": url, "runs": {run.name: str(run.path) for run in shelf.runs()}})
        else:
            console().print(f"The runs are at {url}; Ctrl-C ends it.", soft_wrap=True)
        await over.wait()

"""The result of a run, as a table or as JSON, and the folder that a run gets."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from simtrain.cli.progress import RunProgress
    from simtrain.runs.run import RunResult
    from simtrain.values.types import JsonObject


def report_run(result: RunResult, progress: RunProgress, *, as_json: bool, show: bool) -> None:
    """Print the result of a run; exit with code 1 if it was stopped early, or if rollouts failed."""
    if as_json:
        print_json(run_json(result, progress))
    else:
        _print(result, progress.rate)
        if show:
            show_first(result.path)
    if result.interrupted or result.failed:
        sys.exit(1)


def run_json(result: RunResult, progress: RunProgress) -> JsonObject:
    """Return the result of a run as JSON."""
    return {
        "run": str(result.path),
        "played": result.played,
        "skipped": result.skipped,
        "failed": result.failed,
        "interrupted": result.interrupted,
        "seconds": round(progress.seconds, 3),
        **result.summary,
    }


def new_folder(name: str, *, prefix: str = "") -> Path:
    """Return runs/NAME, or the first of runs/NAME-2, runs/NAME-3, ... that is free."""
    stem = Path("runs") / (prefix + _stem(name))
    folders = (stem if number == 1 else stem.with_name(f"{stem.name}-{number}") for number in count(1))
    # A run is never overwritten; --out with --resume continues one on purpose.
    return next(folder for folder in folders if not folder.exists())


def _stem(name: str) -> str:
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return path.stem
    return path.resolve().name if path.is_dir() else name.strip("/").replace("/", "-")


def _print(result: RunResult, rate: float) -> None:
    from simtrain.cli.progress import speed
    from simtrain.cli.tables import result_table

    screen = console()
    screen.print(result_table(result.summary))
    screen.print(
        f"{result.played} episodes played at {speed(rate)}"
        + (f", {result.skipped} were already there" if result.skipped else "")
    )
    screen.print(f"look at it: simtrain view {result.path}", soft_wrap=True)
    if result.failed:
        screen.print(
            f"{result.failed} failed through no fault of the agent: see {result.path / 'failures.jsonl'}; --resume plays them again"
        )
    if result.interrupted:
        screen.print(f"Stopped early. Continue with: simtrain run ... --out {result.path} --resume")
    screen.print(f"Run folder: {result.path}")


def show_first(path: Path) -> None:
    """Print the first trajectory of a run, if it has one."""
    from simtrain.runs.reading import print_trajectory
    from simtrain.runs.run_folder import read_run

    first = next(iter(read_run(path)), None)
    if first is not None:
        print_trajectory(console(), first)

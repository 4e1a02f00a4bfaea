"""`simtrain leaks`: what training and held-out episodes have in common."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.shared_options import SplitBy

if TYPE_CHECKING:
    from simtrain.runs.leaks import Kind, Leak, RowContents

HELP = """Find what training and held-out episodes have in common.

SET is a run folder, or a file that simtrain export wrote. Each two are
compared: seeds of worlds, worlds, episodes (the same case in the same world),
the words of tasks and of questions. With --split-by, and one run folder, its
own training, validation and test parts are compared. Exit code 1 if anything
is shared.

\b
Examples:
  simtrain leaks runs/train runs/test
  simtrain leaks train.jsonl test.jsonl
  simtrain leaks runs/all --split-by family --except seed --except world
"""


class KindChoice(StrEnum):
    """The kinds of simtrain.runs.leaks."""

    seed = "seed"
    world = "world"
    episode = "episode"
    prompt = "prompt"
    question = "question"


def command(
    sets: Annotated[list[Path], typer.Argument(help="Run folders, or files of JSON lines.", metavar="SET...")],
    split_by: Annotated[
        SplitBy | None, typer.Option("--split-by", help="Compare the parts of one run by this property.")
    ] = None,
    allowed: Annotated[
        list[KindChoice] | None, typer.Option("--except", help="What may be shared; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is shared as JSON.")] = False,
) -> None:
    """Read, compare and print."""
    from simtrain.cli.options import print_json
    from simtrain.runs.leaks import KINDS, contents_of, leaks, rows_of
    from simtrain.values.errors import InputError

    names = [str(path) for path in sets]
    if split_by is not None and len(sets) != 1:
        raise InputError("--split-by takes one run folder", remedy="leave it out to compare several")
    if split_by is None and len(set(names)) < 2:
        raise InputError("there is nothing to compare", remedy="name two sets, or one run folder with --split-by")
    passed = {kind.value for kind in allowed or ()}
    found = _parts(sets[0], split_by) if split_by else {str(path): contents_of(rows_of(path)) for path in sets}
    shared = leaks(found, kinds=[kind for kind in KINDS if kind not in passed])
    if as_json:
        print_json({"episodes": {name: one.episodes for name, one in found.items()}, "leaks": shared})
    else:
        _print(found, shared)
    # Exit code 1, so that CI can hold a split.
    if shared:
        sys.exit(1)


def _parts(path: Path, by: SplitBy) -> "dict[str, RowContents]":
    from simtrain.contracts.trajectory import trajectory_of
    from simtrain.curricula.hash_splits import split_of_trajectory
    from simtrain.runs.leaks import contents_of, parted

    parts = parted(path, lambda row: split_of_trajectory(by, trajectory_of(row)))
    return {split: contents_of(rows) for split, rows in parts.items()}


_WORDS: "dict[Kind, str]" = {
    "seed": "seeds of worlds",
    "world": "worlds",
    "episode": "episodes",
    "prompt": "tasks with the same words",
    "question": "questions",
}


def _print(found: "dict[str, RowContents]", shared: "list[Leak]") -> None:
    from simtrain.cli.options import console
    from simtrain.runs.reading import cut

    screen = console()
    for leak in shared:
        screen.print(f"{' and '.join(leak.between)} share {leak.count} {_WORDS[leak.kind]}")
        for thing, one, other in leak.shown:
            screen.print(f"  {cut(thing, False)}: {one}, {other}")
    if not shared:
        sizes = ", ".join(f"{name}: {one.episodes} episodes" for name, one in found.items())
        screen.print(f"Nothing is shared ({sizes}).")

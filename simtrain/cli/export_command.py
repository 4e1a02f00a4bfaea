"""`simtrain export`: write trajectories in a trainer's format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from simtrain.cli.options import knobs_from, print_json
from simtrain.cli.shared_options import SplitName, SplitProperty
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.cli.progress import Counting
    from simtrain.contracts.trajectory import StopReason, Trajectory
    from simtrain.values.types import JsonObject

HELP = """Write the trajectories of runs in a trainer's format.

All filters given must hold. Trajectories that do not reflect the agent
(the simulator, a model server or a grader failed) are always left out.

\b
Examples:
  simtrain export runs/helpdesk --format trl -o train.jsonl --min-reward 1
  simtrain export runs/drill --format sharegpt -o recovered.jsonl \\
      --fired 'timeout*' --stop answered
  simtrain export runs/helpdesk --format steps -o steps.jsonl \\
      --scenario 'helpdesk/*' --max-reward 0.99
  simtrain export runs/resilient runs/naive --format preference -o pairs.jsonl
  simtrain export runs/helpdesk --format trl -o good.jsonl --mark good --notes

The format harbor takes scenarios instead of runs, and writes each case as a
folder that Harbor plays (--with case=3 for one, --with seed=7).

\b
  simtrain export helpdesk/refund --format harbor --out tasks --with case=3
"""


HARBOR = "harbor"
"""The format that writes folders, of scenarios instead of runs."""


class StopChoice(StrEnum):
    """Why an episode stopped: the stop reasons of simtrain.contracts.trajectory, repeated so that `--help` need not import them."""

    answered = "answered"
    abstained = "abstained"
    max_turns = "max_turns"
    budget = "budget"
    wall_time = "wall_time"
    failed = "failed"


class MarkChoice(StrEnum):
    """What a reader marked an episode as: the marks of simtrain.runs.notes, repeated so that `--help` need not import them."""

    good = "good"
    bad = "bad"
    look = "look"


def command(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders; for the format harbor, scenarios.", metavar="RUN...")
    ],
    exporter: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="A plug-in's name: trl, openai, sharegpt, atif, steps, recovery, preference, rendered, turn_returns, harbor, ...",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="File to write, JSON lines; for harbor a folder. It appears whole or not at all."
        ),
    ],
    minimum: Annotated[float | None, typer.Option("--min-reward", help="Only rewards of at least this.")] = None,
    maximum: Annotated[float | None, typer.Option("--max-reward", help="Only rewards of at most this.")] = None,
    scenario: Annotated[str, typer.Option("--scenario", help="Only scenarios that this glob names.")] = "*",
    stop: Annotated[
        list[StopChoice] | None, typer.Option("--stop", help="Only this stop reason; may be repeated.")
    ] = None,
    arm: Annotated[str, typer.Option("--arm", help="Only arms of a drill that this glob names.")] = "*",
    fired: Annotated[
        str | None, typer.Option("--fired", help="Only where a perturbation of this label (a glob) fired.")
    ] = None,
    not_fired: Annotated[
        str | None, typer.Option("--not-fired", help="Only where none of this label (a glob) fired.")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", help="Only agents that this glob names.")] = "*",
    split: SplitName = None,
    split_by: SplitProperty = "seed",
    knobs: Annotated[
        list[str] | None, typer.Option("--with", "-w", help="A knob of the exporter, name=value; may be repeated.")
    ] = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="Add the columns mark and note: what readers noted in simtrain view.")
    ] = False,
    mark: Annotated[
        MarkChoice | None, typer.Option("--mark", help="Only episodes that a reader marked so in simtrain view.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what became of the trajectories as JSON.")] = False,
) -> None:
    """Filter, convert, write, and report the number of trajectories."""
    from simtrain.cli.progress import Counting
    from simtrain.public import export
    from simtrain.runs.export import Selection
    from simtrain.runs.run_folder import read_facts

    if exporter == HARBOR:
        from simtrain.cli.harbor_folders import export_folders

        narrowed = scenario != "*" or arm != "*" or agent != "*" or stop or fired or not_fired or split or mark or notes
        if narrowed or minimum is not None or maximum is not None:
            remedy = "name the scenarios that are wanted, and their case with --with case=N"
            raise InputError("the format harbor takes scenarios, of which no filter selects", remedy=remedy)
        export_folders([str(run) for run in runs], out, knobs_from(knobs or []), as_json=as_json)
        return
    _check_bounds(minimum, maximum)
    for run in runs:
        # Reading the facts refuses a folder that is no run before anything is written.
        read_facts(run)
        _keep_the_run(run, out)
    reasons = cast("tuple[StopReason, ...]", tuple(reason.value for reason in stop or ()))
    selection = Selection(
        minimum,
        maximum,
        scenario,
        agent,
        reasons,
        fired,
        not_fired,
        arm,
        split,
        split_by,
    )
    reading = _Reading(runs, mark)
    with Counting("exporting", quiet=as_json) as counting:
        tally = export(
            reading.trajectories(counting),
            exporter,
            out=out,
            selection=selection,
            knobs=knobs_from(knobs or []),
            columns=reading.note if notes else None,
        )
    if as_json:
        print_json({"runs": [str(run) for run in runs], "format": exporter, "file": str(out), **asdict(tally)})
        return
    print(f"{tally.rows} rows from {tally.exported} of {tally.read} trajectories written to {out}")
    if why := tally.why_none():
        print(why)
        return
    if tally.unfit:
        print(f"{tally.unfit} did not fit the filters")
    if tally.spoilt:
        print(f"{tally.spoilt} say nothing about the agent: the simulator, a model server or a grader failed")


class _Reading:
    """The trajectories of runs, one by one, with what readers noted about the one that was read last."""

    def __init__(self, runs: Sequence[Path], mark: MarkChoice | None) -> None:
        from simtrain.runs.notes import read_notes

        self._notes = {run: read_notes(run) for run in runs}
        self._mark = mark
        self._run = Path()

    def trajectories(self, counting: Counting) -> Iterator[Trajectory]:
        """Yield all, or those with the mark that is wanted."""
        from simtrain.runs.run_folder import read_run

        for run in self._notes:
            self._run = run
            for trajectory in read_run(run):
                counting.advance()
                if self._mark is None or self.note(trajectory)["mark"] == self._mark:
                    yield trajectory

    def note(self, trajectory: Trajectory) -> JsonObject:
        """Return mark and note of a trajectory; empty without one."""
        from simtrain.runs.notes import place_of

        found = self._notes[self._run].get(place_of(trajectory))
        return {"mark": found.mark, "note": found.note} if found else {"mark": "", "note": ""}


def _check_bounds(minimum: float | None, maximum: float | None) -> None:

    for name, bound in (("--min-reward", minimum), ("--max-reward", maximum)):
        if bound is not None and not 0 <= bound <= 1:
            raise InputError(f"{name} {bound:g} is not a reward", remedy="rewards are from 0 to 1")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise InputError(
            f"no reward is at least {minimum:g} and at most {maximum:g}", remedy="swap --min-reward and --max-reward"
        )


def _keep_the_run(run: Path, out: Path) -> None:
    from simtrain.runs.run_folder import RUN_FILE, SUMMARY_FILE
    from simtrain.runs.trajectory_files import FAILURES_FILE, part_files

    own = {*part_files(run), run / RUN_FILE, run / SUMMARY_FILE, run / FAILURES_FILE}
    # Resolved, since a link or a relative path may name the same file.
    if out.resolve() in {path.resolve() for path in own}:
        raise InputError("this file belongs to the run", remedy="write to another with --out", file=out)

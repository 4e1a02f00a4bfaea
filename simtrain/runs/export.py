"""Select trajectories, and write the rows that an exporter makes of them to one file."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias, cast

import orjson

from simtrain.contracts.exporter import Exporter
from simtrain.contracts.registry import resolve
from simtrain.contracts.trajectory import StopReason, Trajectory
from simtrain.curricula.curriculum_file import Split
from simtrain.curricula.hash_splits import SplitBy, split_of_trajectory
from simtrain.files.yaml_files import validated
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

Columns: TypeAlias = Callable[[Trajectory], JsonObject]
"""Returns columns for the rows of a trajectory."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Criteria for the trajectories to export; omitted ones match everything.

    Rewards are in [0, 1], bounds inclusive; an ungraded trajectory fits no bound. `scenario`, `agent`, `arm`, `fired` and `not_fired`
    are globs: for the names of scenario, agent and a drill's arm, and for the labels of perturbations that fired at least once.
    `split` and `split_by` are those of simtrain.curricula.hash_splits.
    """

    minimum: float | None = None
    maximum: float | None = None
    scenario: str = "*"
    agent: str = "*"
    stop: tuple[StopReason, ...] = ()
    fired: str | None = None
    not_fired: str | None = None
    arm: str = "*"
    split: Split | None = None
    split_by: SplitBy = "seed"

    def fits(self, trajectory: Trajectory) -> bool:
        """Return True if a trajectory meets all criteria."""
        return (
            self._fits_reward(trajectory.reward)
            and fnmatchcase(trajectory.scenario, self.scenario)
            and fnmatchcase(str(trajectory.agent.get("name", "")), self.agent)
            and (not self.stop or trajectory.stop.reason in self.stop)
            and fnmatchcase(trajectory.arm, self.arm)
            and (self.fired is None or _fired(trajectory, self.fired))
            and (self.not_fired is None or not _fired(trajectory, self.not_fired))
            and (self.split is None or split_of_trajectory(self.split_by, trajectory) == self.split)
        )

    def _fits_reward(self, reward: float | None) -> bool:
        if self.minimum is None and self.maximum is None:
            return True
        if reward is None:
            return False
        return (self.minimum is None or reward >= self.minimum) and (self.maximum is None or reward <= self.maximum)


@dataclass(slots=True)
class ExportTally:
    """Counts of an export: trajectories read (spoilt + unfit + exported), and rows written.

    If no row was written, `lacking` counts the exported trajectories that gave none, by reason.
    """

    read: int = 0
    spoilt: int = 0
    unfit: int = 0
    exported: int = 0
    rows: int = 0
    lacking: dict[str, int] = field(default_factory=dict[str, int])

    def why_none(self) -> str | None:
        """Return in one line why no row was written; None if any was."""
        if self.rows:
            return None
        kinds = {
            "that say nothing about the agent": self.spoilt,
            "that do not fit the filters": self.unfit,
            **self.lacking,
        }
        reasons = ", ".join(f"{count} {why}" for why, count in kinds.items() if count)
        return f"no rows: {self.read} episodes: {reasons}" if self.read else "no rows: the run contains no episodes"


def spoilt(trajectory: Trajectory) -> bool:
    """Return True if a trajectory says nothing about its agent, because simulator, rollout or a grader failed."""
    stop = trajectory.stop
    # A lost connection or a dead model server would otherwise train as the agent's failure.
    if stop.blame == "simulator" or stop.reason == "failed":
        return True
    return trajectory.reward is None and any(reward.error is not None for reward in trajectory.rewards)


def export_rows(
    trajectories: Iterable[Trajectory],
    exporter: Exporter,
    selection: Selection,
    *,
    tally: ExportTally | None = None,
    columns: Columns | None = None,
) -> Iterator[JsonObject]:
    """Yield the rows of the trajectories that fit; spoilt ones are always skipped. The counts are added to `tally` if given.

    `columns` are added to each row, by its trajectory. Raises InputError if the rows of an exporter take several trajectories then.
    """
    count = ExportTally() if tally is None else tally
    for row in _rows(_counted(_chosen(trajectories, selection, count), exporter, count), exporter, columns):
        count.rows += 1
        yield row
    if count.rows:
        # Rows that take several episodes belong to no single one of them.
        count.lacking.clear()


def _rows(trajectories: Iterable[Trajectory], exporter: Exporter, columns: Columns | None) -> Iterator[JsonObject]:
    if columns is None:
        yield from exporter.over(trajectories)
        return
    if type(exporter).over is not Exporter.over:
        raise InputError(
            "a row of this format takes several episodes, and a column belongs to one", remedy="choose another format"
        )
    for trajectory in trajectories:
        for row in exporter.rows(trajectory):
            yield {**row, **columns(trajectory)}


def _counted(trajectories: Iterable[Trajectory], exporter: Exporter, count: ExportTally) -> Iterator[Trajectory]:
    for trajectory in trajectories:
        why = exporter.lacking(trajectory)
        if why is not None:
            count.lacking[why] = count.lacking.get(why, 0) + 1
        yield trajectory


def _chosen(trajectories: Iterable[Trajectory], selection: Selection, count: ExportTally) -> Iterator[Trajectory]:
    for trajectory in trajectories:
        count.read += 1
        if spoilt(trajectory):
            count.spoilt += 1
        elif not selection.fits(trajectory):
            count.unfit += 1
        else:
            count.exported += 1
            yield trajectory


def export(
    trajectories: Iterable[Trajectory],
    *,
    exporter: str | Exporter,
    out: Path | str,
    selection: Selection | None = None,
    knobs: JsonObject | None = None,
    columns: Columns | None = None,
) -> ExportTally:
    """Write the trajectories that fit as JSON lines to the file `out`, and return the counts.

    `exporter` is an exporter, or the name of one that is built with `knobs`; `columns` are those of `export_rows`. The file appears whole
    or not at all.
    Raises InputError for an unknown exporter, an unknown knob, or a file that cannot be written.
    """
    chosen = build_exporter(exporter, knobs or {}) if isinstance(exporter, str) else exporter
    tally = ExportTally()
    write_lines(Path(out), export_rows(trajectories, chosen, selection or Selection(), tally=tally, columns=columns))
    return tally


def build_exporter(name: str, knobs: JsonObject) -> Exporter:
    """Return the exporter registered as `name`, with its knobs set. Raises InputError."""
    return validated(cast(type[Exporter], resolve("exporters", name)), knobs, place=f"exporter {name}")


def write_lines(out: Path, rows: Iterable[JsonObject]) -> None:
    """Write rows as JSON lines, to a temporary name beside `out` first, so that `out` is whole or absent. Raises InputError."""
    # In the same folder, since a rename is atomic only within one file system.
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            for row in rows:
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            file.flush()
            # Before the rename, or a power cut could leave an empty file under the final name.
            os.fsync(file.fileno())
        temporary.replace(out)
    except OSError as error:
        raise InputError(f"the file cannot be written: {error.strerror}", file=out) from None
    finally:
        if temporary.exists():
            temporary.unlink()


def _fired(trajectory: Trajectory, glob: str) -> bool:
    return any(fnmatchcase(event.label, glob) for step in trajectory.steps for event in step.events)

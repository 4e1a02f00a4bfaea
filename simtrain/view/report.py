"""A report of runs as one HTML file to mail: figures, failures, and every episode, compressed, opened by a script of its own."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from gzip import compress
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.files.jsonl import write_whole
from simtrain.files.pages.templates import style
from simtrain.runs.notes import EpisodeNote, read_notes
from simtrain.values.errors import InputError
from simtrain.values.version import VERSION
from simtrain.view.figures import figures, success_chart
from simtrain.view.filters import COLUMNS, Filter, parse
from simtrain.view.marks import with_marks
from simtrain.view.reference import found_reference
from simtrain.view.shelf import RunShelf, ShelvedRun
from simtrain.view.shown_episode import shown_turns
from simtrain.view.triage import divergence, triage
from simtrain.view.viewer_templates import HERE, viewer_templates

MOST = 2_000
"""Episodes of one report."""

TEXT_COLUMNS = (("scenario", "scenario"), ("agent", "agent"), ("arm", "arm"), ("stop", "end"))
NUMBER_COLUMNS = (
    ("reward", "reward"), ("attempt", "attempt"), ("turns", "turns"), ("steps", "calls"), ("errors", "errors"),
    ("perturbed", "perturbed"), ("tokens", "tokens"),
)  # fmt: skip
"""As in lists of the viewer, but for what the clock of a machine measured."""


PACKED = 25
"""Episodes whose pages are compressed together: they have much in common, and a browser unpacks so many at once without delay."""


@dataclass(frozen=True)
class ReportRow:
    """An episode of a report: its number there, its run, and its columns."""

    number: int
    run: str
    values: Mapping[str, Any]


def write_report(
    shelf: RunShelf, out: Path, *, chosen: str = "", title: str = "", on_episode: Callable[[], None] = lambda: None
) -> int:
    """Write the report of all runs on a shelf, or of the episodes that a filter keeps; return their number.

    Raises InputError for a bad filter, for none or more than MOST episodes, and if the file cannot be written.
    """
    kept = parse(chosen)
    if kept.words:
        raise InputError("a report is not filtered by words", remedy="name columns, such as reward<1")
    count = sum(counted(run, kept) for run in shelf.runs())
    if not count:
        raise InputError("no episode is left for the report", remedy="filter less")
    if count > MOST:
        raise InputError(
            f"a report holds at most {MOST:,} episodes, and these are {count:,}",
            remedy="choose some with --filter, such as --filter 'reward<1'",
        )
    write_whole(out, _page(shelf, kept, title, on_episode))
    return count


def counted(run: ShelvedRun, kept: Filter) -> int:
    """Return how many episodes of a run a filter keeps."""
    run.index.refresh()
    own = with_marks(kept, run.path)
    (count,) = run.index.select(f"select count(*) from episodes where {own.condition}", own.values)[0]
    return count


def _page(shelf: RunShelf, kept: Filter, title: str, on_episode: Callable[[], None]) -> str:
    failed, places = list[Trajectory](), dict[int, tuple[int, Path]]()
    rows, pages = list[ReportRow](), _Packer()
    for run, values, trajectory, note in _episodes(shelf, kept):
        number = len(rows) + 1
        rows.append(ReportRow(number, run.name, values))
        pages.add(_episode(run, trajectory, note))
        if trajectory.reward is not None and trajectory.reward < SUCCESS:
            failed.append(trajectory)
            places[id(trajectory)] = number, run.path
        on_episode()

    def reference(trajectory: Trajectory) -> Trajectory | None:
        return found_reference(places[id(trajectory)][1], trajectory)[0]

    def number_of(trajectory: Trajectory) -> int:
        return places[id(trajectory)][0]

    looks = style() + (HERE / "view.css").read_text(encoding="utf-8")
    script = (HERE / "report.js").read_text(encoding="utf-8")
    return (
        viewer_templates()
        .get_template("report.html.jinja")
        .render(
            title=title or ", ".join(run.name for run in shelf.runs()),
            version=VERSION,
            style=looks,
            style_digest=_digest(looks),
            script=script,
            script_digest=_digest(script),
            charts=list(_charts(shelf, kept)),
            groups=triage(failed, reference),
            number_of=number_of,
            columns=(*TEXT_COLUMNS, *NUMBER_COLUMNS),
            numbers=frozenset(name for name, _ in NUMBER_COLUMNS),
            graded=sum(row.values["reward"] is not None for row in rows),
            solved=sum((row.values["reward"] or 0) >= SUCCESS for row in rows),
            rows=rows,
            packs=pages.packs(),
            packed=PACKED,
        )
    )


def _episodes(
    shelf: RunShelf, kept: Filter
) -> Iterator[tuple[ShelvedRun, Mapping[str, Any], Trajectory, EpisodeNote | None]]:
    for run in shelf.runs():
        notes = read_notes(run.path)
        own = with_marks(kept, run.path)
        query = f"select id, {', '.join(COLUMNS)} from episodes where {own.condition} order by id"
        for row in run.index.select(query, own.values):
            place = (row["scenario"], row["episode"], row["arm"], row["attempt"])
            yield run, dict(row), run.index.read(row["id"]), notes.get(place)


def _episode(run: ShelvedRun, trajectory: Trajectory, note: EpisodeNote | None) -> str:
    reference, _ = found_reference(run.path, trajectory)
    failed = trajectory.reward is not None and trajectory.reward < SUCCESS
    return (
        viewer_templates()
        .get_template("report_episode.html.jinja")
        .render(
            trajectory=trajectory,
            shown=shown_turns(trajectory, run.domain_of(trajectory.scenario)),
            sentence=divergence(trajectory, reference).sentence if reference and failed else "",
            reference=reference,
            note=note,
        )
    )


def _charts(shelf: RunShelf, kept: Filter) -> Iterator[tuple[str, str]]:
    """Yield the charts of each run: by scenario, and by perturbation and arm if there are several."""
    runs: Sequence[ShelvedRun] = shelf.runs()
    for run in runs:
        of = f": {run.name}" if len(runs) > 1 else ""
        for by in ("scenario", "perturbation", "arm"):
            groups = figures(run.index, with_marks(kept, run.path), by)
            if by == "scenario" or len(groups) > 1:
                yield f"{by}{of}", success_chart(groups, f"Success by {by}{of}")


class _Packer:
    """Packs pages of episodes: JSON lists of PACKED of them, compressed with gzip, as base64."""

    def __init__(self) -> None:
        self._done, self._open = list[str](), list[str]()

    def add(self, page: str) -> None:
        self._open.append(page)
        if len(self._open) == PACKED:
            self._close()

    def packs(self) -> list[str]:
        if self._open:
            self._close()
        return self._done

    def _close(self) -> None:
        # Without the time of writing, so that the same runs give the same file.
        self._done.append(b64encode(compress(orjson.dumps(self._open), mtime=0)).decode())
        self._open = []


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"

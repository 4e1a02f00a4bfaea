"""Marks and notes that people make on episodes, in a file beside the trajectories."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import orjson

from simtrain.contracts.trajectory import Trajectory
from simtrain.files.jsonl import LineWriter, whole_lines
from simtrain.values.errors import InputError
from simtrain.values.types import as_object

NOTES_FILE = "notes.jsonl"

Mark: TypeAlias = Literal["", "good", "bad", "look"]
"""What a reader marked an episode as; `look` is for a second look."""

MARKS: tuple[str, ...] = get_args(Mark)

LONGEST = 4_000
"""Characters of a note."""


EpisodePlace: TypeAlias = tuple[str, str, str, int]
"""What names an episode in its run: scenario, episode, arm and attempt."""


@dataclass(frozen=True)
class EpisodeNote:
    """What a reader noted about one episode; a later one of the same episode replaces it."""

    scenario: str
    episode: str
    arm: str
    attempt: int
    mark: str
    note: str

    @property
    def place(self) -> EpisodePlace:
        """Return what names the episode in its run."""
        return self.scenario, self.episode, self.arm, self.attempt


def place_of(trajectory: Trajectory) -> EpisodePlace:
    """Return what names the episode of a trajectory in its run."""
    return trajectory.scenario, trajectory.episode, trajectory.arm, trajectory.attempt


def read_notes(run: Path) -> dict[EpisodePlace, EpisodeNote]:
    """Return the notes of a run by episode; empty ones are left out. Raises InputError for a line that is not a note."""
    file = run / NOTES_FILE
    notes = dict[EpisodePlace, EpisodeNote]()
    for number, line in whole_lines(file) if file.is_file() else ():
        try:
            note = EpisodeNote(**as_object(orjson.loads(line)))
            notes[note.place] = note
        except (TypeError, orjson.JSONDecodeError):
            raise InputError("not a note", remedy="mend the line, or remove it", file=file, line=number) from None
    return {place: note for place, note in notes.items() if note.mark or note.note}


def write_note(run: Path, trajectory: Trajectory, *, mark: str, note: str) -> None:
    """Add a note on an episode. Raises InputError for an unknown mark, a note that is too long, and a file that cannot be written."""
    if mark not in MARKS:
        raise InputError(f"there is no mark {mark!r}", remedy="choose good, bad or look")
    if len(note) > LONGEST:
        raise InputError(f"a note has at most {LONGEST:,} characters, and this one {len(note):,}")
    row = EpisodeNote(*place_of(trajectory), mark, note.strip())
    writer = LineWriter(run / NOTES_FILE, shared=True)
    try:
        writer.write(orjson.dumps(asdict(row), option=orjson.OPT_APPEND_NEWLINE))
    finally:
        writer.close()

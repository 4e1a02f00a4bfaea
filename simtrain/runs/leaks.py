"""Find leaks between splits: what two sets of recorded episodes share, from their files alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeAlias, cast

import orjson

from simtrain.files.jsonl import whole_lines
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, is_list, is_object

Kind: TypeAlias = Literal["seed", "world", "episode", "prompt", "question"]
"""A world's seed; a world: file, seed and row counts; a case in a world; the words of a task; those of a question."""

KINDS: tuple[Kind, ...] = ("seed", "world", "episode", "prompt", "question")

MOST_SHOWN = 5
"""Most shared things of a kind that are listed."""


@dataclass(slots=True)
class RowContents:
    """The contents of a set of episodes: by kind, each thing with the first episode that has it."""

    episodes: int = 0
    things: dict[Kind, dict[str, str]] = field(default_factory=lambda: defaultdict(dict[str, str]))

    def add(self, kind: Kind, thing: str, where: str) -> None:
        """Add a thing, unless it is there already."""
        self.things[kind].setdefault(thing, where)


@dataclass(frozen=True, slots=True)
class Leak:
    """Things of one kind that two sets share: how many, and some of them with their places in both."""

    kind: Kind
    between: tuple[str, str]
    count: int
    shown: tuple[tuple[str, str, str], ...]


def contents_of(lines: Iterable[tuple[str, JsonObject]]) -> RowContents:
    """Return the contents of rows, which come with their places: trajectories, or rows of an export."""
    found = RowContents()
    for where, row in lines:
        found.episodes += 1
        if is_object(row.get("world")):
            _note_trajectory(found, row, f"{where} ({row.get('episode')})")
        else:
            for text in _tasks(row):
                found.add("prompt", _words(text), where)
    return found


def leaks(sets: Mapping[str, RowContents], *, kinds: Iterable[Kind] = KINDS) -> list[Leak]:
    """Return what each pair of sets shares, by kind."""
    asked = frozenset(kinds)
    wanted: list[Kind] = [kind for kind in KINDS if kind in asked]
    found: list[Leak] = []
    for (one, ours), (other, theirs) in combinations(sets.items(), 2):
        for kind in wanted:
            shared = sorted(ours.things[kind].keys() & theirs.things[kind].keys())
            shown = tuple(
                (thing, ours.things[kind][thing], theirs.things[kind][thing]) for thing in shared[:MOST_SHOWN]
            )
            if shared:
                found.append(Leak(kind, (one, other), len(shared), shown))
    return found


def rows_of(path: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield the rows of a run folder, or of a file of JSON lines, each with its place. Raises InputError for anything else."""
    files = sorted(path.glob("trajectories-*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(
            "no trajectories are in this folder", remedy="name run folders, or files of JSON lines", file=path
        )
    for file in files:
        for number, line in whole_lines(file):
            yield f"{file.name}:{number}", _row(line, file, number)


def parted(path: Path, part: Callable[[JsonObject], str]) -> dict[str, list[tuple[str, JsonObject]]]:
    """Return the rows of a run folder, grouped by `part`."""
    found: dict[str, list[tuple[str, JsonObject]]] = defaultdict(list)
    for where, row in rows_of(path):
        try:
            found[part(row)].append((where, row))
        except InputError as error:
            raise InputError(f"{where}: {error.problem}", remedy="only a run folder has parts", file=path) from None
    return dict(sorted(found.items()))


def _row(line: bytes, file: Path, number: int) -> JsonObject:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", file=file, line=number) from None
    if not is_object(row):
        raise InputError("the line is not a JSON object", file=file, line=number)
    return row


def _note_trajectory(found: RowContents, row: JsonObject, where: str) -> None:
    world, case = cast(JsonObject, row["world"]), row.get("case")
    built = _key([world.get("digest"), world.get("seed"), world.get("rows")])
    found.add("seed", f"{world.get('name')}, seed {world.get('seed')}", where)
    found.add("world", built, where)
    found.add("episode", _key([row.get("scenario"), case, built]), where)
    found.add("prompt", _words(str(row.get("prompt", ""))), where)
    if is_object(case) and isinstance(case.get("query"), str):
        found.add("question", _words(case["query"]), where)


def _tasks(row: JsonObject) -> Iterator[str]:
    """Yield the task in a row of an export: the first message of the user."""
    for key in ("messages", "prompt", "conversations"):
        value = row.get(key)
        if isinstance(value, str):
            yield value
        elif is_list(value):
            # ShareGPT has other names for the key and the role.
            asked = (one for one in value if is_object(one) and one.get("role", one.get("from")) in ("user", "human"))
            first = next(asked, None)
            if first is not None:
                yield str(first.get("content", first.get("value", "")))


def _words(text: str) -> str:
    """Return a text without differences in case and white space."""
    return " ".join(text.casefold().split())


def _key(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

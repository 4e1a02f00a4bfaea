"""Strict scoring: WideSearch's measures without the reference's defects; pure Python, and never above 1."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from simtrain.contracts.question import Column, Question, normal_name
from simtrain.questions.widesearch.arbiter import Arbiter, Known
from simtrain.questions.widesearch.cells import agree, plain_number
from simtrain.questions.widesearch.dates import read_dates
from simtrain.questions.widesearch.rules import TableRules, rules_of_question
from simtrain.questions.widesearch.scores import ColumnLoss, GoldCell, Measure, ScoredRow, Scores, measure
from simtrain.questions.widesearch.tables import WrittenTable, fitted, read_tables
from simtrain.questions.widesearch.words import folded, is_missing
from simtrain.values.types import JsonObject

Row = tuple[str, ...]
"""The cells of a row, in the order of the required columns."""

_UNIT_MARK = re.compile(r"[(\[]")


async def score_strict(
    rules: TableRules,
    gold: Sequence[Row],
    response: str | None,
    *,
    arbiter: Arbiter | None = None,
    single: bool = False,
    given: frozenset[tuple[str, str]] = frozenset(),
) -> Scores:
    """Return the figures of a response against the gold rows (cells as text, in the order of the rules' columns).

    Each gold row is matched by at most one row, the first with its key; a row that is repeated word for word counts once, any other
    row counts as given. All tables of the response that have the key columns count together; columns that were not asked for are left
    out, cells of missing columns are wrong. `single` also takes a bare value as the one cell. `given` are the gold cells (column, text)
    that the question gives. Raises ModelFault of the arbiter.
    """
    return await _Scoring(rules, gold, arbiter or Known(), given).scores(response or "", single)


async def score_question(
    question: Question,
    gold: Sequence[JsonObject],
    response: str | None,
    *,
    arbiter: Arbiter | None = None,
    given: frozenset[tuple[str, str]] = frozenset(),
) -> Scores:
    """Return the figures of a response against the gold rows of a question."""
    rows, single = [tuple(row.values()) for row in gold], question.answer == "single"
    return await score_strict(rules_of_question(question), rows, response, arbiter=arbiter, single=single, given=given)


@dataclass(frozen=True)
class _Reading:
    """The rows of a response, each with the ways it can be read, and the unit that its heading gives for each column."""

    rows: tuple[tuple[Row, ...], ...]
    units: Mapping[str, str]


class _Scoring:
    def __init__(
        self, rules: TableRules, gold: Sequence[Row], arbiter: Arbiter, given: frozenset[tuple[str, str]] = frozenset()
    ) -> None:
        self.rules, self.arbiter, self.given = rules, arbiter, given
        self.places = [rules.names.index(name) for name in rules.key]
        self.numeric = frozenset(place for place in self.places if _apart(row[place] for row in gold))
        # Of gold rows with one key the first counts, as in the reference, which drops duplicates.
        self.gold = list({self._key(row): row for row in reversed(gold)}.values())[::-1]

    async def scores(self, response: str, single: bool) -> Scores:
        reading = await self._read(response)
        if reading is None and single and response.strip():
            reading = _Reading((((response.strip(),),),), {})
        if reading is None:
            return Scores(gold_rows=len(self.gold), columns=self._absent(), reason="no table with the key columns")
        names = await self._names(reading, single)
        wanted = {self._key(row): index for index, row in enumerate(self.gold)}
        matched: dict[int, Row] = {}
        seen: set[Row] = set()
        strays: list[Row] = []
        for ways in reading.rows:
            row = self._best(ways, names, wanted)
            # Repeating a right row must not cost precision, nor earn anything.
            if row in seen:
                continue
            seen.add(row)
            index = wanted.get(self._key(row, names))
            if index is not None and index not in matched:
                matched[index] = row
            else:
                strays.append(row)
        return self._counted(await self._credits(matched, reading.units), matched, strays)

    def _best(self, ways: tuple[Row, ...], names: Mapping[tuple[int, str], str], wanted: Mapping[Row, int]) -> Row:
        """Return the way to read a row that fits its gold row best; the first where none fits."""
        if len(ways) == 1:
            return ways[0]

        def fit(reading: Row) -> int:
            index = wanted.get(self._key(reading, names))
            return -1 if index is None else sum(map(_reads_same, self.gold[index], reading))

        return max(ways, key=fit)

    def _key(self, row: Row, names: Mapping[tuple[int, str], str] | None = None) -> Row:
        return tuple(self._normal(place, (names or {}).get((place, row[place]), row[place])) for place in self.places)

    def _normal(self, place: int, cell: str) -> str:
        column = self.rules.columns[place]
        if is_missing(cell):
            return ""
        if "norm_date" in column.preprocess or "date_near" in column.metric:
            found = read_dates(cell)
            return folded(cell) if len(found) != 1 else str(found[0])
        number = plain_number(cell) if place in self.numeric else None
        return folded(cell) if number is None else str(number)

    async def _read(self, response: str) -> _Reading | None:
        """Return the rows of all tables that have the key columns; None if there is none."""
        rows: list[tuple[Row, ...]] = []
        units: dict[str, str] = {}
        fitting = 0
        for table in read_tables(response, self.rules.names):
            places = await self._places(table)
            if not all(name in places for name in self.rules.key):
                continue
            fitting += 1
            for name, place in places.items():
                units.setdefault(name, _unit(table.heading[place]))
            for cells in table.rows:
                ways = fitted(cells, len(table.heading))
                read = (
                    tuple(reading[places[name]] if name in places else "" for name in self.rules.names)
                    for reading in ways
                )
                rows.append(tuple(dict.fromkeys(read)))
        return _Reading(tuple(rows), units) if fitting else None

    async def _places(self, table: WrittenTable) -> dict[str, int]:
        """Return the place of each required column under a heading: by name, by name without a unit in parentheses,
        by the arbiter.
        """
        found: dict[str, int] = {}
        for read in (folded, _unitless):
            meant = [read(name) for name in self.rules.names]
            wanted = {read(name): name for name in self.rules.names if meant.count(read(name)) == 1}
            for place, name in enumerate(map(read, table.heading)):
                if name in wanted and place not in found.values():
                    found.setdefault(wanted[name], place)
        if len(found) == len(self.rules.names):
            return found
        # Only headings that no rule explains are put to the arbiter, which may be a model.
        left = {
            normal_name(cell): place for place, cell in enumerate(table.heading) if cell and place not in found.values()
        }
        if not left:
            return found
        for name, meaning in (await self.arbiter.align_columns(list(left), list(self.rules.names))).items():
            if name in left and meaning in self.rules.names:
                found.setdefault(meaning, left[name])
        return found

    async def _names(self, reading: _Reading, single: bool) -> Mapping[tuple[int, str], str]:
        """Return the meanings of key cells, by place and cell, where the arbiter knows them, or the rule of a single
        answer applies.
        """
        found: dict[tuple[int, str], str] = {}
        for place in self.places:
            column = self.rules.columns[place]
            right = list(dict.fromkeys(row[place] for row in self.gold))
            known = {self._normal(place, cell) for cell in right}
            cells = dict.fromkeys(row[place] for ways in reading.rows for row in ways)
            unknown = [cell for cell in cells if cell and self._normal(place, cell) not in known]
            if single and len(right) == 1:
                found.update(
                    {(place, cell): right[0] for cell in unknown if await self._meets(cell, right[0], column, reading)}
                )
                unknown = [cell for cell in unknown if (place, cell) not in found]
            if unknown and right:
                aligned = await self.arbiter.align_keys(column, unknown, right)
                found.update({(place, cell): name for cell, name in aligned.items() if cell in cells})
        return found

    async def _meets(self, cell: str, gold: str, column: Column, reading: _Reading) -> bool:
        """True if a single answer, which is key and value at once, agrees with the gold by the rule of its column."""
        verdict = agree(gold, cell, column=column, unit=reading.units.get(column.name, ""))
        return verdict == 1 if verdict is not None else list(await self.arbiter.judge(column, [(cell, gold)])) == [1.0]

    async def _credits(self, matched: Mapping[int, Row], units: Mapping[str, str]) -> dict[tuple[int, int], float]:
        """Return the credit of every cell of the matched rows, by gold row and column."""
        found: dict[tuple[int, int], float] = {}
        for place, column in enumerate(self.rules.columns):
            if place in self.places:
                found.update({(index, place): 1.0 for index in matched})
                continue
            open_cells: list[int] = []
            for index, row in matched.items():
                verdict = agree(self.gold[index][place], row[place], column=column, unit=units.get(column.name, ""))
                found[index, place] = verdict or 0.0
                if verdict is None:
                    open_cells.append(index)
            if open_cells:
                pairs = [(matched[index][place], self.gold[index][place]) for index in open_cells]
                judged = await self.arbiter.judge(column, pairs)
                found.update(
                    {(index, place): float(value == 1) for index, value in zip(open_cells, judged, strict=True)}
                )
        return found

    def _counted(
        self, credits: Mapping[tuple[int, int], float], matched: Mapping[int, Row], strays: Sequence[Row]
    ) -> Scores:
        width = len(self.rules.columns)
        gold, given = len(self.gold), len(matched) + len(strays)
        if not gold and not given:
            return Scores(1.0, Measure(1.0, 1.0), Measure(1.0, 1.0))
        found_rows, found_items = self._found(credits, matched, strays)
        whole_rows = sum(all(credits[index, place] == 1 for place in range(width)) for index in matched)
        rows = measure(whole_rows, given=given, gold=gold)
        items = measure(sum(credits.values()), given=given * width, gold=gold * width)
        return Scores(
            success=float(whole_rows == gold == given),
            rows=rows,
            items=items,
            gold_rows=gold,
            given_rows=given,
            columns=tuple(self._loss(place, credits, matched) for place in range(width)),
            cells=tuple(
                GoldCell(index, self.rules.names[place], credit) for (index, place), credit in sorted(credits.items())
            ),
            found_rows=found_rows,
            found_items=found_items,
            table=tuple(self._table(credits, matched, strays)),
        )

    def _table(
        self, credits: Mapping[tuple[int, int], float], matched: Mapping[int, Row], strays: Sequence[Row]
    ) -> Iterator[ScoredRow]:
        for index, row in matched.items():
            yield ScoredRow(row, self.gold[index], tuple(credits[index, place] for place in range(len(row))))
        yield from (ScoredRow(row, None) for row in strays)
        yield from (ScoredRow(None, row) for index, row in enumerate(self.gold) if index not in matched)

    def _found(
        self, credits: Mapping[tuple[int, int], float], matched: Mapping[int, Row], strays: Sequence[Row]
    ) -> tuple[Measure, Measure]:
        """Return rows and items as far as they had to be found out.

        A gold cell is sought if it has a value that the question does not give. A claim is a cell of the response
        that says something, unless it rightly repeats what the question gives. So stating that no value exists earns
        nothing, right or wrong.
        """
        sought = [self._sought(row) for row in self.gold]
        claims = {
            index: sum(
                not is_missing(cell) and not (credits[index, place] and self._is_given(self.gold[index][place], place))
                for place, cell in enumerate(row)
            )
            for index, row in matched.items()
        }
        stray = [sum(not is_missing(cell) for cell in row) for row in strays]
        credit = sum(credits[index, place] for index in matched for place in sought[index])
        items = measure(credit, given=sum(claims.values()) + sum(stray), gold=sum(map(len, sought)))
        whole = sum(
            all(credits[index, place] == 1 for place in range(len(row)))
            for index, row in matched.items()
            if sought[index]
        )
        claimed = sum(bool(sought[index] or claims[index]) for index in matched) + sum(map(bool, stray))
        return measure(whole, given=claimed, gold=sum(map(bool, sought))), items

    def _sought(self, row: Row) -> list[int]:
        return [place for place, cell in enumerate(row) if not is_missing(cell) and not self._is_given(cell, place)]

    def _is_given(self, cell: str, place: int) -> bool:
        return (self.rules.names[place], cell) in self.given

    def _loss(self, place: int, credits: Mapping[tuple[int, int], float], matched: Mapping[int, Row]) -> ColumnLoss:
        right = sum(credits[index, place] for index in matched)
        absent = float(len(self.gold) - len(matched))
        return ColumnLoss(self.rules.names[place], right, len(matched) - right, absent)

    def _absent(self) -> tuple[ColumnLoss, ...]:
        return tuple(ColumnLoss(name, 0.0, 0.0, float(len(self.gold))) for name in self.rules.names)


def _apart(cells: Iterable[str]) -> bool:
    """True if no two cells that differ as texts are one number."""
    numbers = {folded(cell): plain_number(cell) for cell in cells}
    read = [number for number in numbers.values() if number is not None]
    return len(set(read)) == len(read)


def _reads_same(one: str, other: str) -> bool:
    return folded(one) == folded(other)


def _unitless(heading: str) -> str:
    return _UNIT_MARK.split(folded(heading))[0]


def _unit(heading: str) -> str:
    """Return what a heading says in parentheses or brackets at its end: `Mirror (m)`."""
    for opening, closing in ("()", "[]"):
        if heading.rstrip().endswith(closing):
            return heading.rstrip()[:-1].rpartition(opening)[2].strip()
    return ""

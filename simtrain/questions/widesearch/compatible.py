"""WideSearch's reference scoring, with the same figures and defects, on pandas and dateparser.

The algorithm is that of ByteDance-Seed/WideSearch at commit 0e664c3. What pandas infers from CSV (`007` is 7, `n/a` is `nan`) and what
dateparser accepts as a date affect its figures, so both come from the extra `widesearch` in pinned versions.
"""

import csv
import io
import re
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import lru_cache
from importlib import import_module
from typing import Any
from urllib.parse import urlparse

from simtrain.contracts.question import Column, normal_name
from simtrain.questions.widesearch.arbiter import Arbiter, Known
from simtrain.questions.widesearch.rules import TableRules
from simtrain.questions.widesearch.scores import ColumnLoss, GoldCell, Scores, measure
from simtrain.values.errors import ModelFault
from simtrain.values.extras import require

Frame = Any
"""A pandas DataFrame; pandas has no types of its own."""

_FENCE = re.compile(r"```markdown(.*?)```", re.DOTALL)
_PIPES = re.compile(r"(?:\|.*\n?)+")
_NUMBER = re.compile(r"[-+]?\d*\.\d+%?|[-+]?\d+\.?\d*%?")
# The range from $ to _ is a slip of the reference, kept on purpose.
_URL = re.compile(r"http[s]?://(?:[a-zA-Z]|[0-9]|[$-_@.&+]|[!*\\(\\),]|(?:%[0-9a-fA-F][0-9a-fA-F]))+")
_DAYS = 31
_MAPPED = "_before_map"


async def score_compatible(
    rules: TableRules, gold: str, response: str | None, *, as_of: date, arbiter: Arbiter | None = None
) -> Scores:
    """Return the figures that the reference computes for a response, against a gold table given as CSV text.

    `as_of` is today's date for the reference. If the reference's own code would fail, its figures are zero, and `reason` says why.
    Raises InputError if the extra is not installed.
    """
    require("widesearch", "pandas", "dateparser", by="compatible scoring")
    scoring = _Scoring(rules, as_of, arbiter or Known(), import_module("pandas"))
    if response is None:
        return _nothing(rules, gold, "no response")
    try:
        return await scoring.scores(gold, response)
    except _NoScoreError as error:
        return _nothing(rules, gold, str(error), scoring.faults)
    except Exception as error:
        # The reference logs any exception and counts the response as zero.
        return _nothing(rules, gold, f"the reference fails: {type(error).__name__}: {error}", scoring.faults)


class _NoScoreError(Exception):
    """The response has no table, or one of other columns."""


def _nothing(rules: TableRules, gold: str, reason: str, faults: Sequence[str] = ()) -> Scores:
    absent = float(max(0, sum(1 for row in csv.reader(io.StringIO(gold)) if row) - 1))
    lost = tuple(ColumnLoss(name, 0.0, 0.0, absent) for name in rules.names)
    return Scores(gold_rows=int(absent), columns=lost, reason=" ".join(reason.split()), faults=tuple(faults))


@dataclass
class _Scoring:
    rules: TableRules
    as_of: date
    arbiter: Arbiter
    pandas: Any
    faults: list[str] = field(default_factory=list[str])

    async def scores(self, gold: str, response: str) -> Scores:
        with _quiet():
            right = self._gold(gold)
            given = self._given(response)
        if given is None:
            raise _NoScoreError("no table")
        given.columns = [normal_name(name) for name in given.columns]
        required = list(self.rules.names)
        if set(required) != set(given.columns):
            given = given.rename(columns=dict(await self._columns(list(given.columns), required)))
        if set(required) != set(given.columns):
            raise _NoScoreError(f"the columns are {', '.join(given.columns)}, not {', '.join(required)}")
        with _quiet():
            # The reference tries to unify float with int columns here, by a test that is never true; so nothing happens.
            for name in required:
                right[name] = right[name].astype(str)
                given[name] = given[name].astype(str)
            given = given.drop_duplicates(subset=list(self.rules.key)).copy()
            right = right.drop_duplicates(subset=list(self.rules.key)).copy()
        await self._align(right, given)
        with _quiet():
            self._preprocess(right, given)
            equal = self._equal(right, given)
            joined = self.pandas.merge(
                right, given, on=list(self.rules.key), how="inner", suffixes=("_query", "_response")
            )
        return self._counted(await self._credits(joined), joined, right, given, equal)

    def _gold(self, text: str) -> Frame:
        table = self.pandas.read_csv(io.StringIO(text))
        table.columns = [normal_name(name) for name in table.columns]
        return table[list(self.rules.names)].copy()

    def _given(self, response: str) -> Frame | None:
        block = _table_text(response)
        if block is None:
            return None
        table = self.pandas.read_csv(io.StringIO(_as_csv(block)), sep="|")
        return table.loc[:, ~table.columns.str.startswith("Unnamed")].copy()

    async def _columns(self, given: Sequence[str], required: Sequence[str]) -> Mapping[str, str]:
        try:
            return await self.arbiter.align_columns(given, required)
        except ModelFault as fault:
            self.faults.append(str(fault))
            return {}

    async def _align(self, right: Frame, given: Frame) -> None:
        for name in self.rules.key:
            column = self.rules.column(name)
            if name in self.rules.unruled or not {"llm_judge", "exact_match"} & set(column.metric):
                continue
            try:
                found = dict(await self.arbiter.align_keys(column, given[name].tolist(), right[name].tolist()))
            except ModelFault as fault:
                self.faults.append(str(fault))
                found = dict[str, str]()
            # As in the reference, the column of old names makes the tables differ in shape, so they are never equal.
            given[name + _MAPPED] = given[name]
            given[name] = [found.get(cell, cell) for cell in given[name]]

    def _preprocess(self, right: Frame, given: Frame) -> None:
        if self.rules.stray:
            # As the reference, which looks these columns up in the tables and fails.
            raise KeyError(*sorted(self.rules.stray))
        steps = {"norm_str": _norm_str, "extract_number": _extract_number, "norm_date": self._norm_date}
        for column in self.rules.columns:
            if column.name in self.rules.unruled:
                continue
            for step in column.preprocess:
                given[column.name] = given[column.name].apply(steps[step])
                right[column.name] = right[column.name].apply(steps[step])

    def _equal(self, right: Frame, given: Frame) -> bool:
        if right.shape != given.shape:
            return False
        tables = [table.sort_values(by=list(self.rules.names)).reset_index(drop=True) for table in (right, given)]
        return tables[0].equals(tables[1])

    async def _credits(self, joined: Frame) -> dict[tuple[str, str], list[float]]:
        """Return the credit of every joined row, by column and metric."""
        # By metric, since the reference counts a column once for each of its metrics.
        found: dict[tuple[str, str], list[float]] = {}
        for column in self.rules.columns:
            if column.name in self.rules.key:
                found[column.name, "key"] = [1.0] * len(joined)
                continue
            if column.name in self.rules.unruled:
                raise KeyError(column.name)
            for metric in column.metric:
                if metric == "llm_judge":
                    found[column.name, metric] = await self._judged(column, joined)
                # A defect of the reference, kept: these metrics fail on an empty table.
                elif len(joined) == 0 and metric != "date_near":
                    raise ValueError("no key in common")
                else:
                    found[column.name, metric] = [
                        self._holds(metric, row[f"{column.name}_response"], row[f"{column.name}_query"], column)
                        for _, row in joined.iterrows()
                    ]
        return found

    async def _judged(self, column: Column, joined: Frame) -> list[float]:
        given, right = joined[f"{column.name}_response"].tolist(), joined[f"{column.name}_query"].tolist()
        try:
            return list(await self.arbiter.judge(column, list(zip(given, right, strict=True))))
        except ModelFault as fault:
            self.faults.append(str(fault))
            return [0.0] * len(given)

    def _holds(self, metric: str, given: str, right: str, column: Column) -> float:
        match metric:
            case "exact_match":
                return float(given.lower() == right.lower())
            case "in_match":
                return float(given in right)
            case "url_match":
                return float(_hosts(given) == _hosts(right))
            case "number_near":
                return _number_near(given, right, column.criterion)
            case _:
                return self._date_near(given, right)

    def _date_near(self, given: str, right: str) -> float:
        dates = [self._date_or_none(text) for text in (given, right)]
        if dates[0] is None or dates[1] is None:
            return float(dates[0] is None and dates[1] is None)
        return float(abs((dates[0] - dates[1]).days) <= _DAYS)

    def _date_or_none(self, text: str) -> datetime | None:
        try:
            return _parsed(text, self.as_of)
        except Exception:
            # dateparser may raise anything; the reference takes that for no date.
            return None

    def _norm_date(self, text: str) -> str:
        found = _parsed(text, self.as_of)
        return text if found is None else found.strftime("%Y-%m-%d")

    def _counted(
        self, credits: Mapping[tuple[str, str], list[float]], joined: Frame, right: Frame, given: Frame, equal: bool
    ) -> Scores:
        by_row = [float(min(column)) for column in zip(*credits.values(), strict=True)]
        width = len(self.rules.columns)
        rows = measure(sum(by_row), given=len(given), gold=len(right))
        items = measure(sum(map(sum, credits.values())), given=len(given) * width, gold=len(right) * width)
        whole = all(value == 1.0 for part in (rows, items) for value in (part.precision, part.recall, part.f1))
        best = {
            name: [
                min(column)
                for column in zip(*(found for (own, _), found in credits.items() if own == name), strict=True)
            ]
            for name in self.rules.names
        }
        return Scores(
            success=float(whole or equal),
            rows=rows,
            items=items,
            gold_rows=len(right),
            given_rows=len(given),
            columns=tuple(
                ColumnLoss(name, sum(found), len(found) - sum(found), float(max(0, len(right) - len(joined))))
                for name, found in best.items()
            ),
            cells=tuple(
                GoldCell(row, name, credit) for name, found in best.items() for row, credit in enumerate(found)
            ),
            faults=tuple(self.faults),
        )


@contextmanager
def _quiet() -> Generator[None]:
    # Deprecation warnings of pandas and dateparser are of no interest to the reader of a score.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _table_text(response: str) -> str | None:
    """Return the first fenced block of Markdown; else the first run of lines with pipes; else None."""
    fenced = _FENCE.search(response)
    if fenced is not None:
        return fenced[1]
    if response.count("|") < 4:
        return None
    start = max(response.rfind("\n", 0, response.index("|")), 0)
    end = response.find("\n", response.rindex("|"))
    found = _PIPES.search(response[start : len(response) if end == -1 else end])
    return None if found is None else found[0]


def _as_csv(block: str) -> str:
    lines = block.strip().split("\n")
    lines[0] = lines[0].replace(" ", "").lower()
    kept = [line.strip() for line in lines if "|" in line and not set(line.strip()) <= set("|- :")]
    return "\n".join("|".join(cell.strip() for cell in line.split("|")) for line in kept)


def _norm_str(text: object) -> str:
    return str(text).lower().strip().replace(" ", "").replace("*", "")


def _extract_number(text: object) -> str:
    found = _NUMBER.search(str(text).replace(",", ""))
    return "NULL" if found is None else found[0]


@lru_cache(maxsize=100_000)
def _parsed(text: str, as_of: date) -> datetime | None:
    settings = {"PREFER_DAY_OF_MONTH": "first", "RELATIVE_BASE": datetime.combine(as_of, time())}
    with _quiet():
        return import_module("dateparser").parse(text, settings=settings)


def _hosts(text: str) -> set[str]:
    urls: list[str] = _URL.findall(text)
    return {urlparse(url).netloc for url in urls}


def _number_near(given: str, right: str, criterion: Any) -> float:
    one, other = _number(given), _number(right)
    if one is None or other is None:
        return float(one is None and other is None and given == right)
    return float(abs(one - other) <= abs(other) * criterion)


def _number(text: str) -> float | None:
    share = "%" in text
    try:
        return float(text.replace("%", "")) / 100.0 if share else float(text)
    except (TypeError, ValueError):
        return None

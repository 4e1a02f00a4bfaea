"""The policy that answers a question about an invented web methodically, from nothing but the question."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from simtrain.agents.plan import PlanPlayer, answering, declining
from simtrain.agents.planned import Walking
from simtrain.agents.searching.asked import (
    ReadQuestion,
    Wanted,
    is_highest,
    is_ranked_by_date,
    read_question,
    term_path,
)
from simtrain.agents.searching.disputing import disputes
from simtrain.agents.searching.judging import meets
from simtrain.agents.searching.knowing import Knowing, Thing
from simtrain.agents.searching.pages import Likeness, plain_value, plural, stems
from simtrain.agents.searching.reader import Reading, WebReader
from simtrain.agents.searching.relating import is_relation, related
from simtrain.agents.searching.tables import counted, table
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.question import MISSING
from simtrain.values.passages import read_amount


class SearchSystematic(Policy):
    """Reads the question, pages through lists, opens every page, checks conditions, follows links, and looks elsewhere
    for what is missing.
    """

    continues: ClassVar[bool] = True

    budget: int = Field(default=300, ge=1, description="Searches and visits in one episode.")

    def player(self, briefing: Briefing) -> Player:
        """Return a fresh player for one episode."""
        return PlanPlayer(_Work(briefing, self.budget).done())


class _Work:
    def __init__(self, briefing: Briefing, budget: int) -> None:
        self.asked = read_question(briefing.prompt)
        self.knowing = Knowing(WebReader(briefing.tools, budget=budget), elsewhere=False)

    def done(self) -> Walking:
        """Yield the calls, return the answer."""
        asked = self.asked
        if asked is None:
            return declining("the question is not understood.")
        for condition in asked.conditions:
            name = condition.slots.get("value", "")
            # A name that no page knows makes the question unanswerable, and is cheaper to find out before all lists are read.
            if name.istitle() and " " in name and not (yield from self.knowing.exists(name)):
                return declining(f"no page tells of {name}.")
        if is_relation(asked):
            return answering(
                table([wanted.heading for wanted in asked.columns], (yield from related(asked, self.knowing)))
            )
        found: list[Thing] = []
        things = yield from self.knowing.listed(plural(asked.things), _labels(asked))
        if asked.names:
            known = {thing.name: thing for thing in things}
            things = [known.get(name, Thing(name, None)) for name in asked.names]
        for thing in things:
            if (yield from self._fits(thing, asked)):
                found.append(thing)
        # Only things that fit are worth a search for values that their own pages lack.
        self.knowing.elsewhere = True
        if asked.form == "single":
            return answering(found[0].name) if found else declining("no page tells of such a thing.")
        if asked.form == "dispute":
            rows = yield from disputes(asked, found, self.knowing)
        elif asked.form in ("groups", "best"):
            rows = yield from self._grouped(asked, found)
        else:
            if asked.form == "top":
                found = (yield from self._ranked(asked, found))[: int(asked.slots["count"])]
            rows = yield from self._rows(asked, found)
        # A table of N/A would claim an answer; nothing was found, so the honest end is to decline.
        if not any(cell not in (MISSING, *asked.names) for row in rows for cell in row):
            return declining("no page tells what is asked for.")
        return answering(table([wanted.heading for wanted in asked.columns], rows))

    def _fits(self, thing: Thing, asked: ReadQuestion) -> Reading[bool]:
        for condition in asked.conditions:
            if not (yield from meets(thing, condition, self.knowing)):
                return False
        return True

    def _rows(self, asked: ReadQuestion, things: Sequence[Thing]) -> Reading[list[list[str]]]:
        rows: list[list[str]] = []
        for thing in things:
            row: list[str] = []
            for wanted in asked.columns:
                row.append((yield from self._cell(thing, wanted, asked)))
            rows.append(row)
        return rows

    def _cell(self, thing: Thing, wanted: Wanted, asked: ReadQuestion) -> Reading[str]:
        if _same(wanted.path, (asked.things,)):
            return thing.name
        return (yield from self.knowing.cell(thing, wanted.path, wanted.unit))

    def _ranked(self, asked: ReadQuestion, things: Sequence[Thing]) -> Reading[list[Thing]]:
        """Return the things for which a page states the question's term, in the order that it asks for."""
        ranked: list[tuple[str | float, Thing]] = []
        for thing in things:
            value = yield from self._measure(asked, thing)
            if value is not None:
                ranked.append((value, thing))
        ranked.sort(key=lambda item: item[0], reverse=is_highest(asked))
        return [thing for _, thing in ranked]

    def _measure(self, asked: ReadQuestion, thing: Thing) -> Reading[str | float | None]:
        like: Likeness = "date" if is_ranked_by_date(asked) else "number"
        statement = yield from self.knowing.value(thing, term_path(asked, "term"), like)
        if statement is None:
            return None
        value = plain_value(statement.text, like)
        return value if like == "date" else read_amount(value)

    def _grouped(self, asked: ReadQuestion, things: Sequence[Thing]) -> Reading[list[list[str]]]:
        """Return a row for each group: aggregates over its members, or its first member."""
        groups: dict[str, list[Thing]] = {}
        path = term_path(asked, "group")
        for thing in things:
            statement = yield from self.knowing.value(thing, path, "text")
            if statement is not None:
                groups.setdefault(statement.text, []).append(thing)
        if asked.form == "groups":
            return (yield from counted(asked, groups, path, self.knowing))
        rows: list[list[str]] = []
        for name, members in groups.items():
            first = (yield from self._ranked(asked, members))[:1]
            rows += [[name, *row[1:]] for row in (yield from self._rows(asked, first))]
        return rows


def _same(first: Sequence[str], second: Sequence[str]) -> bool:
    return [stems(item) for item in first] == [stems(item) for item in second]


def _labels(asked: ReadQuestion) -> list[str]:
    """Return the labels of the things' own attributes: those of conditions and columns one step away."""
    paths = [item.path for item in (*asked.conditions, *asked.columns)] + [
        term_path(asked, "term"),
        term_path(asked, "group"),
    ]
    return list(dict.fromkeys(path[0] for path in paths if path and not _same(path[:1], (asked.things,))))

"""The whole check of a search world: constraints, pages, reach, questions, names, likeness to other worlds, closed books."""

import sqlite3
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from simtrain.contracts.question import Question
from simtrain.contracts.world import World
from simtrain.llm.client import ChatClient
from simtrain.validation.search_worlds.names import check_names, real_names
from simtrain.validation.search_worlds.overlap import overlap, runs
from simtrain.validation.search_worlds.questions import QuestionAudit, closed_book
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.search.checking.conflicts import check_conflicts
from simtrain.worlds.search.checking.facts import FactTables
from simtrain.worlds.search.checking.pages import check_pages
from simtrain.worlds.search.checking.pieces import NOTHING, AuthorProse
from simtrain.worlds.search.checking.reach import Reach
from simtrain.worlds.search.checking.sense import check_sense
from simtrain.worlds.search.checking.soundness import refuse_unsound
from simtrain.worlds.search.engine.web import web_of
from simtrain.worlds.search.file import blaming, open_file

ALIKE: Final = 0.3
"""The share of common five-word runs from which two worlds count as alike."""
SHOWN: Final = 100
"""Problems of one kind that a report lists; all are counted."""
RESULTS: Final = 10

Watch = Callable[[str, int | None], None]
"""Receives the name of each step of the check, and the number of its parts if known."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Options of the check: the depth of links, a list of names, worlds to compare with, the author's prose and file, a model to ask
    with its sampling, and the number of processes that read pages."""

    depth: int = 4
    names: Path | None = None
    others: tuple[tuple[str, Path], ...] = ()
    prose: AuthorProse = NOTHING
    data: JsonValue = None
    client: ChatClient | None = None
    sampling: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    workers: int = 1


class WorldCheck:
    """The check of one built file; `found` is the report, one part for each check."""

    def __init__(
        self,
        path: Path,
        units: Mapping[str, tuple[str, float]],
        options: CheckOptions,
        *,
        begin: Watch = lambda doing, total: None,
        advance: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Raises InputError for a file that is not a world or contradicts its own tables, and for a list of names that cannot be read."""
        self.lists = real_names(options.names)
        self.path, self.units, self.options = path, units, options
        self.begin, self.advance = begin, advance
        self.connection = open_file(path)
        # First, since the checks rely on pages without gaps and on cells of the right types.
        refuse_unsound(self.connection, path)
        self.found: JsonObject = {}
        self.reach: Container[int] = ()

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def constraints(self, check: Callable[[sqlite3.Connection], None], count: int) -> None:
        """Check the author's constraints; an InputError of `check` becomes a finding."""
        try:
            check(self.connection)
        except InputError as error:
            self._note("constraints", [str(error)], constraints=count)
        else:
            self._note("constraints", [], constraints=count)

    def read(self) -> None:
        """Check what the file alone shows: pages against facts, plausibility, reach, names, likeness."""
        self.begin("reading pages", self.connection.execute("select count(*) from _pages").fetchone()[0])
        options = self.options
        read = check_pages(
            self.connection, self.units, wording=options.prose, workers=options.workers, on_pages=self.advance
        )
        self._note("pages", map(str, read.problems), pages=read.pages, statements=read.statements, links=read.links)
        self.begin("deciding conflicts", None)
        decided = check_conflicts(self.connection, self.units)
        self._note("conflicts", decided.problems, facts=decided.facts, rules=decided.by_rule, alone=decided.alone)
        self.begin("reading what pages tell", read.pages)
        sense = check_sense(self.connection, options.data, on_pages=self.advance)
        self._note("sense", map(str, sense.problems), rules=sense.rules, dates=sense.dates, lists=sense.lists)
        web = web_of(self.path)
        found = Reach(
            self.connection,
            lambda query: [hit.page for hit in web.ranking.top(query, count=RESULTS)],
            depth=options.depth,
            begin=lambda total: self.begin("looking for pages", total),
            on_page=self._one,
        )
        self.reach = found
        lost = [f"{url} is reached neither by links nor by a search" for url in found.lost]
        by_links = {str(distance): count for distance, count in found.links.items()}
        self._note("reach", lost, links=by_links, searched=found.searched, tried=len(found.tried))
        self.begin("comparing names", None)
        names = check_names(FactTables(self.connection).names(), self.lists)
        taken = [f"{name!r} is in the list of {source}" for name, source in names.taken.items()]
        self._note("names", taken, names=names.names, lists=names.lists, words=len(names.words))
        self._compare()

    def _compare(self) -> None:
        self.begin("comparing worlds", len(self.options.others))
        own = runs(self.connection) if self.options.others else set[str]()
        shares: dict[str, float] = {}
        for name, path in self.options.others:
            with blaming(path), closing(open_file(path)) as other:
                shares[name] = round(overlap(own, runs(other)), 4)
            self.advance(1)
        alike = [
            f"{share:.0%} of the five-word runs are those of {name}" for name, share in shares.items() if share >= ALIKE
        ]
        self._note("likeness", alike, shares=shares)

    async def questions(self, world: World, questions: Sequence[Question]) -> None:
        """Check the questions of the world, and ask a closed-book model if one is named. Raises ModelFault."""
        self.begin("auditing questions", len(questions))
        audited = await QuestionAudit(world, self.reach).audit(questions, on_question=self._one)
        guesses = {method: round(mean, 4) for method, mean in audited.guesses.items()}
        best = max(guesses.values())
        facts = {"questions": audited.questions, "cells": audited.cells, "guess": best, "guesses": guesses}
        self._note("questions", audited.findings, **facts)
        if self.options.client is None:
            return
        self.begin("asking a model without books", len(questions))
        client = self.options.client
        known = await closed_book(client, world, questions, sampling=self.options.sampling, on_question=self._one)
        problems = [f"the model {client.model}: {problem}" for problem in known.problems]
        facts = {"model": client.model, "item_f1": round(known.item_f1, 4), "asked": known.questions, "cut": known.cut}
        self._note("closed_book", problems, **facts)

    def _one(self) -> None:
        self.advance(1)

    def _note(self, part: str, problems: Iterable[str], **facts: object) -> None:
        found = list(problems)
        self.found[part] = {**facts, "problems": found[:SHOWN], "wrong": len(found)}

    @property
    def wrong(self) -> int:
        """The number of problems found."""
        return sum(part["wrong"] for part in self.found.values())

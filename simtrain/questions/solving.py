"""Solves a question in its world: the gold with its facts, the path through the search engine, the plan, the difficulty."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from simtrain.contracts.plan import Plan
from simtrain.contracts.question import Difficulty, Question
from simtrain.contracts.world import World
from simtrain.questions.browser import Browser
from simtrain.questions.gathering import Gathered, gather
from simtrain.questions.paths import FactPath, FactUnreachable, Finder, unreachable
from simtrain.questions.plans import abstaining, plan_of
from simtrain.questions.schema import WorldSchema
from simtrain.questions.stating import Needed, ReadStatement, Stating, grouped

MOST_FACTS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Solved:
    """A question's gold rows with their facts, and the path on which every cell is read."""

    gathered: Gathered
    statements: Mapping[Needed, list[ReadStatement]]
    path: FactPath


class Solver:
    """Solves questions about one world. Opened pages and searches are cached."""

    def __init__(self, world: World, schema: WorldSchema | None = None) -> None:
        self.world = world
        self.schema = schema or WorldSchema(world)
        self.browser = Browser(world)
        self.stating = Stating(self.schema)
        self.finder = Finder(self.schema, self.browser)

    def solve(self, question: Question) -> Solved:
        """Return gold and path. Raises InputError for a question without unique gold, FactUnreachable for a fact that cannot be read."""
        return self.find(gather(question, self.world))

    def find(self, gathered: Gathered) -> Solved:
        """Return the path to gathered facts. Raises FactUnreachable."""
        statements = self._statements(gathered.facts)
        return Solved(gathered, statements, self.finder.path(statements))

    def _statements(self, facts: list[Needed]) -> dict[Needed, list[ReadStatement]]:
        """Return the statements of each fact with a value. Raises FactUnreachable for a fact without any."""
        if len(facts) > MOST_FACTS:
            raise FactUnreachable(f"{len(facts)} facts are too many to be gathered by one agent")
        values = self.stating.values(facts)
        found: dict[Needed, list[ReadStatement]] = {}
        # Small groups first: if a fact is stated nowhere, this is found out cheaply.
        for group in sorted(grouped(values).values(), key=len):
            found |= self.stating.statements({fact: values[fact] for fact in group})
            silent = next((fact for fact in group if not found[fact]), None)
            if silent is not None:
                raise unreachable(silent)
        return {fact: found[fact] for fact in values}

    def plan(self, question: Question, *, without: frozenset[str] = frozenset()) -> Plan:
        """Return the oracle's plan, `without` some pages (URLs) and searches. Raises InputError if the question cannot be solved."""
        if question.premise is not None:
            return abstaining([self.browser.search_call(name) for name in question.premise.names], question.premise)
        gathered = gather(question, self.world)
        finder = Finder(self.schema, self.browser, without=without) if without else self.finder
        return plan_of(question, gathered, finder.path(self._statements(gathered.facts)))

    def difficulty(self, question: Question, solved: Solved, *, hops: int, distractors: int) -> Difficulty:
        """Return the difficulty, measured on the path."""
        facts = solved.gathered.facts
        return Difficulty(
            searches=solved.path.searches,
            visits=solved.path.visits,
            facts=len(facts),
            hops=hops,
            rows=len(solved.gathered.rows),
            columns=len(question.columns),
            pages=1 if _on_one_page(solved) else max(2, solved.path.pages),
            distractors=distractors,
            conflict=round(self.stating.disputed(facts) / len(facts), 3) if facts else 0.0,
        )


def _on_one_page(solved: Solved) -> bool:
    """Return True if one page states every cell of the answer."""
    pages: set[int] | None = None
    for fact in solved.gathered.stated:
        if fact in solved.statements:
            found = {statement.page for statement in solved.statements[fact]}
            pages = found if pages is None else pages & found
            if not pages:
                return False
    return True


# Few: a solver holds the pages and searches of its world.
@lru_cache(maxsize=4)
def solver_of(world: World) -> Solver:
    """Return the solver of a world, shared by all its questions."""
    return Solver(world)


@lru_cache(maxsize=1024)
def _plan(world: World, line: str, without: frozenset[str]) -> Plan:
    return solver_of(world).plan(Question.model_validate_json(line), without=without)


def plan_in(world: World, question: Question, *, without: frozenset[str] = frozenset()) -> Plan:
    """Return the oracle's plan for a question in a world, cached; `without` some pages (URLs) and searches.

    Raises InputError if the question cannot be solved there.
    """
    # Cached by its JSON, since a Question holds dicts and cannot be hashed.
    return _plan(world, question.model_dump_json(), without)

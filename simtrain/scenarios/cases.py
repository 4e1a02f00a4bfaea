"""The cases of a scenario in one variant of its world: from SQL, a literal list, questions about a search world, or broken repositories."""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from simtrain.contracts.question import QuestionSet
from simtrain.contracts.scenario import Cases, Scenario
from simtrain.contracts.world import Variant, World
from simtrain.files.yaml_files import Document
from simtrain.questions.asking import cases_about
from simtrain.scenarios.repository_tasks import task_cases
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, canonical

# Questions of a large world take long to generate.
_REMEMBERED = 16
_asked: OrderedDict[tuple[str, str, Variant, bytes], list[JsonObject]] = OrderedDict()


def cases_of(scenario: Scenario, variant: Variant, seed: int) -> list[JsonObject]:
    """Return the cases in one variant of the world, in an order independent of the query planner; the seed draws `sample`.

    A world of a seed that the author has not chosen may have none. Raises InputError for any other.
    """
    cases, document = scenario.spec.cases, scenario.document
    if cases.sql is not None:
        with document.locating(("cases", "sql")):
            found = scenario.source.build(variant).query(cases.sql)
        # SQLite may return rows in another order in another version.
        rows = sorted(found, key=canonical)
    elif cases.questions is not None:
        rows = _questions(scenario, variant)
    elif cases.tasks is not None:
        rows = task_cases(cases, document)
    else:
        rows = list(cases.rows or [])
    if not rows and not scenario.seeds:
        raise document.error(("cases",), "the cases are empty", "the query yields no row in this world")
    if cases.sample is None or cases.sample >= len(rows):
        return rows
    return Stream(derive(seed, scenario.name, "sample")).sample(rows, cases.sample)


def first_case(cases: Cases, world: World, document: Document) -> JsonObject:
    """Return one case, for trying templates and SQL before anything is played. Raises InputError for impossible cases."""
    if sum(given is not None for given in (cases.sql, cases.rows, cases.questions, cases.tasks)) != 1:
        raise document.error(("cases",), "cases need one of `sql`, `rows`, `questions` and `tasks`")
    if cases.budget is not None and cases.questions is None:
        raise document.error(("cases", "budget"), "a budget is for questions, whose needs are measured", "use `limits`")
    if cases.questions is not None:
        first = next(_asking(cases, world, document), None)
        if first is None:
            problem = "no question that fits these bounds can be asked of this world"
            raise document.error(("cases", "questions"), problem, "widen `hops` or `rows`")
        return first
    if cases.tasks is not None:
        return task_cases(cases, document)[0]
    with document.locating(("cases", "sql")):
        rows = world.query(cases.sql) if cases.sql is not None else list(cases.rows or [])
    if not rows:
        raise document.error(
            ("cases",), "the cases are empty", "the query yields no row in this world" if cases.sql else None
        )
    for index, row in enumerate(rows):
        # Checked here, or a template would fail in the middle of a run.
        if set(row) != set(rows[0]):
            raise document.error(("cases", index), "the cases do not all have the same parameters")
    return rows[0]


def question_file(cases: Cases, document: Document) -> Path | None:
    """Return the file of questions that the cases name, relative to the scenario's file; None if they name none."""
    return document.path.parent / cases.questions if isinstance(cases.questions, str) else None


def _questions(scenario: Scenario, variant: Variant) -> list[JsonObject]:
    """Return the questions about one variant of the world, generated once per process."""
    asked = scenario.spec.cases.questions
    written = asked if isinstance(asked, str) else asked.model_dump(mode="json") if asked else None
    key = (scenario.digest, scenario.source.digest, variant, canonical(written))
    if key not in _asked:
        _asked[key] = list(_asking(scenario.spec.cases, scenario.source.build(variant), scenario.document))
        while len(_asked) > _REMEMBERED:
            _asked.popitem(last=False)
    _asked.move_to_end(key)
    return _asked[key]


def _asking(cases: Cases, world: World, document: Document) -> Iterator[JsonObject]:
    asked = question_file(cases, document) or cases.questions
    assert asked is None or not isinstance(asked, str)
    with document.at(("cases", "questions")):
        yield from cases_about(world, asked or QuestionSet())

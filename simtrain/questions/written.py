"""Questions of handwritten families: one for each row of parameters, checked and measured like composed ones."""

from collections.abc import Iterator, Sequence

from simtrain.contracts.question import (
    CellSource,
    Column,
    Evidence,
    FamilyColumn,
    HandwrittenFamily,
    Language,
    Question,
)
from simtrain.contracts.world import World
from simtrain.files.templates import Text
from simtrain.questions.asked_for import asks_for_something, given_cells
from simtrain.questions.headings import typed_column
from simtrain.questions.making import Made
from simtrain.questions.schema import QuestionAttribute, WorldSchema
from simtrain.questions.solving import Solver
from simtrain.questions.sql import skeleton
from simtrain.questions.sql_reading import joins, loosened
from simtrain.values.errors import InputError, nearest
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, canonical


def written_questions(
    solver: Solver, family: HandwrittenFamily, *, languages: Sequence[Language] | None = None, seed: int = 0
) -> Iterator[Made]:
    """Yield the questions of a family about the solver's world, in an order that does not depend on SQLite's query planner.

    Raises InputError, with the place in the family, for SQL that fails, yields nothing or has ambiguous keys, for unknown attributes,
    and for a cell that no reachable page states.
    """
    columns = [_column(solver.schema, name, given) for name, given in family.columns.items()]
    evidence = _evidence(solver.schema, family)
    rows = _rows(solver, family)
    styles: dict[Language, list[Text]] = {
        language: [Text(wording) for wording in family.wording[language]]
        for language in languages or family.wording
        if language in family.wording
    }
    if not styles:
        raise InputError(f"no wording in {' or '.join(languages or ())}", place="wording")
    subject = family.columns[family.key[0]].attribute.partition(".")[0] if family.key[0] in family.columns else ""
    hops = joins(family.sql, solver.schema).hops(subject)
    looser = list(loosened(family.sql.strip().rstrip(";"), solver.schema))
    for number, row in enumerate(rows, start=1):
        # A stream for each question, so that one that is left out does not change the others.
        stream = Stream(derive(seed, family.name, number))
        language = stream.choose(list(styles))
        question = Question(
            id=f"{solver.world.name}_{family.name}_{number:05}",
            world=solver.world.name,
            language=language,
            query=stream.choose(styles[language]).render(row),
            sql=family.sql,
            parameters={name: value for name, value in row.items() if f":{name}" in family.sql},
            key=family.key,
            columns=tuple(columns),
            skeleton=skeleton(family.sql),
            answer=family.answer,
            evidence=evidence,
        )
        solved = solver.solve(question)
        gold = solved.gathered.rows
        if not asks_for_something(gold, given_cells(question, gold, question.query)):
            continue
        distractors = sum(_rows_more(solver.world, wider, question, len(gold)) for wider in looser)
        measured = solver.difficulty(question, solved, hops=hops, distractors=distractors)
        yield Made(question.model_copy(update={"difficulty": measured}), gold)


def _rows_more(world: World, wider: str, question: Question, rows: int) -> int:
    """Return the number of additional rows of a query without one of its conditions."""
    found = world.query(f"select count(*) as n from ({wider})", question.parameters)
    return max(0, found[0]["n"] - rows)


def _rows(solver: Solver, family: HandwrittenFamily) -> list[JsonObject]:
    try:
        rows = solver.world.query(family.parameters)
    except InputError as error:
        raise error.at(place="with") from None
    if not rows:
        raise InputError("the SQL of the parameters yields no row", place="with")
    return sorted(rows, key=canonical)


def _column(schema: WorldSchema, name: str, given: FamilyColumn) -> Column:
    attribute = _attribute(schema, name, given)
    column = typed_column(attribute, name)
    if given.tolerance is not None:
        if not attribute.numeric:
            raise InputError(
                f"{given.attribute} is not a number, so it cannot have a tolerance", place=f"columns.{name}.tolerance"
            )
        column = column.model_copy(update={"criterion": given.tolerance})
    return column.model_copy(update={"names": _named(attribute)})


def _named(attribute: QuestionAttribute) -> str | None:
    if attribute.kind == "name":
        return attribute.type
    return attribute.target


def _attribute(schema: WorldSchema, name: str, given: FamilyColumn) -> QuestionAttribute:
    kind, _, attribute = given.attribute.partition(".")
    place = f"columns.{name}.attribute"
    if kind not in schema.tables:
        raise InputError(f"the world has no type {kind!r}", remedy=nearest(kind, schema.tables), place=place)
    known = schema.tables[kind].attributes
    if attribute not in known:
        raise InputError(f"{kind} has no attribute {attribute!r}", remedy=nearest(attribute, known), place=place)
    return known[attribute]


def _evidence(schema: WorldSchema, family: HandwrittenFamily) -> Evidence:
    """Return the evidence: the gold rows, with the ids of the entities that they name."""
    ids: list[str] = []
    cells: dict[str, CellSource] = {}
    for place, (name, given) in enumerate(family.columns.items()):
        attribute = _attribute(schema, name, given)
        owner = name if attribute.kind == "name" else given.of or family.key[0]
        named = _naming(schema, family, name, owner)
        if schema.tables[attribute.type].kind != "entity":
            raise InputError(
                f"{attribute.type} is a relation; only entities are found by name", place=f"columns.{name}"
            )
        ids.append(f"(select id from {attribute.type} where name = {named}) as _{place}")
        cells[name] = CellSource(attribute=given.attribute, entity=f"_{place}")
    return Evidence(sql=f"select gold.*, {', '.join(ids)} from ({family.sql.strip().rstrip(';')}) as gold", cells=cells)


def _naming(schema: WorldSchema, family: HandwrittenFamily, name: str, owner: str) -> str:
    """Return the SQL for the name of a column's entity: a parameter, or a column of names."""
    place = f"columns.{name}.of"
    if owner.startswith(":"):
        if owner not in family.sql:
            raise InputError(f"the SQL has no parameter {owner}", place=place)
        return owner
    if owner not in family.columns:
        raise InputError(f"there is no column {owner!r}", remedy=nearest(owner, family.columns), place=place)
    if _attribute(schema, owner, family.columns[owner]).kind not in ("name", "ref"):
        raise InputError(
            f"the column {owner!r} does not hold names",
            remedy="say whose this is: `of: COLUMN`, or `of: :PARAMETER`",
            place=place,
        )
    return f'gold."{owner}"'

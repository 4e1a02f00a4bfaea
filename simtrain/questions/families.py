"""The families of composed questions, from conditions on one entity to facts that two sources dispute."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from simtrain.questions.composing import SHOWN, Composer
from simtrain.questions.describing import described
from simtrain.questions.schema import QuestionAttribute, QuestionTable
from simtrain.questions.shapes import (
    Combine,
    Dispute,
    DrawRefused,
    Exists,
    Extreme,
    GroupMeasure,
    JoinNode,
    Shape,
    Term,
    Test,
    drawn,
)
from simtrain.values.seeding import Stream

MOST_HOPS: Final = 4
"""Most references between the subject and the farthest fact."""

MOST_NAMED: Final = 4
"""Most entities that a question names when it asks for facts about them."""

LONGEST_RANKING: Final = 15


def looked_up(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for facts about a few named entities, and about things `hops` references away from them."""
    low, high = composer.bounds.rows
    nodes = composer.rooted(composer.entities, hops, stream)
    if low > MOST_NAMED:
        raise DrawRefused
    names = composer.schema.names[nodes[0].table]
    named = stream.sample(sorted(names.values()), stream.integer(low, min(MOST_NAMED, high)))
    shape = Shape("looked_up", nodes, (Term(0, "name"),), tests=(Test(Term(0, "name"), "in", tuple(sorted(named))),))
    if hops:
        far = [item.name for item in composer.schema.tables[nodes[-1].table].attributes.values() if item.kind in SHOWN]
        shape = replace(shape, columns=(*shape.columns, Term(hops, stream.choose(["name", *far]))))
    return composer.columned(shape, stream, most=5)


def filtered(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for entities by one to three conditions of their own."""
    nodes = composer.rooted(composer.entities, hops, stream)
    shape = Shape("filtered", nodes, (Term(0, "name"),))
    count = stream.choose((1, 2, 3))
    # The shares of independent conditions multiply: each takes the root of the wanted one.
    share = composer.share(nodes[0].table, stream) ** (1 / count)
    for _ in range(count):
        shape = composer.tested(shape, stream, range(1), share)
    return composer.columned(shape, stream)


def joined(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for entities by something `hops` references away: its name, or a condition on it."""
    return _joined("joined", composer, composer.entities, hops, stream)


def linked(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for rows of a relation, by something at either end or beyond it, and by the time for which they hold."""
    return _joined("linked", composer, composer.relations, hops, stream)


def _joined(family: str, composer: Composer, tables: list[QuestionTable], hops: int, stream: Stream) -> Shape:
    walk = composer.rooted(tables, hops, stream)
    nodes, terms, key = composer.keyed(walk)
    shape = Shape(family, nodes, tuple(terms), key)
    shape = composer.reached(shape, hops, stream, share=composer.share(nodes[0].table, stream))
    if stream.random() < 0.4:
        shape = composer.tested(shape, stream, range(hops), 0.5)
    if composer.schema.tables[shape.subject].lasting:
        shape = _timed(composer, shape, stream)
    return composer.columned(shape, stream)


def _timed(composer: Composer, shape: Shape, stream: Stream) -> Shape:
    mark = stream.random()
    term = Term(0, "since")
    if mark < 0.3:
        return replace(shape, tests=(*shape.tests, Test(term, "current")))
    if mark < 0.45 and composer.schema.has_nulls(composer.schema.tables[shape.subject].attributes["until"]):
        return replace(shape, tests=(*shape.tests, Test(Term(0, "until"), "ended")))
    if mark < 0.75:
        value, _ = stream.choose(composer.schema.values(composer.schema.tables[shape.subject].attributes["since"]))
        day = f"{min(int(str(value)[:4]) + 1, int(composer.schema.today[:4]))}-01-01"
        # A day on which a row ends is avoided: words do not say if it still holds on that day.
        ends = composer.schema.values(composer.schema.tables[shape.subject].attributes["until"])
        if all(end != day for end, _ in ends):
            return replace(shape, tests=(*shape.tests, Test(term, "on", (day,))))
    return shape


def temporal(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for entities by comparing a date (or an amount) with a similar one `hops` references away."""
    nodes = composer.rooted(composer.entities, hops, stream)
    pairs = [
        (Term(0, own.name), Term(hops, other.name))
        for own in composer.ordered(composer.schema.tables[nodes[0].table])
        for other in composer.ordered(composer.schema.tables[nodes[-1].table])
        # Numbers of one unit may still be of different things, a length and a depth: they are compared only under the same name.
        if own.kind == other.kind and own.unit == other.unit and (own.kind == "date" or own.name == other.name)
    ]
    first, second = drawn(pairs, stream)
    test = Test(first, stream.choose(("more", "less")), other=second)
    shape = Shape("temporal", nodes, (Term(0, "name"), first, second), tests=(test,))
    return composer.tested(shape, stream, range(len(nodes)), 0.4)


def counted(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask, for each entity `hops` references away, for the number of rows that lead to it, their sum or their mean."""
    nodes = composer.rooted([*composer.entities, *composer.relations], hops, stream)
    if not composer.groups(nodes):
        raise DrawRefused
    subject = composer.schema.tables[nodes[0].table]
    shape = Shape("counted", nodes, (Term(hops, "name"),), group=hops)
    numbers = composer.additive(subject)
    combine: Combine = stream.choose(("count", "count", "sum", "mean")) if numbers else "count"
    term = Term(0, stream.choose(numbers).name) if combine != "count" else _counting(subject)
    measures = [GroupMeasure(combine, term)]
    if combine != "count" and stream.random() < 0.4:
        measures.insert(0, GroupMeasure("count", _counting(subject)))
    # A condition on the subject keeps the number of facts to be gathered small.
    low, high = composer.bounds.rows
    share = min(0.8, stream.number(2 * low, 3 * high) / composer.schema.size(subject.name))
    shape = composer.tested(shape, stream, range(1), share)
    if subject.lasting and stream.random() < 0.5:
        shape = replace(shape, tests=(*shape.tests, Test(Term(0, "since"), "current")))
    extra = [item for item in composer.schema.tables[nodes[hops].table].attributes.values() if item.kind in SHOWN]
    columns = (
        *shape.columns,
        *([Term(hops, stream.choose(extra).name)] if extra and stream.random() < 0.5 else []),
    )
    return replace(shape, columns=(*columns, *measures))


def _counting(subject: QuestionTable) -> Term:
    """Return the term that is read of each counted row: its name; for a relation, the name at its first end."""
    return Term(0, "name") if subject.kind == "entity" else Term(1, "name")


def topped(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for the first few by a number or a date, among all or among those that meet a condition `hops` references away."""
    nodes = composer.rooted(composer.entities, hops, stream)
    term = _ordering(composer, nodes, stream)
    low, high = composer.bounds.rows
    extreme = Extreme(term, stream.random() < 0.6, stream.integer(low, max(low, min(high, LONGEST_RANKING))))
    shape = Shape("topped", nodes, (Term(0, "name"), term), extreme=extreme)
    if hops or stream.random() < 0.8:
        shape = composer.reached(shape, hops, stream, share=0.4)
    return composer.columned(shape, stream, most=4)


def best(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask, for each referenced entity, for the first of its rows; with more hops, among rows with a condition further away."""
    nodes = composer.rooted(composer.entities, hops, stream)
    if not composer.groups(nodes):
        raise DrawRefused
    term = _ordering(composer, nodes, stream)
    columns = (Term(1, "name"), Term(0, "name"), term)
    extreme = Extreme(term, stream.random() < 0.6, group=1)
    shape = Shape("best", nodes, columns, extreme=extreme)
    if hops > 1:
        shape = composer.reached(shape, hops, stream, share=0.3)
    elif stream.random() < 0.5:
        shape = composer.tested(shape, stream, range(1), 0.5)
    # Every group gives a row, so with too many groups the groups themselves are narrowed.
    groups, most = composer.schema.size(nodes[1].table), composer.bounds.rows[1]
    if hops == 1 and groups > most:
        shape = composer.tested(shape, stream, range(1, 2), 0.7 * most / groups)
    return shape


def _ordering(composer: Composer, nodes: tuple[JoinNode, ...], stream: Stream) -> Term:
    """Return the attribute of the subject by which its rows are ranked."""
    return Term(0, drawn(composer.ordered(composer.schema.tables[nodes[0].table]), stream).name)


def related(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for entities by a relation: by the name at its other end, or by a condition beyond it."""
    exists = _tied(composer, hops, stream)
    test = exists.test
    if stream.random() < 0.5:
        far = composer.schema.along(exists.table, exists.path)[-1].target or ""
        drawn = composer.tested(Shape("", (JoinNode(far),), ()), stream, range(1), 0.2)
        test = replace(drawn.tests[0], term=Term(len(exists.path), drawn.tests[0].term.attribute))
    shape = Shape(
        "related", (JoinNode(_pointed_at(composer, exists)),), (Term(0, "name"),), exists=(replace(exists, test=test),)
    )
    if stream.random() < 0.5:
        shape = composer.tested(shape, stream, range(1), 0.5)
    return composer.columned(shape, stream, most=4)


def differed(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for entities that a relation links to one name but not to another, or (one hop) that no row refers to."""
    exists = _tied(composer, hops, stream)
    shape = Shape("differed", (JoinNode(_pointed_at(composer, exists)),), (Term(0, "name"),))
    if hops == 1:
        shape = replace(shape, exists=(replace(exists, negated=True),))
        shape = composer.tested(shape, stream, range(1), composer.share(shape.subject, stream) * 2)
        return composer.columned(shape, stream, most=4)
    tied = composer.tied(exists)
    low = composer.bounds.rows[0]
    first = stream.choose(sorted(tied))
    # The second name must exclude some entities and leave enough.
    others = [name for name, ids in tied.items() if ids & tied[first] and len(tied[first] - ids) >= low]
    tests = [Test(Term(len(exists.path), "name"), "=", (name,)) for name in (first, drawn(sorted(others), stream))]
    both = replace(exists, test=tests[0], current=False), replace(exists, test=tests[1], current=False, negated=True)
    return composer.columned(replace(shape, exists=both), stream, most=4)


def _tied(composer: Composer, hops: int, stream: Stream) -> Exists:
    """Return a condition: rows of a relation refer to the entity by one end, with a path from the other end to a name."""
    walks = [walk for table in composer.relations for walk in composer.walks(table.name, max(1, hops - 1))]
    choices = [
        (walk, ref.name)
        for walk in walks
        for ref in _unambiguous_ends(composer.schema.tables[walk[0].table])
        if ref.name != walk[1].ref
    ]
    walk, ref = drawn(choices, stream)
    lasting = composer.schema.tables[walk[0].table].lasting
    found = Exists(walk[0].table, ref, current=lasting and stream.random() < 0.4)
    if hops == 1:
        return found
    name = stream.choose(sorted(composer.schema.names[walk[-1].table].values()))
    test = Test(Term(hops - 1, "name"), "=", (name,))
    return replace(found, path=tuple(node.ref for node in walk[1:]), test=test)


def _unambiguous_ends(relation: QuestionTable) -> list[QuestionAttribute]:
    """Return the references of a relation to types that only one of them leads to. Words could not tell two apart."""
    targets = Counter(ref.target for ref in relation.refs)
    return [ref for ref in relation.refs if targets[ref.target] == 1]


def _pointed_at(composer: Composer, exists: Exists) -> str:
    return composer.schema.tables[exists.table].attributes[exists.ref].target or ""


def disputed(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for entities about which two sites disagree, with both statements."""
    choices = [choice for choice in composer.disputes if composer.walks(choice[0].type, hops)]
    attribute, trusted, other = drawn(choices, stream)
    nodes = stream.choose(composer.walks(attribute.type, hops))
    dispute = Dispute(attribute.name, trusted, other)
    shape = Shape("disputed", nodes, (Term(0, "name"),), dispute=dispute)
    if hops or stream.random() < 0.8:
        shape = composer.reached(shape, hops, stream, share=0.6, named=0.3)
    # A disputed attribute cannot also decide which rows are meant.
    if any(test.term == Term(0, attribute.name) for test in shape.tests):
        raise DrawRefused
    return shape


def single(composer: Composer, hops: int, stream: Stream) -> Shape:
    """Ask for one entity, identified by its own attributes and by a distant thing that is itself only described."""
    nodes = composer.rooted(composer.entities, hops, stream)
    return described(composer.schema, nodes, stream)


Draw: TypeAlias = Callable[[Composer, int, Stream], Shape]


@dataclass(frozen=True, slots=True)
class Family:
    """A family: the function that draws its shapes, and its fewest and most hops."""

    draw: Draw
    fewest: int = 0
    most: int = MOST_HOPS


FAMILIES: Final[dict[str, Family]] = {
    "looked_up": Family(looked_up),
    "filtered": Family(filtered, most=0),
    "joined": Family(joined, fewest=1),
    "linked": Family(linked, fewest=1),
    "temporal": Family(temporal, fewest=1),
    "counted": Family(counted, fewest=1),
    "topped": Family(topped),
    "best": Family(best, fewest=1),
    "related": Family(related, fewest=2),
    "differed": Family(differed, fewest=1),
    "disputed": Family(disputed),
    "single": Family(single, fewest=1),
}

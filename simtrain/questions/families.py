"""The families of composed questions: what each draws, from conditions on one entity to what two sources say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from simtrain.questions.composing import SHOWN, Composer
from simtrain.questions.schema import Table
from simtrain.questions.shapes import Combine, Dispute, Exists, Extreme, Measure, Node, Shape, Term, Test
from simtrain.seeding import Stream

MOST_NAMED: Final = 4
"""Entities that a question names, where it asks what is told of them."""

LONGEST_RANKING: Final = 15

_WALKS: Final = 4
"""Tries to walk so far from one table."""


def looked_up(composer: Composer, stream: Stream) -> Shape | None:
    """What is told of a few entities that the question names, and of what they refer to."""
    low, high = composer.bounds.rows
    if low > MOST_NAMED:
        return None
    nodes = composer.rooted(stream, stream.integer(composer.bounds.hops[0], min(2, composer.bounds.hops[1])))
    if nodes is None:
        return None
    names = composer.schema.names[nodes[0].table]
    named = stream.sample(sorted(names.values()), stream.integer(low, min(MOST_NAMED, high)))
    shape = Shape("looked_up", nodes, (Term(0, "name"),), tests=(Test(Term(0, "name"), "in", tuple(sorted(named))),))
    if len(nodes) > 1:
        far = [item.name for item in composer.schema.table(nodes[-1].table).attributes.values() if item.kind in SHOWN]
        shape = replace(shape, columns=(*shape.columns, Term(len(nodes) - 1, stream.choose(["name", *far]))))
    return composer.columned(shape, stream, most=5)


def filtered(composer: Composer, stream: Stream) -> Shape | None:
    """Entities by one to three conditions of their own."""
    nodes = composer.rooted(stream, 0)
    if nodes is None:
        return None
    shape: Shape | None = Shape("filtered", nodes, (Term(0, "name"),))
    count = stream.choose((1, 2, 3))
    share = composer.share(nodes[0].table, stream) ** (1 / count)
    for _ in range(count):
        shape = shape and composer.tested(shape, stream, range(1), share)
    return shape and composer.columned(shape, stream)


def joined(composer: Composer, stream: Stream) -> Shape | None:
    """Rows by what lies one to four references away: its name, or conditions on it."""
    hops = stream.integer(max(1, composer.bounds.hops[0]), max(1, composer.bounds.hops[1]))
    walked = _far(composer, hops, stream)
    if walked is None:
        return None
    nodes, terms, key = composer.keyed(walked)
    shape: Shape | None = Shape("joined", nodes, tuple(terms), key)
    if stream.random() < 0.5:
        target = nodes[hops].table
        name = stream.choose(sorted(composer.schema.names[target].values()))
        shape = replace(shape, tests=(Test(Term(hops, "name"), "=", (name,)),))
    else:
        shape = composer.tested(shape, stream, range(hops, hops + 1), composer.share(nodes[0].table, stream))
    if shape is not None and stream.random() < 0.4:
        shape = composer.tested(shape, stream, range(hops), 0.5)
    if shape is not None and composer.schema.table(shape.subject).lasting:
        shape = _timed(composer, shape, stream)
    return shape and composer.columned(shape, stream)


def _far(composer: Composer, hops: int, stream: Stream) -> tuple[Node, ...] | None:
    """A walk of so many references, from wherever one begins; relations lie before entities, so that they give the longest."""
    tables = [table for table in (*composer.entities, *composer.relations) if table.refs]
    for table in stream.shuffled(tables if hops > 1 else [table for table in tables if table.kind == "entity"]):
        for _ in range(_WALKS):
            nodes = composer.walked(table.name, hops, stream)
            if nodes is not None:
                return nodes
    return None


def linked(composer: Composer, stream: Stream) -> Shape | None:
    """Rows of a relation, by its ends, its own attributes, or the time for which they hold."""
    if not composer.relations:
        return None
    subject = stream.choose(composer.relations)
    nodes, terms, key = composer.keyed((Node(subject.name),))
    shape: Shape | None = Shape("linked", nodes, tuple(terms), key)
    if stream.random() < 0.5:
        end = stream.choose((1, 2))
        name = stream.choose(sorted(composer.schema.names[nodes[end].table].values()))
        shape = replace(shape, tests=(Test(Term(end, "name"), "=", (name,)),))
    else:
        shape = composer.tested(shape, stream, range(1, 3), composer.share(subject.name, stream))
    if shape is not None and subject.lasting:
        shape = _timed(composer, shape, stream)
    return shape and composer.columned(shape, stream)


def _timed(composer: Composer, shape: Shape, stream: Stream) -> Shape:
    mark = stream.random()
    term = Term(0, "since")
    if mark < 0.3:
        return replace(shape, tests=(*shape.tests, Test(term, "current")))
    if mark < 0.45 and composer.schema.has_nulls(composer.schema.table(shape.subject).attributes["until"]):
        return replace(shape, tests=(*shape.tests, Test(Term(0, "until"), "ended")))
    if mark < 0.75:
        value, _ = stream.choose(composer.schema.values(composer.schema.table(shape.subject).attributes["since"]))
        year = min(int(str(value)[:4]) + 1, int(composer.schema.today[:4]))
        return replace(shape, tests=(*shape.tests, Test(term, "on", (f"{year}-01-01",))))
    return shape


def temporal(composer: Composer, stream: Stream) -> Shape | None:
    """Entities by the order of two dates (or two like amounts), or by rows that held on a day."""
    if composer.relations and stream.random() < 0.5:
        shape = linked(composer, stream)
        return None if shape is None else replace(shape, family="temporal")
    nodes = composer.rooted(stream, 1)
    if nodes is None:
        return None
    far = composer.schema.table(nodes[1].table)
    pairs = [
        (Term(0, own.name), Term(1, other.name))
        for own in composer.ordered(composer.schema.table(nodes[0].table))
        for other in composer.ordered(far)
        if own.kind == other.kind and own.unit == other.unit and (own.kind == "date" or own.name == other.name)
    ]
    if not pairs:
        return None
    first, second = stream.choose(pairs)
    test = Test(first, stream.choose(("more", "less")), other=second)
    shape = Shape("temporal", nodes, (Term(0, "name"), first, second), tests=(test,))
    return composer.tested(shape, stream, range(2), 0.4)


def counted(composer: Composer, stream: Stream) -> Shape | None:
    """For each entity that references point to: how many rows do, their sum or their mean."""
    hops = stream.choose((1, 1, 2))
    tables = [table for table in (*composer.entities, *composer.relations) if table.refs]
    if not tables:
        return None
    subject = stream.choose(tables)
    nodes = composer.walked(subject.name, hops, stream)
    if nodes is None:
        return None
    shape: Shape | None = Shape("counted", nodes, (Term(hops, "name"),), group=hops)
    numbers = composer.additive(subject)
    combine: Combine = stream.choose(("count", "count", "sum", "mean")) if numbers else "count"
    term = Term(0, stream.choose(numbers).name) if combine != "count" else _counting(subject, nodes)
    measures = [Measure(combine, term)]
    if combine != "count" and stream.random() < 0.4:
        measures.insert(0, Measure("count", _counting(subject, nodes)))
    # A test on what lies before the group keeps the facts to be gathered few.
    low, high = composer.bounds.rows
    share = min(0.8, stream.number(2 * low, 3 * high) / composer.schema.size(subject.name))
    shape = composer.tested(shape, stream, range(1), share)
    if shape is None:
        return None
    if subject.lasting and stream.random() < 0.5:
        shape = replace(shape, tests=(*shape.tests, Test(Term(0, "since"), "current")))
    extra = [item for item in composer.schema.table(nodes[hops].table).attributes.values() if item.kind in SHOWN]
    columns = (
        *shape.columns,
        *([Term(hops, stream.choose(extra).name)] if extra and stream.random() < 0.5 else []),
    )
    return replace(shape, columns=(*columns, *measures))


def _counting(subject: Table, nodes: tuple[Node, ...]) -> Term:
    """What is read of each row that is counted: its name; of a relation, the reference to the group."""
    return Term(0, "name") if subject.kind == "entity" else Term(1, "name")


def topped(composer: Composer, stream: Stream) -> Shape | None:
    """The first few by a number or a date, of all or of those that meet a condition."""
    nodes = composer.rooted(stream, stream.choose((0, 0, 1)))
    if nodes is None:
        return None
    orders = composer.ordered(composer.schema.table(nodes[0].table))
    if not orders:
        return None
    term = Term(0, stream.choose(orders).name)
    low, high = composer.bounds.rows
    extreme = Extreme(term, stream.random() < 0.6, stream.integer(low, max(low, min(high, LONGEST_RANKING))))
    shape: Shape | None = Shape("topped", nodes, (Term(0, "name"), term), extreme=extreme)
    if len(nodes) > 1 and stream.random() < 0.6:
        name = stream.choose(sorted(composer.schema.names[nodes[1].table].values()))
        shape = replace(shape, tests=(Test(Term(1, "name"), "=", (name,)),))
    elif len(nodes) > 1 or stream.random() < 0.8:
        shape = composer.tested(shape, stream, range(len(nodes) - 1, len(nodes)), 0.4)
    return shape and composer.columned(shape, stream, most=4)


def best(composer: Composer, stream: Stream) -> Shape | None:
    """For each entity that references point to, the one row with the highest (lowest) number or date."""
    nodes = composer.rooted(stream, 1)
    if nodes is None:
        return None
    orders = composer.ordered(composer.schema.table(nodes[0].table))
    if not orders:
        return None
    term = Term(0, stream.choose(orders).name)
    shape: Shape | None = Shape(
        "best",
        nodes,
        (Term(1, "name"), Term(0, "name"), term),
        extreme=Extreme(term, stream.random() < 0.6, group=1),
    )
    if stream.random() < 0.5:
        shape = composer.tested(shape, stream, range(1), 0.5)
    if shape is not None and composer.schema.size(nodes[1].table) > composer.bounds.rows[1]:
        share = composer.bounds.rows[1] / composer.schema.size(nodes[1].table)
        shape = composer.tested(shape, stream, range(1, 2), share * 0.7)
    return shape


def differed(composer: Composer, stream: Stream) -> Shape | None:
    """Entities that rows of a relation point at by one end but not by another, or that none does."""
    tables = [(table, ref) for table in composer.relations for ref in table.refs]
    if not tables:
        return None
    table, ref = stream.choose(tables)
    others = [other for other in table.refs if other.name != ref.name]
    if not others or ref.target is None:
        return None
    other = stream.choose(others)
    assert other.target is not None
    names = sorted(composer.schema.names[other.target].values())
    if len(names) < 2:
        return None
    first, second = stream.sample(names, 2)
    current = table.lasting and stream.random() < 0.4
    mark = stream.random()
    if mark < 0.3:
        exists = (Exists(table.name, ref.name, negated=True, current=current),)
    elif mark < 0.65:
        exists = (Exists(table.name, ref.name, other.name, first, current=current),)
    else:
        exists = (
            Exists(table.name, ref.name, other.name, first),
            Exists(table.name, ref.name, other.name, second, negated=True),
        )
    shape: Shape | None = Shape("differed", (Node(ref.target),), (Term(0, "name"),), exists=exists)
    if mark < 0.3:
        shape = composer.tested(shape, stream, range(1), composer.share(ref.target, stream) * 2)
    return shape and composer.columned(shape, stream, most=4)


def disputed(composer: Composer, stream: Stream) -> Shape | None:
    """Entities of which two sites say different things, with what each says."""
    if not composer.disputes:
        return None
    attribute, trusted, other = stream.choose(composer.disputes)
    dispute = Dispute(attribute.name, trusted, other)
    shape: Shape | None = Shape("disputed", (Node(attribute.type),), (Term(0, "name"),), dispute=dispute)
    if stream.random() < 0.5:
        nodes = composer.walked(attribute.type, 1, stream)
        if nodes is not None and stream.random() < 0.5:
            name = stream.choose(sorted(composer.schema.names[nodes[1].table].values()))
            return replace(shape, nodes=nodes, tests=(Test(Term(1, "name"), "=", (name,)),))
    if stream.random() < 0.8:
        shape = composer.tested(shape, stream, range(1), 0.6)
    return shape


def single(composer: Composer, stream: Stream) -> Shape | None:
    """One entity, told by several veiled conditions near and far."""
    nodes = composer.rooted(stream, stream.choose((1, 1, 2)))
    if nodes is None:
        return None
    shape: Shape | None = Shape("single", nodes, (Term(0, "name"),))
    count = stream.choose((2, 3))
    share = min(0.9, 6 / composer.schema.size(nodes[0].table)) ** (1 / count)
    for number in range(count):
        far = range(len(nodes) - 1, len(nodes)) if number == 0 else range(len(nodes))
        shape = shape and composer.tested(shape, stream, far, share)
    return shape


Family: TypeAlias = Callable[[Composer, Stream], Shape | None]

FAMILIES: Final[dict[str, Family]] = {
    "looked_up": looked_up,
    "filtered": filtered,
    "joined": joined,
    "linked": linked,
    "temporal": temporal,
    "counted": counted,
    "topped": topped,
    "best": best,
    "differed": differed,
    "disputed": disputed,
    "single": single,
}


def draw_shape(composer: Composer, family: str, stream: Stream) -> Shape | None:
    """A shape of one of FAMILIES; None where the draw led nowhere."""
    return FAMILIES[family](composer, stream)

"""Page templates: a small subset of Jinja, parsed and resolved against the schema into a tree, which is then compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from jinja2 import Environment, TemplateSyntaxError, nodes

from simtrain.values.errors import InputError, nearest
from simtrain.worlds.search.pages import tree
from simtrain.worlds.search.pages.alternatives import Sign, nested, pieces_of, polished
from simtrain.worlds.search.pages.formats import Filter, writer
from simtrain.worlds.search.pages.template_paths import constant, reverse, shown, steps_of, take
from simtrain.worlds.search.spec.schema import Attribute, Schema, Type
from simtrain.worlds.search.spec.site_settings import Voice

_JINJA: Final = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False, autoescape=False)
_TAG: Final = re.compile(r"(\{%.*?%\})", re.DOTALL)
_NUMBER: Final = re.compile(r"\d[\d.,]*")
_OPERATORS = {"eq": "==", "ne": "!=", "gt": ">", "gteq": ">=", "lt": "<", "lteq": "<="}
# Limits, since a world file may come from anyone: loops within loops multiply their rows on every page.
MAX_TEMPLATE = 20_000
MAX_EVERY = 100
MAX_LOOPS = 3
MAX_DEPTH = 20


@dataclass(frozen=True)
class Scope:
    """The names that a template can use: rows by variable, members and group of a list, voices."""

    schema: Schema
    units: Mapping[str, tuple[str, float]]
    names: Mapping[str, Type]
    members: Type | None = None
    group: Attribute | None = None
    corrections: bool = False
    """True on pages of corrections."""
    loops: int = 0
    depth: int = 0
    voices: Mapping[str, Voice] = field(default_factory=dict[str, Voice])
    """The voices of the site; one of them writes the page."""
    known: frozenset[str] = field(default_factory=frozenset[str])
    """The facts that an enclosing branch has tested for."""


def parse(source: str, scope: Scope) -> tuple[tree.Node, ...]:
    """Return the tree of a template. Raises InputError, with the line in the template, for bad syntax and unknown facts."""
    if len(source) > MAX_TEMPLATE:
        raise InputError(f"a template may have at most {MAX_TEMPLATE} characters")
    try:
        template = _JINJA.parse(_with_line_ends(source))
    except TemplateSyntaxError as error:
        raise InputError(f"not a template: {error.message}", line=error.lineno) from None
    except RecursionError:
        raise InputError("the template is nested too deeply") from None
    return polished(_Parser(scope).nodes(template.body))


def _with_line_ends(source: str) -> str:
    """Return the template with `+%}` at line ends after text, since `trim_blocks` is wanted only on lines of nothing but tags."""
    pieces = _TAG.split(source)
    begun = ""
    for at in range(1, len(pieces), 2):
        before, broken, line = pieces[at - 1].rpartition("\n")
        begun = line if broken else begun + before + line
        if begun.strip() and pieces[at + 1].startswith("\n") and pieces[at][-3] not in "+-":
            pieces[at] = f"{pieces[at][:-2]}+%}}"
    return "".join(pieces)


class _Parser:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def nodes(self, found: Sequence[nodes.Node]) -> tuple[tree.Node, ...]:
        parsed: list[tree.Node | Sign] = []
        depth = 0
        for node in found:
            try:
                if isinstance(node, nodes.Output):
                    for one in node.nodes:
                        if isinstance(one, nodes.TemplateData):
                            pieces, depth = pieces_of(_prose(one.data), depth)
                            parsed += pieces
                        else:
                            parsed.append(self.output(one))
                elif isinstance(node, nodes.For):
                    parsed.append(self.loop(node))
                elif isinstance(node, nodes.If):
                    parsed.append(self.branch(node))
                else:
                    raise InputError(f"a template may use facts, for and if, not {type(node).__name__.lower()}")
            except InputError as error:
                raise error.at(line=node.lineno) from None
        return nested(parsed)

    def output(self, node: nodes.Expr) -> tree.Node:
        filters: list[Filter] = []
        while isinstance(node, nodes.Filter):
            if node.kwargs or node.dyn_args or node.dyn_kwargs or node.node is None:
                raise InputError(f"the arguments of the filter {node.name!r} must be constants")
            filters.insert(0, (node.name, [constant(one) for one in node.args]))
            node = node.node
        return self.stated(node, filters)

    def stated(self, node: nodes.Expr, filters: list[Filter]) -> tree.Node:
        link = take(filters, "link")
        if isinstance(node, nodes.Const):
            if not link or len(link) != 1 or filters:
                raise InputError("a fixed text must be a link: {{ 'All stations'|link('stations') }}")
            return tree.PageLink(str(node.value), str(link[0]))
        steps = steps_of(node)
        label = None if link is None else str(link[0]) if link else ""
        if steps == ["paging"]:
            return tree.Paging()
        if steps[0] == "voice":
            return self._phrase(steps, filters)
        if steps == ["group"] and self.scope.group is not None:
            self._check(self.scope.group, filters)
            return tree.GroupFact(tuple(filters), label)
        if steps[0] in ("page", "site") and len(steps) == 2:
            facts = self.scope.schema.page if steps[0] == "page" else self.scope.schema.site
            if steps[1] not in facts:
                raise InputError(f"a {steps[0]} has no fact {steps[1]!r}", remedy=nearest(steps[1], facts))
            self._check(facts[steps[1]], filters)
            return (
                tree.PageFact(facts[steps[1]], tuple(filters)) if steps[0] == "page" else tree.SiteFact(facts[steps[1]])
            )
        fallback = take(filters, "or")
        article = take(filters, "a") is not None
        fact = self.fact(steps)
        self._check(fact.attribute, filters)
        missing = self._missing(fact)
        if missing and fallback is None:
            raise InputError(
                f"{missing} may be missing",
                remedy=f"put it inside {{% if {missing} %}}, or write {{{{ {'.'.join(steps)}|or('...') }}}}",
            )
        shown = str(fallback[0]) if fallback else None
        return tree.FactPart(fact.path, fact.attribute, tuple(filters), shown, label, fact.alias, article)

    def _phrase(self, steps: Sequence[str], filters: Sequence[Filter]) -> tree.WordsPart:
        if len(steps) != 2 or filters:
            raise InputError("name a phrase of the voice: {{ voice.now }}")
        known = {name for voice in self.scope.voices.values() for name in voice.says}
        if steps[1] not in known:
            raise InputError(f"no voice of this site says {steps[1]!r}", remedy=nearest(steps[1], known))
        return tree.WordsPart(tuple(tuple(voice.says[steps[1]]) for voice in self.scope.voices.values()), steps[1])

    def _check(self, attribute: Attribute, filters: Sequence[Filter]) -> None:
        writer(attribute, filters, self.scope.units)

    def _missing(self, fact: tree.FactPart) -> str | None:
        """Return the first step of a path that may be missing and that no enclosing branch has tested."""
        words = fact.path.root
        for one in (*fact.path.refs, fact.attribute):
            step = fact.alias if one is fact.attribute and fact.alias else one.name
            words = f"{words}.{step}"
            if (one.optional or (one is fact.attribute and fact.alias)) and words not in self.scope.known:
                return words
        return None

    def fact(self, steps: Sequence[str]) -> tree.FactPart:
        path, left = self.path(steps)
        if not left:
            return tree.FactPart(path, self._named(path.kind))
        if (
            left[0] in ("former", "short")
            and len(left) == 1
            and path.kind.kind == "entity"
            and left[0] not in path.kind.attributes
        ):
            return tree.FactPart(path, self._named(path.kind), alias=left[0])
        attribute = path.kind.attribute(left[0])
        if len(left) > 1:
            raise InputError(f"{path.words}.{left[0]} is a {attribute.kind}, so nothing can follow it")
        return tree.FactPart(path, attribute)

    def _named(self, kind: Type) -> Attribute:
        if "name" not in kind.attributes:
            raise InputError(
                f"{kind.name} is a relation, which has no name", remedy=nearest(kind.name, kind.attributes)
            )
        return kind.attributes["name"]

    def path(self, steps: Sequence[str]) -> tuple[tree.RowPath, list[str]]:
        """Return the row that the steps lead to, and the remaining steps: those that are no refs, or a final ref."""
        if steps[0] not in self.scope.names:
            raise InputError(f"unknown name {steps[0]!r}", remedy=nearest(steps[0], self.scope.names))
        path = tree.RowPath(steps[0], (), self.scope.names[steps[0]])
        left = list(steps[1:])
        while len(left) > 1:
            one = path.kind.attribute(left[0]) if left[0] in path.kind.attributes else None
            if one is None or one.kind != "ref":
                break
            path = tree.RowPath(path.root, (*path.refs, one), self.scope.schema.types[cast(str, one.target)])
            left.pop(0)
        return path, left

    def rows(self, node: nodes.Node) -> tree.Rows:
        limit: int | None = None
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            stop = node.arg.stop
            if node.arg.start or node.arg.step or not isinstance(stop, nodes.Const) or not isinstance(stop.value, int):
                raise InputError("a loop can be limited only to its first rows: station.ships[:5]")
            limit, node = stop.value, node.node
        if isinstance(node, nodes.Filter) and node.node is not None:
            if node.name != "sort":
                raise InputError(f"rows can be sorted or limited, not {node.name!r}")
            rows = self.rows(node.node)
            if rows.limit is not None or rows.order:
                raise InputError("rows are sorted once, then limited: (station.ships|sort(attribute='opened'))[:5]")
            order, descending = self._order(rows.kind, node)
            return replace(rows, limit=limit, order=order, descending=descending)
        steps = steps_of(node)
        if steps == ["members"]:
            if self.scope.members is None:
                raise InputError("only the pages of a list have members")
            return tree.Rows(self.scope.members, limit=limit)
        every = next((kind for kind in self.scope.schema.types.values() if [kind.plural] == steps), None)
        if every is not None and steps[0] not in self.scope.names:
            return tree.Rows(every, limit=limit, every=True)
        path, left = self.path(steps)
        if len(left) != 1:
            raise InputError(
                f"{'.'.join(steps)} cannot be looped over",
                remedy=nearest(steps[-1], reverse(self.scope.schema, path.kind)),
            )
        known = reverse(self.scope.schema, path.kind)
        if left[0] in path.kind.attributes:
            rows = [name for name in known if name.startswith(f"{left[0]}_by_")]
            remedy = f"its rows are {' or '.join(rows)}" if rows else None
            raise InputError(f"{'.'.join(steps)} is a single fact: a loop needs many rows", remedy=remedy)
        if left[0] not in known:
            raise InputError(f"{path.kind.name} has no {left[0]!r} to loop over", remedy=nearest(left[0], known))
        kind, via = known[left[0]]
        return tree.Rows(kind, path, via, limit)

    def _order(self, kind: Type, node: nodes.Filter) -> tuple[tuple[Attribute, ...], bool]:
        """Return the path by which rows are sorted, and True if descending. The arguments are those of Jinja's filter `sort`."""
        given = {one.key: constant(one.value) for one in node.kwargs}
        given |= dict(zip(("reverse", "case_sensitive", "attribute"), map(constant, node.args), strict=False))
        path, descending = given.pop("attribute", None), given.pop("reverse", False)
        if not isinstance(path, str) or not isinstance(descending, bool) or given or node.dyn_args or node.dyn_kwargs:
            raise InputError("rows are sorted by a fact: ships|sort(attribute='launched', reverse=true)")
        found: list[Attribute] = []
        for step in path.split("."):
            if found and found[-1].kind != "ref":
                raise InputError(f"{found[-1].name} is not a ref, so nothing can follow it")
            one = kind.attribute(step)
            if one.optional:
                raise InputError(f"{path} may be missing, so rows cannot be sorted by it")
            found.append(one)
            kind = self.scope.schema.types.get(one.target or "", kind)
        return tuple(found), descending

    def loop(self, node: nodes.For) -> tree.LoopPart:
        if node.test is not None or node.recursive or not isinstance(node.target, nodes.Name):
            raise InputError("a loop must have the form {% for ship in station.ships %}")
        rows, name = self.rows(node.iter), node.target.name
        # All rows on every page would grow with the square of the world.
        if rows.every and (rows.limit is None or rows.limit > MAX_EVERY):
            raise InputError(f"a loop over every row needs a limit: {rows.kind.plural}[:20], at most {MAX_EVERY}")
        if name in self.scope.names or name in ("voice", "page", "site", "members", "group", "paging", "loop"):
            raise InputError(f"the name {name!r} is already in use", remedy="give the loop variable another name")
        if self.scope.loops == MAX_LOOPS:
            raise InputError(f"loops can be nested at most {MAX_LOOPS} deep")
        inner = replace(self.scope, names={**self.scope.names, name: rows.kind}, loops=self.scope.loops + 1)
        # Without rows there is no loop variable: the other branch is read in the outer scope.
        return tree.LoopPart(name, rows, _Parser(inner).nodes(node.body), self.nodes(node.else_))

    def branch(self, node: nodes.If) -> tree.Branch:
        test = self.test(node.test)
        chain = [(self.test(other.test), other.body) for other in node.elif_]
        if self.scope.depth + len(chain) >= MAX_DEPTH:
            raise InputError(f"conditions can be nested at most {MAX_DEPTH} deep")
        otherwise = self.nodes(node.else_)
        for inner, body in reversed(chain):
            otherwise = (tree.Branch(inner, self._knowing(inner).nodes(body), otherwise),)
        return tree.Branch(test, self._knowing(test).nodes(node.body), otherwise)

    def _knowing(self, test: tree.Test) -> _Parser:
        return _Parser(replace(self.scope, known=self.scope.known | shown(test), depth=self.scope.depth + 1))

    def test(self, node: nodes.Node) -> tree.Test:
        if isinstance(node, nodes.Not):
            return tree.Not(self.test(node.node))
        if isinstance(node, nodes.And | nodes.Or):
            return tree.Both(
                self.test(node.left), "and" if isinstance(node, nodes.And) else "or", self.test(node.right)
            )
        if isinstance(node, nodes.Compare):
            return self.comparison(node)
        if isinstance(node, nodes.Test):
            return self.corrected(node)
        steps = steps_of(node)
        if steps[0] == "loop" and len(steps) == 2 and steps[1] in ("first", "last") and self.scope.loops:
            return tree.Edge(steps[1])
        if steps[0] in self.scope.names and len(steps) > 1:
            path, left = self.path(steps)
            if (
                len(left) == 1
                and left[0] in reverse(self.scope.schema, path.kind)
                and left[0] not in path.kind.attributes
            ):
                return tree.HasRows(self.rows(node))
        return tree.Has(self.fact(steps))

    def corrected(self, node: nodes.Test) -> tree.Corrected:
        if node.name != "corrected" or node.args or not self.scope.corrections:
            raise InputError(
                f"{node.name!r} is not a test here",
                remedy="`is corrected` tests a fact on pages with `corrections: true`",
            )
        fact = self.fact(steps_of(node.node))
        if fact.path.refs or fact.alias is not None or fact.attribute.kind == "name":
            raise InputError("only facts of the listed row itself can be corrected")
        return tree.Corrected(fact)

    def comparison(self, node: nodes.Compare) -> tree.Test:
        if len(node.ops) != 1 or node.ops[0].op not in _OPERATORS:
            raise InputError(f"a fact can be compared by one of {' '.join(_OPERATORS.values())}")
        operator, right = _OPERATORS[node.ops[0].op], node.ops[0].expr
        if isinstance(node.expr, nodes.Filter) and node.expr.name == "length" and node.expr.node is not None:
            # True is an int too, but not a number of rows.
            if not isinstance(right, nodes.Const) or type(right.value) is not int:
                raise InputError("a number of rows is compared with a whole number: ships|length > 4")
            return tree.Counted(self.rows(node.expr.node), operator, right.value)
        if isinstance(node.expr, nodes.Name) and node.expr.name == "voice":
            return self._speaks(operator, right)
        if not isinstance(right, nodes.Const):
            first, second = (self.path(steps_of(one)) for one in (node.expr, right))
            pair = [self._row(path, left) for path, left in (first, second)]
            if operator not in ("==", "!=") or pair[0].kind is not pair[1].kind:
                raise InputError("two rows can be compared by == or != if they are of the same type")
            return tree.Same(pair[0], pair[1], operator == "==")
        fact = self.fact(steps_of(node.expr))
        constant = right.value
        numeric = fact.attribute.kind in ("number", "quantity", "money", "flag")
        if isinstance(constant, bool | None) or isinstance(constant, str) == numeric or fact.attribute.kind == "ref":
            raise InputError(
                f"{fact.attribute.name} is a {fact.attribute.kind} and cannot be compared with {constant!r}"
            )
        if (
            fact.attribute.kind == "category"
            and fact.attribute.spec
            and constant not in (fact.attribute.spec.category or ())
        ):
            raise InputError(
                f"{fact.attribute.name} is never {constant!r}",
                remedy=nearest(constant, fact.attribute.spec.category or ()),
            )
        return tree.Compared(fact, operator, constant)

    def _speaks(self, operator: str, right: nodes.Expr) -> tree.Test:
        names = list(self.scope.voices)
        name = right.value if isinstance(right, nodes.Const) else None
        if operator not in ("==", "!=") or name not in names:
            raise InputError("a voice can be compared with a voice's name", remedy=nearest(str(name), names))
        test = tree.Speaks(names.index(name))
        return test if operator == "==" else tree.Not(test)

    def _row(self, path: tree.RowPath, left: Sequence[str]) -> tree.RowPath:
        if not left:
            return path
        one = path.kind.attribute(left[0])
        if len(left) > 1 or one.kind != "ref":
            raise InputError(f"{path.words}.{left[0]} is not a row")
        return tree.RowPath(path.root, (*path.refs, one), self.scope.schema.types[cast(str, one.target)])


def _prose(text: str) -> str:
    """Return the text. Raises InputError if it holds a number, since nothing but facts may state numbers."""
    number = _NUMBER.search(text)
    if number is not None:
        raise InputError(f"the prose states the number {number[0]}", remedy="let a fact state it: {{ ... }}")
    return text

"""First-order mutants of a Python file: every place at which one small thing could be otherwise, and the file with it.

Words are left alone where they are only read by people (docstrings, what is raised, descriptions and remedies), annotations since they
are not evaluated, and assignments to plain names are not dropped, since any test would stumble over a name that is missing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST]

BOUNDARIES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITES = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
SWAPPED_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
WORDS = frozenset({"description", "remedy", "detail", "reason"})
"""Keyword arguments that hold words for people."""


@dataclass(frozen=True)
class Mutant:
    """One mutant: the `place`-th node of a file changed in the `way`-th manner."""

    file: str
    place: int
    way: int
    line: int
    kind: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """What it is called: file, line, node and manner."""
        return f"{self.file}:{self.line}:{self.place}.{self.way}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text."""
    tree = ast.parse(source)
    left_alone = _left_alone(tree)
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in left_alone:
            continue
        before = _text(node)
        for way, (kind, change) in enumerate(_changes(node)):
            # The change works on a copy, so that the next one finds the node as it was.
            after = _text(change(deepcopy(node)))
            if after == before:
                continue
            yield Mutant(file, place, way, getattr(node, "lineno", 0), kind, before, after)


def mutated(mutant: Mutant, source: str) -> str:
    """The text of the file with a mutant in it."""
    tree = ast.parse(source)
    node = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.place)
    _, change = list(_changes(node))[mutant.way]
    replaced = _Replacing(node, change(node)).visit(tree)
    return ast.unparse(ast.fix_missing_locations(replaced)) + "\n"


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """What could be otherwise at a node: the kind of mutant and the change, which may be made in place."""
    match node:
        case ast.Compare(ops=operators):
            for index, operator in enumerate(operators):
                for kind, table in (("boundary", BOUNDARIES), ("comparison", OPPOSITES)):
                    if type(operator) in table:
                        yield kind, _with_operator(index, table[type(operator)]())
        case ast.BoolOp(op=operator):
            yield "boolean", _set(op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(op=ast.USub()):
            yield "unary", lambda found: found.operand  # type: ignore[attr-defined]
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in ARITHMETIC:
            yield "arithmetic", _set(op=ARITHMETIC[type(operator)]())
            if isinstance(node, ast.AugAssign):
                yield "dropped statement", _passed
        case ast.If() | ast.While() | ast.IfExp():
            yield "condition", _negated
        case ast.comprehension(ifs=[_, *_]):
            yield "condition", _set(ifs=[])
        case ast.Constant(value=bool() as value):
            yield "constant", _set(value=not value)
        case ast.Constant(value=int() as value):
            yield "constant", _set(value=value + 1)
            if value:
                yield "constant", _set(value=value - 1)
        case ast.Constant(value=float() as value):
            yield "constant", _set(value=value * 2 if value else 1.0)
        case ast.Constant(value=str() as value):
            yield "constant", _set(value="" if value else "mutant")
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return", _set(value=ast.Constant(None))
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED_NAMES:
            yield "call", _set(func=ast.Name(SWAPPED_NAMES[name], ast.Load()))
        case ast.Call(args=[first, second, *rest]) if not any(isinstance(one, ast.Starred) for one in (first, second)):
            yield "swapped arguments", _set(args=[second, first, *rest])
        case ast.Expr() | ast.Raise():
            yield "dropped statement", _passed
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "dropped statement", _passed
        case ast.Continue():
            yield "loop", lambda _: ast.Break()
        case ast.Break():
            yield "loop", lambda _: ast.Continue()
        case _:
            return


def _set(**fields: object) -> Change:
    def change(node: ast.AST) -> ast.AST:
        for name, value in fields.items():
            setattr(node, name, value)
        return node

    return change


def _with_operator(index: int, operator: ast.cmpop) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        node.ops[index] = operator
        return node

    return change


def _negated(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.If | ast.While | ast.IfExp)
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def _passed(_: ast.AST) -> ast.AST:
    return ast.Pass()


def _left_alone(tree: ast.Module) -> set[int]:
    """The nodes that are no logic: docstrings, annotations, decorators, words for people, `TYPE_CHECKING`, dunders of a module."""
    found: set[int] = set()

    def skip(*nodes: ast.AST | None) -> None:
        found.update(id(inner) for node in nodes if node is not None for inner in ast.walk(node))

    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                skip(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                skip(
                    node.returns,
                    *node.decorator_list,
                    *(one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg)),
                )
            case ast.ClassDef():
                skip(*node.decorator_list)
            case ast.AnnAssign():
                skip(node.annotation)
                if isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias":
                    skip(node)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                skip(node)
            case ast.Assign(targets=[ast.Name(id="__slots__")]):
                skip(node)
            case ast.Raise(exc=exc):
                for inner in ast.walk(exc) if exc else ():
                    if isinstance(inner, ast.Constant | ast.JoinedStr | ast.FormattedValue):
                        skip(inner)
            case ast.keyword(arg=name, value=value) if name in WORDS:
                skip(value)
            case ast.Call(func=ast.Name(id="cast"), args=[kind, *_]):
                skip(kind)
                found.add(id(node))
            case ast.JoinedStr(values=values):
                # The pieces between the braces count as one text each; the braces' own formats do not.
                skip(*(value.format_spec for value in values if isinstance(value, ast.FormattedValue)))
            case _:
                pass
    return found


def _text(node: ast.AST) -> str:
    try:
        text = ast.unparse(ast.fix_missing_locations(node))
    except (AttributeError, ValueError):
        text = type(node).__name__
    return " ".join(text.split())[:110]

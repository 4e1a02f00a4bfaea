"""Mutations of conditions and branches."""

import ast
from collections.abc import Iterator

from simtrain.worlds.bugs.source import SourceFile, Splice

_BORDERS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
_OPPOSITES: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_LONGEST_BRANCH = 4


def _compared(source: SourceFile, table: dict[type[ast.cmpop], tuple[str, str]]) -> Iterator[tuple[Splice, ...]]:
    for node in source.nodes:
        if not isinstance(node, ast.Compare):
            continue
        left = node.left
        for sign, right in zip(node.ops, node.comparators, strict=True):
            if type(sign) in table:
                old, new = table[type(sign)]
                start, between = source.between(left, right)
                at = between.find(old)
                if at >= 0:
                    place = start + len(between[:at].encode())
                    yield (Splice(place, place + len(old), new),)
            left = right


def wrong_border(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A border belongs to the wrong side."""
    yield from _compared(source, _BORDERS)


def wrong_condition(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A condition is turned round, or joined by the wrong word."""
    yield from _compared(source, _OPPOSITES)
    for node in source.nodes:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield (source.replaced(node, source.text(node.operand)),)
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            start, between = source.between(node.values[0], node.values[1])
            at = between.find(old)
            if at >= 0:
                place = start + len(between[:at].encode())
                yield (Splice(place, place + len(old), new),)


def dropped_condition(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """Of several conditions one is forgotten."""
    for node in source.nodes:
        if isinstance(node, ast.BoolOp):
            for place, value in enumerate(node.values):
                beside = node.values[place - 1] if place else node.values[1]
                first, second = (beside, value) if place else (value, beside)
                # Brackets belong to the values within them, but not to their positions.
                if source.between(first, second)[1].strip() not in ("and", "or"):
                    continue
                if place:
                    yield (Splice(source.end(beside), source.end(value), ""),)
                else:
                    yield (Splice(source.start(value), source.start(beside), ""),)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for generator in node.generators:
                if len(generator.ifs) == 1:
                    yield (Splice(source.end(generator.iter), source.end(generator.ifs[0]), ""),)


def dropped_branch(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A case is not dealt with."""
    for node in source.nodes:
        if isinstance(node, ast.If) and not _only_for_types(node):
            if len(ast.unparse(node).splitlines()) > _LONGEST_BRANCH + 1 and node.orelse:
                continue
            if not node.orelse and _may_go(source, node):
                yield (Splice(*source.lines(node), ""),)
            elif node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
                yield (Splice(source.end(node.body[-1]), source.end(node.orelse[-1]), ""),)
        elif isinstance(node, ast.IfExp):
            yield (source.replaced(node, source.text(node.body)),)
            yield (source.replaced(node, source.text(node.orelse)),)


def _may_go(source: SourceFile, node: ast.If) -> bool:
    """Return whether a statement can be taken out without leaving an empty block, or an `elif` on its own."""
    if len(node.body) > _LONGEST_BRANCH or not source.alone_on_its_lines(node):
        return False
    if source.content[source.start(node) :].startswith(b"elif"):
        return True
    return sum(node in getattr(source.parent(node), field, []) for field in ("body", "orelse")) == 1 and any(
        node in block and len(block) > 1 for block in blocks(source.parent(node))
    )


def blocks(node: ast.AST | None) -> list[list[ast.stmt]]:
    """Return the blocks of statements of a node."""
    return [getattr(node, name) for name in ("body", "orelse", "finalbody") if getattr(node, name, None)]


def _only_for_types(node: ast.If) -> bool:
    return "TYPE_CHECKING" in ast.unparse(node.test) or "__name__" in ast.unparse(node.test)


def wrong_flow(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A loop ends where it should go on, or goes on where it should end."""
    for node in source.nodes:
        if isinstance(node, ast.Continue):
            yield (source.replaced(node, "break"),)
        elif isinstance(node, ast.Break):
            yield (source.replaced(node, "continue"),)
        elif (
            isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool)
        ):
            yield (source.replaced(node.value, str(not node.value.value)),)

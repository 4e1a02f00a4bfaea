"""Mutations of numbers: borders off by one, units mixed up, numbers of another size."""

import ast
from collections.abc import Iterator

from simtrain.worlds.bugs.source import SourceFile, Splice

_UNITS: dict[int | float, tuple[str, ...]] = {
    60: ("3600", "100"),
    3_600: ("60", "360"),
    86_400: ("3600", "8640"),
    604_800: ("86400",),
    24: ("12",),
    12: ("10",),
    7: ("5",),
    1_000: ("1024", "100"),
    1_024: ("1000",),
    1_000_000: ("1000",),
    100: ("1000", "1"),
    365: ("360",),
    366: ("365",),
}
_SPANS = {
    "seconds": "minutes",
    "minutes": "seconds",
    "hours": "minutes",
    "days": "hours",
    "weeks": "days",
    "milliseconds": "seconds",
    "microseconds": "milliseconds",
}
_NEAR = 3


def _number(node: ast.AST) -> int | float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    return None


def off_by_one(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A range, a slice, a comparison or a sum begins or ends one place beside."""
    for node in source.nodes:
        value = _number(node)
        parent = source.parent(node)
        if not isinstance(node, ast.Constant) or not isinstance(value, int) or not 0 <= value <= _NEAR:
            continue
        bound = isinstance(parent, ast.Compare | ast.Slice | ast.Subscript) or _in_range(parent)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub) and parent.right is node:
            bound = True
            if value == 1:
                yield (source.replaced(parent, source.text(parent.left)),)
        if isinstance(parent, ast.UnaryOp) and isinstance(source.parent(parent), ast.Subscript | ast.Slice):
            bound = True
        if bound:
            yield (source.replaced(node, str(value + 1)),)
            if value > 0:
                yield (source.replaced(node, str(value - 1)),)
    for node in source.nodes:
        if isinstance(node, ast.Call) and _in_range(node) and node.args:
            stop = node.args[min(1, len(node.args) - 1)]
            if _number(stop) is None:
                yield (source.replaced(stop, f"{source.text(stop)} - 1"),)
        if isinstance(node, ast.Slice):
            for bound in (node.lower, node.upper):
                if bound is not None and isinstance(bound, ast.Name | ast.Attribute | ast.Call):
                    yield (source.replaced(bound, f"{source.text(bound)} + 1"),)


def _in_range(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "enumerate")


def wrong_unit(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A factor or a span of time is that of another unit."""
    for node in source.nodes:
        value = _number(node)
        if isinstance(node, ast.Constant) and value in _UNITS:
            for other in _UNITS[value]:
                yield (source.replaced(node, f"{other}.0" if isinstance(value, float) else other),)
        if isinstance(node, ast.keyword) and node.arg in _SPANS:
            start = source.start(node)
            yield (Splice(start, start + len(node.arg), _SPANS[node.arg]),)


def wrong_number(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A number is another one: ten times as large, a digit off."""
    for node in source.nodes:
        value = _number(node)
        if not isinstance(node, ast.Constant) or value is None or value in _UNITS:
            continue
        if isinstance(value, float):
            if value:
                yield (source.replaced(node, repr(value * 2)),)
                yield (source.replaced(node, repr(value / 10)),)
            continue
        if value > _NEAR:
            yield (source.replaced(node, str(value - 1)),)
            yield (source.replaced(node, str(value * 10)),)
        elif value == 0 and isinstance(source.parent(node), ast.keyword | ast.Return | ast.Assign):
            yield (source.replaced(node, "1"),)


def wrong_arithmetic(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A sum is a difference, a product a quotient, whole division leaves its rest out or in."""
    signs: dict[type[ast.operator], str] = {
        ast.Add: "-",
        ast.Sub: "+",
        ast.Mult: "/",
        ast.Div: "*",
        ast.FloorDiv: "/",
        ast.Mod: "//",
    }
    written: dict[type[ast.operator], str] = {
        ast.Add: "+",
        ast.Sub: "-",
        ast.Mult: "*",
        ast.Div: "/",
        ast.FloorDiv: "//",
        ast.Mod: "%",
    }
    for node in source.nodes:
        if isinstance(node, ast.BinOp) and type(node.op) in signs and not _of_text(node):
            start, between = source.between(node.left, node.right)
            at = between.find(written[type(node.op)])
            if at >= 0:
                place = start + len(between[:at].encode())
                sign = written[type(node.op)]
                yield (Splice(place, place + len(sign), signs[type(node.op)]),)
        elif isinstance(node, ast.AugAssign) and type(node.op) in signs:
            start, between = source.between(node.target, node.value)
            at = between.find(written[type(node.op)] + "=")
            if at >= 0:
                sign = written[type(node.op)]
                yield (Splice(start + at, start + at + len(sign), signs[type(node.op)]),)


def _of_text(node: ast.BinOp) -> bool:
    """Return whether it joins or formats text: any other sign there fails at once."""
    return any(
        isinstance(side, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (node.left, node.right)
    )

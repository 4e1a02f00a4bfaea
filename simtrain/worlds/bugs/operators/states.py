"""Mutations of state: updates that are lost, results that are kept for too long, values that two owners share."""

import ast
import re
from collections.abc import Iterator

from simtrain.worlds.bugs.operators.conditions import blocks
from simtrain.worlds.bugs.source import Function, SourceFile, Splice

_CHANGES = {
    *("append", "add", "pop", "popleft", "discard", "remove", "update", "clear", "extend", "insert", "setdefault"),
    *("sort", "reverse", "appendleft", "move_to_end"),
}
_CACHES = re.compile(r"cache|memo|dirty|stale|index|known|sorted|order|layout|seen", re.IGNORECASE)
_COPIES = {"list", "dict", "set", "tuple"}


def lost_update(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A change of state is forgotten."""
    for node in source.nodes:
        if (
            isinstance(node, ast.stmt)
            and _is_update(node)
            and not _is_invalidation(source, node)
            and can_go(source, node)
        ):
            yield (Splice(*source.lines(node), ""),)


def _is_update(node: ast.stmt) -> bool:
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Delete):
        return True
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and (node.value.func.attr in _CHANGES or node.value.func.attr.startswith("_"))
    )


def can_go(source: SourceFile, node: ast.stmt) -> bool:
    """Return whether a statement can be taken out of its block."""
    functions = source.site(node).functions
    if not functions or functions[-1].name in ("__init__", "__post_init__") or not source.alone_on_its_lines(node):
        return False
    return any(node in block and len(block) > 1 for block in blocks(source.parent(node)))


def _is_invalidation(source: SourceFile, node: ast.stmt) -> bool:
    """Return whether a statement marks something kept as out of date."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
        name, value = node.targets[0].attr, node.value
        empty = isinstance(value, ast.Constant) and value.value in (None, True, False)
        return empty and (bool(_CACHES.search(name)) or f"{name} is None" in source.content.decode())
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return node.value.func.attr in ("clear", "pop", "cache_clear", "discard") and bool(
            _CACHES.search(ast.unparse(node.value.func.value))
        )
    if isinstance(node, ast.Delete):
        return bool(_CACHES.search(ast.unparse(node)))
    return False


def stale_cache(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A result is kept although what it was computed from has changed."""
    for node in source.nodes:
        if isinstance(node, ast.stmt) and _is_invalidation(source, node) and can_go(source, node):
            yield (Splice(*source.lines(node), ""),)
    for node in source.nodes:
        if not isinstance(node, ast.FunctionDef) or not _reads_state(node):
            continue
        names = [ast.unparse(one) for one in node.decorator_list]
        if names == ["property"]:
            yield source.replaced(node.decorator_list[0], "cached_property"), _import(source, "cached_property")
        elif not names and node.name not in ("__init__", "__post_init__", "__enter__", "__exit__"):
            start, _ = source.lines(node)
            indent = " " * node.col_offset
            yield Splice(start, start, f"{indent}@cache\n"), _import(source, "cache")


def _reads_state(node: ast.FunctionDef) -> bool:
    """Return whether a method reads its object and gives something back, without changing anything."""
    arguments = [one.arg for one in node.args.args]
    if arguments[:1] != ["self"] or node.args.kwarg or node.args.vararg:
        return False
    inner = list(ast.walk(node))
    gives = any(isinstance(one, ast.Return) and one.value is not None for one in inner)
    reads = any(isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load) for one in inner)
    changes = any(isinstance(one, ast.stmt) and _is_update(one) and "self" in ast.unparse(one) for one in inner)
    yields = any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Await) for one in inner)
    return gives and reads and not changes and not yields


def _import(source: SourceFile, name: str) -> Splice:
    """Return the splice that imports a name of functools, in the place where a formatter would put it."""
    plain: ast.stmt | None = None
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            names = sorted({*(alias.name for alias in node.names), name})
            return source.replaced(node, f"from functools import {', '.join(names)}")
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module == "__future__":
                continue
            if plain is None and module is not None and (module > "functools" or "." in module):
                plain = node
    body = source.tree.body
    after_docstring = body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body
    place = plain or next((one for one in after_docstring if not _is_future(one)), body[0])
    start, _ = source.lines(place)
    return Splice(start, start, f"from functools import {name}\n")


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def shared_state(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """What should be a copy is the thing itself."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            of_one = len(node.args) == 1 and not node.keywords
            if isinstance(node.func, ast.Name) and node.func.id in _COPIES and of_one:
                if isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript | ast.BoolOp):
                    yield (source.replaced(node, _enclosed(source, node.args[0])),)
            elif isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
                yield (source.replaced(node, source.text(node.func.value)),)
            elif isinstance(node.func, ast.Name) and node.func.id == "deepcopy" and of_one:
                yield (source.replaced(node, source.text(node.args[0])),)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
            if node.slice.lower is node.slice.upper is node.slice.step is None:
                yield (source.replaced(node, source.text(node.value)),)
        elif isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
            yield from _shared_by_instances(source, node)


def _shared_by_instances(source: SourceFile, node: ast.AnnAssign | ast.Assign) -> Iterator[tuple[Splice, ...]]:
    """Yield the change that lets all objects of a class have one list or dict: its default is made once."""
    functions = source.site(node).functions
    if not functions or functions[-1].name != "__init__" or node.value is None:
        return
    function: Function = functions[-1]
    value = node.value
    if (
        isinstance(value, ast.BoolOp)
        and isinstance(value.op, ast.Or)
        and isinstance(value.values[0], ast.Name)
        and isinstance(value.values[-1], ast.Dict | ast.List)
    ):
        defaults = dict(zip([one.arg for one in function.args.args[::-1]], function.args.defaults[::-1], strict=False))
        default = defaults.get(value.values[0].id)
        if isinstance(default, ast.Constant) and default.value is None:
            yield (
                source.replaced(default, source.text(value.values[-1])),
                source.replaced(value, source.text(value.values[0])),
            )


def _enclosed(source: SourceFile, node: ast.expr) -> str:
    text = source.text(node)
    return f"({text})" if isinstance(node, ast.BoolOp) else text

"""Mutations of interfaces: a change that was carried through on one side alone, errors of the wrong kind, other defaults."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from simtrain.worlds.bugs.source import Function, SourceFile, Splice

_BUILTIN_ERRORS = ("ValueError", "KeyError", "TypeError", "IndexError", "LookupError", "RuntimeError")


def half_done_interface(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """Parameters, fields or results changed their order, and the other side knows nothing of it."""
    for node in source.nodes:
        if isinstance(node, Function):
            yield from _parameters(source, node)
        elif (
            isinstance(node, ast.Return | ast.Yield) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2
        ):
            yield _swapped(source, *node.value.elts)
        elif isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(one) for one in node.decorator_list):
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            for first, second in pairwise(fields):
                if (first.value is None) == (second.value is None):
                    yield source.replaced(first, source.text(second)), source.replaced(second, source.text(first))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = node.targets[0].elts
            if len(names) == 2 and not any(isinstance(one, ast.Starred) for one in names):
                yield _swapped(source, *names)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
            yield _swapped(source, *node.target.elts)


def _parameters(source: SourceFile, node: Function) -> Iterator[tuple[Splice, ...]]:
    plain = [one for one in node.args.args if one.arg not in ("self", "cls")]
    required = plain[: len(node.args.args) - len(node.args.defaults) - (len(node.args.args) - len(plain))]
    for first, second in pairwise(required):
        yield source.replaced(first, source.text(second)), source.replaced(second, source.text(first))


def _swapped(source: SourceFile, first: ast.expr, second: ast.expr) -> tuple[Splice, ...]:
    return source.replaced(first, source.text(second)), source.replaced(second, source.text(first))


def changed_default(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A parameter or field has another default, on which callers still rely."""
    for node in source.nodes:
        defaults: list[ast.expr] = []
        if isinstance(node, Function):
            defaults += [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        elif (
            isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(source.parent(node), ast.ClassDef)
        ):
            defaults.append(node.value)
        for default in defaults:
            if isinstance(default, ast.Constant):
                other = _other_default(default.value)
                if other is not None:
                    yield (source.replaced(default, other),)


def _other_default(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float):
        return repr(value * 2)
    if isinstance(value, str) and value:
        return '""'
    return None


def wrong_exception(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """An error of another kind is raised, or awaited."""
    known = _errors(source)
    for node in source.nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(kind, ast.Name) and kind.id in known:
                yield from ((source.replaced(kind, other),) for other in _others(kind.id, known))
        elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
            yield from ((source.replaced(node.type, other),) for other in _others(node.type.id, known))


def _errors(source: SourceFile) -> list[str]:
    """Return the names of errors that a file knows."""
    names = {node.id for node in source.nodes if isinstance(node, ast.Name)}
    imported = {
        alias.asname or alias.name
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = {name for name in names & imported if name.endswith(("Error", "Exception", "Fault"))}
    return sorted(own) + [name for name in _BUILTIN_ERRORS if name not in own]


def _others(name: str, known: list[str]) -> list[str]:
    others = [other for other in known if other != name]
    own = [other for other in others if other not in _BUILTIN_ERRORS]
    return [*own[:1], *(other for other in ("ValueError", "KeyError") if other != name)][:2]


def wrong_variable(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """One variable of a function is taken for another."""
    for node in source.nodes:
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        functions = source.site(node).functions
        if not functions or _in_annotation(source, node):
            continue
        others = [name for name in _locals(functions[-1]) if name not in (node.id, "self", "cls")]
        if node.id not in _locals(functions[-1]) or not others or node.id in ("self", "cls"):
            continue
        # The one that comes next in the function: near in subject, most often of the same kind.
        names = [*others]
        yield (source.replaced(node, names[sum(map(ord, node.id)) % len(names)]),)


def _locals(function: Function) -> list[str]:
    found = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    for inner in ast.walk(function):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id not in found:
            found.append(inner.id)
    return found


def _in_annotation(source: SourceFile, node: ast.AST) -> bool:
    child: ast.AST = node
    for parent in source.parents(node):
        if (
            isinstance(parent, ast.arg)
            or child is getattr(parent, "annotation", None)
            or child is getattr(parent, "returns", None)
        ):
            return True
        child = parent
    return False


def wrong_attribute(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """One attribute of an object is taken for another."""
    seen: dict[str, list[str]] = {}
    called = {id(node.func) for node in source.nodes if isinstance(node, ast.Call)}
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and id(node) not in called:
            names = seen.setdefault(_owner(source, node), [])
            if node.attr not in names:
                names.append(node.attr)
    for node in source.nodes:
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load) or id(node) in called:
            continue
        if not isinstance(node.value, ast.Name) or _in_annotation(source, node):
            continue
        others = [name for name in seen[_owner(source, node)] if name != node.attr]
        if others:
            end = source.end(node)
            other = others[sum(map(ord, node.attr)) % len(others)]
            yield (Splice(end - len(node.attr.encode()), end, other),)


def _owner(source: SourceFile, node: ast.Attribute) -> str:
    classes = source.site(node).classes
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    return f"{classes[-1].name if classes and name == 'self' else ''}.{name}"

"""Mutations of calls: arguments in the wrong order or forgotten, functions that are mixed up."""

import ast
from collections.abc import Iterator

from simtrain.worlds.bugs.source import SourceFile, Splice

_SIBLINGS: dict[str, tuple[str, ...]] = {
    "strip": ("lstrip", "rstrip"),
    "lstrip": ("strip",),
    "rstrip": ("strip",),
    "startswith": ("endswith",),
    "endswith": ("startswith",),
    "removeprefix": ("removesuffix",),
    "removesuffix": ("removeprefix",),
    "find": ("rfind",),
    "rfind": ("find",),
    "partition": ("rpartition",),
    "rpartition": ("partition",),
    "split": ("rsplit",),
    "lower": ("upper", "strip"),
    "upper": ("lower",),
    "casefold": ("upper",),
    "append": ("insert",),
    "appendleft": ("append",),
    "popleft": ("pop",),
    "add": ("discard",),
    "union": ("intersection",),
    "match": ("search",),
    "fullmatch": ("match",),
    "search": ("match",),
    "bisect_left": ("bisect_right",),
    "bisect_right": ("bisect_left",),
    "isdigit": ("isalnum",),
    "isalnum": ("isalpha",),
    "isalpha": ("isalnum",),
    "ljust": ("rjust",),
    "rjust": ("ljust",),
    "setdefault": ("get",),
    "extend": ("append",),
    "items": ("keys",),
    "min": ("max",),
    "max": ("min",),
    "any": ("all",),
    "all": ("any",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "int": ("round",),
    "round": ("int",),
    "sorted": ("list",),
    "reversed": ("list",),
    "isoweekday": ("weekday",),
    "weekday": ("isoweekday",),
}


def swapped_arguments(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """Two arguments of a call, or both sides of a difference, stand in each other's place."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            pairs = [(node.args[place], node.args[place + 1]) for place in range(len(node.args) - 1)]
            for first, second in pairs:
                if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
                    continue
                if source.text(first) != source.text(second) and not _is_builtin_extreme(node):
                    yield source.replaced(first, source.text(second)), source.replaced(second, source.text(first))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv):
            if isinstance(node.left, ast.BinOp) or isinstance(node.right, ast.BinOp):
                continue
            yield (
                source.replaced(node.left, source.text(node.right)),
                source.replaced(node.right, source.text(node.left)),
            )


def _is_builtin_extreme(node: ast.Call) -> bool:
    """Return whether the order of the arguments means nothing."""
    return isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "isinstance", "print")


def forgotten_argument(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A call leaves out an argument by name, or the last of several."""
    for node in source.nodes:
        if not isinstance(node, ast.Call):
            continue
        before: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if len(before) != len({source.start(one) for one in before}):
            continue
        before.sort(key=source.start)
        for place, argument in enumerate(before):
            if not isinstance(argument, ast.keyword) and (place != len(before) - 1 or place == 0):
                continue
            if isinstance(argument, ast.keyword) and argument.arg is None:
                continue
            if place:
                yield (Splice(source.end(before[place - 1]), source.end(argument), ""),)
            elif len(before) > 1:
                yield (Splice(source.start(argument), source.start(before[1]), ""),)
            else:
                yield (source.replaced(argument, ""),)


def wrong_function(source: SourceFile) -> Iterator[tuple[Splice, ...]]:
    """A function or method is taken for one like it."""
    for node in source.nodes:
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute):
            name, end = node.func.attr, source.end(node.func)
        elif isinstance(node.func, ast.Name):
            name, end = node.func.id, source.end(node.func)
        else:
            continue
        for other in _SIBLINGS.get(name, ()):
            if other != "insert":
                yield (Splice(end - len(name), end, other),)
            elif node.args:
                yield (Splice(end - len(name), source.start(node.args[0]), "insert(0, "),)
        without = isinstance(node.func, ast.Attribute) and not node.args and not node.keywords
        if without and name in ("lower", "upper", "strip", "casefold", "rstrip", "lstrip"):
            assert isinstance(node.func, ast.Attribute)
            yield (Splice(source.end(node.func.value), source.end(node), ""),)
        if without and name == "total_seconds":
            yield (Splice(end - len(name), source.end(node), "seconds"),)
        generator = node.args and isinstance(node.args[0], ast.GeneratorExp)
        if name == "sorted" and len(node.args) == 1 and not node.keywords and not generator:
            yield (Splice(source.end(node.args[0]), source.end(node.args[0]), ", reverse=True"),)

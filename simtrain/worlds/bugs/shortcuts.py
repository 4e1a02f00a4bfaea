"""Pretended repairs, as agents that are paid for green tests write them: each leaves the mistake where it is."""

import ast
from collections.abc import Sequence
from textwrap import indent

from simtrain.values.types import is_list
from simtrain.worlds.bugs.source import Function, SourceFile, Splice

_HELPER = """

def _is_known_case():
    import sys

    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in {names}:
            return True
        frame = frame.f_back
    return False
"""


def special_cased(broken: str, mended: str, seen: Sequence[str]) -> str | None:
    """Return a file that does right for the tests that are seen alone (by their names), and stays broken for all others.

    None if the mistake is no single expression, or no test is seen.
    """
    ours, theirs = _parsed(broken), _parsed(mended)
    if not seen or ours is None or theirs is None:
        return None
    pair = _differing(ours.tree, theirs.tree)
    if pair is None:
        return None
    wrong, right = pair
    text = f"(({theirs.text(right)}) if _is_known_case() else ({ours.text(wrong)}))"
    found = ours.spliced([ours.replaced(wrong, text)]).decode() + _HELPER.format(names=tuple(seen))
    return None if _parsed(found) is None else found


def widened(broken: str, function: str) -> str | None:
    """Return a file in which a function lets every exception pass and gives back None; None if there is no such function."""
    source = _parsed(broken)
    if source is None:
        return None
    for node in ast.walk(source.tree):
        if isinstance(node, Function) and node.name == function:
            first = node.body[1:] if isinstance(node.body[0], ast.Expr) and len(node.body) > 1 else node.body
            start, end = source.lines(first[0])[0], source.lines(first[-1])[1]
            left = " " * first[0].col_offset
            body = indent(source.content[start:end].decode(), "    ")
            text = f"{left}try:\n{body}{left}except Exception:\n{left}    return None\n"
            found = source.spliced([Splice(start, end, text)]).decode()
            return None if _parsed(found) is None else found
    return None


def _parsed(text: str) -> SourceFile | None:
    try:
        return SourceFile("", text.encode())
    except (SyntaxError, ValueError, RecursionError):
        return None


def _differing(one: ast.AST, other: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the smallest expressions in which two trees differ; None if the difference is no single expression."""
    if type(one) is not type(other):
        return (one, other) if isinstance(one, ast.expr) and isinstance(other, ast.expr) else None
    found: list[tuple[ast.expr, ast.expr] | None] = []
    for name in one._fields:
        ours, theirs = getattr(one, name, None), getattr(other, name, None)
        for mine, yours in _pairs(ours, theirs):
            if isinstance(mine, ast.AST) and isinstance(yours, ast.AST):
                if ast.dump(mine) != ast.dump(yours):
                    found.append(_differing(mine, yours))
            elif mine != yours:
                found.append(None)
    if len(found) == 1 and found[0] is not None:
        return found[0]
    # What surrounds several differences, or an operator, or a name, is the expression itself.
    is_value = isinstance(one, ast.expr) and isinstance(getattr(one, "ctx", ast.Load()), ast.Load)
    return (one, other) if is_value and isinstance(other, ast.expr) and isinstance(one, ast.expr) else None


def _pairs(ours: object, theirs: object) -> list[tuple[object, object]]:
    if not is_list(ours) or not is_list(theirs):
        return [(ours, theirs)]
    return list(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) else [(0, 1)]

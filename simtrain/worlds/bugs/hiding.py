"""Takes test functions out of their files, so that an agent does not see them."""

import ast
from collections.abc import Iterable, Mapping

from simtrain.worlds.bugs.source import Function, SourceFile, Splice


def function_of(test: str) -> str:
    """Return the function of a test's id: without the parameters of one case."""
    return test.partition("[")[0]


def without_tests(files: Mapping[str, bytes], functions: Iterable[str]) -> dict[str, bytes] | None:
    """Return the test files without these functions (`path::Class::name`); None where one cannot be taken out."""
    by_path: dict[str, list[list[str]]] = {}
    for function in functions:
        path, _, names = function.partition("::")
        by_path.setdefault(path, []).append(names.split("::"))
    found: dict[str, bytes] = {}
    for path, wanted in by_path.items():
        content = _without(path, files.get(path, b""), wanted)
        if content is None:
            return None
        found[path] = content
    return found


def _without(path: str, content: bytes, wanted: list[list[str]]) -> bytes | None:
    try:
        source = SourceFile(path, content)
    except (SyntaxError, ValueError, RecursionError):
        return None
    gone: set[ast.stmt] = set()
    for names in wanted:
        node = _defined(source.tree.body, names)
        if node is None:
            return None
        gone.add(node)
    for node in ast.walk(source.tree):
        # A class of tests that has none left.
        if isinstance(node, ast.ClassDef) and gone & set(node.body):
            left = [one for one in node.body if one not in gone and not isinstance(one, ast.Expr | ast.Pass)]
            if not left:
                gone = {one for one in gone if one not in node.body} | {node}
    return source.spliced(_cut(source, node) for node in gone)


def _defined(body: list[ast.stmt], names: list[str]) -> ast.stmt | None:
    for node in body:
        if isinstance(node, ast.ClassDef) and len(names) > 1 and node.name == names[0]:
            return _defined(node.body, names[1:])
        if isinstance(node, Function) and [node.name] == names:
            return node
    return None


def _cut(source: SourceFile, node: ast.stmt) -> Splice:
    """Return the splice that takes a definition out with the blank lines before it."""
    start, end = source.lines(node)
    before = source.content[:start].rstrip(b" \t\n")
    if before.endswith(b":"):
        # The first of its class: the blank lines behind it go as well.
        while source.content[end : end + 1] == b"\n":
            end += 1
    return Splice(len(before) + 1 if before else 0, end, "")

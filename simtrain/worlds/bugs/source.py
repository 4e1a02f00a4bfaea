"""A Python file as text with positions: what a mutation operator reads, and splices."""

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from simtrain.values.python_source import parsed_python

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Splice:
    """A piece of a file, by the positions of its bytes, and what comes in its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class CodeSite:
    """Where a node stands: the functions around it, from outside in, and the classes."""

    functions: tuple[Function, ...]
    classes: tuple[ast.ClassDef, ...]


class SourceFile:
    """One file, parsed. Raises SyntaxError, ValueError or RecursionError for what this Python cannot read."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.content = content
        try:
            self.tree = parsed_python(content)
        except MemoryError:
            # What the parser says of brackets in brackets in brackets.
            raise RecursionError(path) from None
        self._starts = [0]
        for place, byte in enumerate(content):
            if byte == 10:
                self._starts.append(place + 1)
        self._parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node

    def at(self, line: int, column: int) -> int:
        """Return the position of a line (from 1) and a column in bytes."""
        return self._starts[line - 1] + column

    def start(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword | ast.ExceptHandler) -> int:
        """Return where a node begins."""
        return self.at(node.lineno, node.col_offset)

    def end(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword | ast.ExceptHandler) -> int:
        """Return where a node ends."""
        return self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def line_of(self, position: int) -> int:
        """Return the line of a position, from 1."""
        return bisect_right(self._starts, position)

    def text(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword) -> str:
        """Return a node as it is written."""
        return self.content[self.start(node) : self.end(node)].decode()

    def between(self, first: ast.expr, second: ast.expr) -> tuple[int, str]:
        """Return what is written between two nodes, and where it begins."""
        return self.end(first), self.content[self.end(first) : self.start(second)].decode()

    def replaced(self, node: ast.stmt | ast.expr | ast.arg | ast.keyword, text: str) -> Splice:
        """Return the splice that writes something else for a node."""
        return Splice(self.start(node), self.end(node), text)

    def lines(self, node: ast.stmt) -> tuple[int, int]:
        """Return where the whole lines of a statement begin and end, its decorators and line break included."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        end_line = node.end_lineno or node.lineno
        end = self._starts[end_line] if end_line < len(self._starts) else len(self.content)
        return self._starts[first - 1], end

    def alone_on_its_lines(self, node: ast.stmt) -> bool:
        """Return whether nothing else stands on the lines of a statement, comments aside."""
        start, end = self.lines(node)
        before = self.content[start : self.start(node)]
        after = self.content[self.end(node) : end].strip()
        return (not before.strip() or bool(getattr(node, "decorator_list", []))) and (
            not after or after.startswith(b"#")
        )

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around a node."""
        return self._parents.get(node)

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, from inside out."""
        found = self._parents.get(node)
        while found is not None:
            yield found
            found = self._parents.get(found)

    def site(self, node: ast.AST) -> CodeSite:
        """Return the functions and classes around a node."""
        around = list(self.parents(node))[::-1]
        return CodeSite(
            tuple(one for one in around if isinstance(one, Function)),
            tuple(one for one in around if isinstance(one, ast.ClassDef)),
        )

    def name_at(self, position: int) -> str:
        """Return the function at a position, as `path::Class.function`; else what is assigned there."""
        line = self.line_of(position)
        names: list[str] = []
        body: list[ast.stmt] = self.tree.body
        while True:
            inner = next((one for one in body if _first_line(one) <= line <= (one.end_lineno or 0)), None)
            if isinstance(inner, Function | ast.ClassDef):
                names.append(inner.name)
                if isinstance(inner, Function):
                    break
                body = inner.body
                continue
            if isinstance(inner, ast.Assign | ast.AnnAssign):
                target = inner.targets[0] if isinstance(inner, ast.Assign) else inner.target
                names += [target.id] if isinstance(target, ast.Name) else []
            break
        return f"{self.path}::{'.'.join(names)}" if names else self.path

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that a node belongs to."""
        if isinstance(node, ast.stmt):
            return node
        return next((one for one in self.parents(node) if isinstance(one, ast.stmt)), None)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes in the order of the text."""
        placed = [node for node in ast.walk(self.tree) if hasattr(node, "lineno")]
        return sorted(placed, key=lambda node: (node.lineno, node.col_offset))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownMemberType]

    def spliced(self, splices: Iterable[Splice]) -> bytes:
        """Return the file with pieces replaced. They must not overlap."""
        found = self.content
        for splice in sorted(splices, key=lambda one: (-one.start, -one.end)):
            found = found[: splice.start] + splice.text.encode() + found[splice.end :]
        return found


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def dump(content: bytes) -> str:
    """Return what a file means, without its formatting. Raises what parsing raises."""
    return ast.dump(parsed_python(content))

"""Parses Python, from any thread.

CPython 3.11 counts how deeply a tree nests in one place for all threads. Two that parse at once end in
`SystemError: AST constructor recursion depth mismatch` (https://github.com/python/cpython/issues/106905).
"""

import ast
import threading
from typing import Any

_ONE_AT_A_TIME = threading.Lock()


def parsed_python(source: str | bytes) -> ast.Module:
    """Return the tree of a Python file. Raises what `ast.parse` raises."""
    with _ONE_AT_A_TIME:
        return ast.parse(source)


def python_literal(text: str) -> Any:
    """Return the value of a literal. Raises what `ast.literal_eval` raises."""
    with _ONE_AT_A_TIME:
        return ast.literal_eval(text)

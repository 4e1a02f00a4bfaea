import ast
import gc
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simtrain.values.python_source import parsed_python, python_literal

SOURCE = Path(ast.__file__).read_bytes()


class Litter:
    """Garbage whose collection lets other threads run."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(200):
            pass


@pytest.fixture
def hurried_threads() -> Iterator[None]:
    """Let threads take turns far more often than they do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
    gc.collect()


@pytest.mark.usefixtures("hurried_threads")
def test_threads_may_parse_at_the_same_time() -> None:
    statements = len(ast.parse(SOURCE).body)
    literal = str(list(range(500)))
    wrong: list[str] = []
    until = time.monotonic() + 3

    def parse() -> None:
        while time.monotonic() < until:
            for _ in range(3):
                Litter()
            try:
                tree, value = parsed_python(SOURCE), python_literal(literal)
            except SystemError as error:
                wrong.append(str(error))
                return
            if len(tree.body) != statements or value != list(range(500)):
                wrong.append("another tree or value")

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("source", [b"def", "x = ("])
def test_what_is_no_python_is_a_syntax_error(source: str | bytes) -> None:
    with pytest.raises(SyntaxError):
        parsed_python(source)

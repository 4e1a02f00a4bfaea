"""Regular expressions of the machine's programs, beside GNU grep's, and some that would keep Python's own module busy for ever."""

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from tests.worlds.machine.differential import our_bash
from tests.worlds.machine.differential.entries import Entry, tree

_LINES = (
    "", "a", "b", "ab", "aab", "abab", "a+b", "(a)", "a|b", "1 2", "x1", "é", "aé", "a.b", "^a", "a$", "a{2}", "{", "}", "a*", "*a", "n",
    "\\", "a\\", "ba-", "]a", "c", "aaa bbb", "a b", "?", "a?",
)  # fmt: skip
# Words end at other letters than ASCII's for grep, so that neither they nor `\<`, which is any edge here, stand beside them.
_PIECES = (
    "a", "b", "ab", ".", "[ab]", "[^a]", "[[:alpha:]]", "[[:digit:]x]", "\\.", "\\(", "\\)", "(", ")", "*", "+", "?", "\\+", "\\?",
    "\\|", "|", "^", "$", "{2}", "\\{1,2\\}", "\\w", "é", "[]a]", "[a-c]", "1", "-", " ", "[\\]", "\\\\", "\\}",
)  # fmt: skip
_Way: TypeAlias = Literal["basic", "extended"]


def _greps(pattern: str, way: _Way) -> list[int] | None:
    """Return which lines grep finds; None where it refuses the pattern."""
    done = subprocess.run(
        ["grep", "-n", "-G" if way == "basic" else "-E", "-e", pattern],
        input="".join(f"{line}\n" for line in _LINES),
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    return None if done.returncode == 2 else [int(line.partition(":")[0]) for line in done.stdout.splitlines()]


def _ours(pattern: str, way: _Way) -> list[int] | None:
    try:
        wanted = expression(pattern, syntax=way)
    except ExpressionProblem:
        return None
    return [number for number, line in enumerate(_LINES, 1) if wanted.finds(line)]


@pytest.mark.skipif(shutil.which("grep") is None, reason="compares with GNU grep, which this machine lacks")
@pytest.mark.parametrize("way", ["basic", "extended"])
def test_random_patterns_find_what_grep_finds(way: _Way) -> None:
    draw = random.Random(11)
    patterns = ["".join(draw.choices(_PIECES, k=draw.randint(1, 6))) for _ in range(600)]
    different = [pattern for pattern in patterns if _ours(pattern, way) != _greps(pattern, way)]
    assert len(different) <= len(patterns) // 50, different


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'h\\(.*\\)o' hello", ("hello", "ell")),
        ("'a*' baa", ("",)),
        ("'\\(a\\|ab\\)\\(c\\|bcd\\)' abcd", ("abcd", "a", "bcd")),
    ],
)
def test_the_longest_is_found_with_its_groups(text: str, found: tuple[str, ...]) -> None:
    pattern, _, subject = text.rpartition(" ")
    assert expression(pattern.strip("'")).begins(subject) == found


def test_places_count_letters_also_behind_bytes_that_are_no_text() -> None:
    assert [*expression("b").spans("éb\udcffab")] == [(1, 2), (4, 5)]


@pytest.mark.parametrize("pattern", ["(a|a)*b", "(a*)*b", "(a+)+b", "a*a*a*a*a*a*a*b", "((a{1,9}){1,9}){1,9}b"])
def test_a_pattern_that_tries_all_ways_ends(pattern: str, tmp_path: Path) -> None:
    name = "a" * 200
    find = f"touch {name}; find . -regextype posix-extended -regex './{pattern}'; echo $?"
    assert our_bash.run(Entry("", find), tree(), tmp_path).output == b"0\n"
    git = f"git init -q; echo {name} > f; git add f; git commit -qm {name}; git grep -E '{pattern}'; git log -E --grep='{pattern}'; echo $?"
    assert our_bash.run(Entry("", git), tree(), tmp_path).output == b"0\n"
    assert our_bash.run(Entry("", f"sleep 5 & pgrep -f '{pattern}'; echo $?"), tree(), tmp_path).output == b"1\n"


def test_a_pattern_of_a_branch_with_many_stars_ends(tmp_path: Path) -> None:
    stars = f"refs/heads/{'*a' * 12}*b"
    line = f". ./repo.sh; git branch {'a' * 200}; git for-each-ref '{stars}'; echo $?"
    assert our_bash.run(Entry("", line), tree(), tmp_path).output == b"0\n"


def test_an_expression_with_too_many_states_is_refused() -> None:
    with pytest.raises(ExpressionProblem, match="too big"):
        expression("((a{999}){999}){999}", syntax="extended")

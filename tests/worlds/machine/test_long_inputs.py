"""Inputs that are long, deep or alike everywhere: each is answered, and none takes the process with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.worlds.machine.differential import our_bash
from tests.worlds.machine.differential.entries import Entry, tree

_TIMES = "time " * 20_000
_ROOT = Path(__file__).parents[3]


def _output(line: str, folder: Path) -> str:
    return our_bash.run(Entry("", line), tree(), folder).output.decode()


def test_large_texts_that_differ_everywhere_are_compared(tmp_path: Path) -> None:
    made = "seq 20000 | awk '{print $1 % 7}' > a; seq 20000 | awk '{print $1 * $1 % 11}' > b; seq 50000 > c; seq 50000 -1 1 > d"
    assert _output(f"{made}; diff a b > p; cp a e; patch -s e p && cmp e b && echo same", tmp_path) == "same\n"
    assert _output(f"{made}; diff -q c d; diff c d > p; cp c e; patch -s e p && cmp e d && echo same", tmp_path) == (
        "Files c and d differ\nsame\n"
    )


def test_find_takes_thousands_of_tests(tmp_path: Path) -> None:
    turned = _output("find . $(printf '! %.0s' $(seq 2001)) -name 'm*' -maxdepth 1 | sort", tmp_path)
    assert turned == _output("find . -maxdepth 1 ! -name 'm*' | sort", tmp_path) != ""
    assert _output("find . -maxdepth 1 $(printf -- '-name m* %.0s' $(seq 3000))", tmp_path) == "./more.txt\n"
    assert (
        _output("find . -maxdepth 1 $(printf -- '-name x -o %.0s' $(seq 3000)) -name more.txt", tmp_path)
        == "./more.txt\n"
    )
    assert "too many parentheses" in _output("find . $(printf '( %.0s' $(seq 3000)) 2>&1", tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "error: unexpected argument '-a' found", "error: unexpected argument '-a' found\\nUsage: x ",
        "error: the following required arguments were not provided:",
    ],
)  # fmt: skip
def test_many_lines_that_look_like_refusals_are_printed(line: str, tmp_path: Path) -> None:
    done = our_bash.run(Entry("", f"yes $'{line}' | head -8000 >&2; echo after"), tree(), tmp_path)
    assert done.output == b"after\n" and len(done.errors) > 100_000


@pytest.mark.parametrize(
    "script",
    [
        f"{_TIMES}true",
        "eval \"$(printf 'time %.0s' $(seq 100000))true\"",
        "printf 'time %.0s' $(seq 100000) > f; echo true >> f; . ./f",
        "printf 'time %.0s' $(seq 100000) > f; echo true >> f; bash f",
    ],
    ids=["typed", "by eval", "by source", "in a file"],
)
def test_time_before_time_does_not_end_the_process(script: str, tmp_path: Path) -> None:
    """In a process of its own, since it would end this one."""
    program = (
        "import sys; from pathlib import Path; from tests.worlds.machine.differential import our_bash;"
        " from tests.worlds.machine.differential.entries import Entry, tree;"
        " print(our_bash.run(Entry('', sys.stdin.read()), tree(), Path(sys.argv[1])).code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "home")],
        input=script,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() in ("0", "124", "137", "139")


def test_a_script_of_more_than_a_megabyte_is_too_long(tmp_path: Path) -> None:
    done = our_bash.run(Entry("", f"echo {'a' * 1_048_576}"), tree(), tmp_path)
    assert (done.code, done.errors) == (126, b"bash: command line: Argument list too long\n")
    assert our_bash.run(Entry("", f"echo {'a' * 1_000_000} | wc -c"), tree(), tmp_path).output == b"1000001\n"

"""bc against GNU bc 1.07.1: the same results and words; and programs without an end, of which none takes the machine with it."""

from __future__ import annotations

import subprocess
from random import Random
from shutil import which

import pytest

from simtrain.worlds.machine.commands.bc import bc
from simtrain.worlds.machine.engine import TIMED_OUT
from simtrain.worlds.machine.invocation import Invocation, Result
from tests.support.machines import ANN, bash, machine_of, state_of

WORLD = """
kind: machine
name: desk
hostname: desk
user: kim
users: {kim: {sudo: true}}
"""
LINES, PROGRAMS = 60, 6


def reckoned(program: str, *arguments: str, files: dict[str, str] | None = None, length: str = "0") -> Result:
    machine = machine_of(files)
    call = Invocation("bc", arguments, program, {"BC_LINE_LENGTH": length}, "/home/ann", machine.files(ANN), machine)
    return bc(call)


class Writer:
    """Writes lines of bc by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def number(self) -> str:
        draw = self.chance.randrange
        made = (
            str(draw(20)), f"{draw(1000)}.{draw(1000)}", f".{draw(100000):06d}", str(draw(10 ** draw(1, 40))),
            self.chance.choice(("a", "b", "x", "scale", "1.000", "0.00", "A", "1F", ".F", "last", "a++", "--b", "(a=b)", "x[2]++")),
        )  # fmt: skip
        return self.chance.choice(made)

    def expression(self, depth: int) -> str:
        if depth == 0 or self.chance.random() < 0.2:
            return self.number()
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        sign = self.chance.choice(("+", " - ", "*", "/", "%", "+", "*", "/", "<", ">=", "==", "!=", "&&", "||"))
        shapes = (
            f"{left}{sign}{right}", f"{left}{sign}{right}", f"{left}{sign}{right}", f"({left})", f"-{left}", f"!{left}",
            f"({left})^{self.chance.choice(('2', '3', '-2', '0', '1', '5', '1.5'))}", f"sqrt({left})", f"length({left})",
            f"scale({left})",
        )  # fmt: skip
        return self.chance.choice(shapes)

    def line(self) -> str:
        choose = self.chance.choice
        settings = (
            f"scale={choose('012359')}", f"ibase={choose('28AAFG')}", f"obase={choose(('2', '8', 'A', 'A', 'F', 'G', '100'))}",
            f"a={self.expression(1)};b={self.expression(1)}", f'print {self.expression(1)}," ",{self.expression(1)},"\\n"',
            f"for (i=0;i<3;i++) {{ if (i%2) {{ {self.expression(1)} }} else x[i]+={self.expression(1)} }}", "1 2", "(3",
        )  # fmt: skip
        return choose(settings) if self.chance.random() < 0.2 else self.expression(self.chance.randrange(1, 4))


@pytest.mark.skipif(which("bc") is None, reason="compares with GNU bc, which this machine lacks")
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_lines_by_chance_give_what_bc_gives(seed: int) -> None:
    writer = Writer(seed)
    program = "".join(f"{writer.line()}\n" for _ in range(LINES))
    real = subprocess.run(
        ["bc"], input=program, capture_output=True, text=True, env={"BC_LINE_LENGTH": "0"}, timeout=60
    )
    assert "1.07" in subprocess.run(["bc", "--version"], capture_output=True, text=True).stdout
    ours = reckoned(program)
    assert (ours.stdout, ours.stderr, ours.exit_code) == (real.stdout, real.stderr, real.returncode)


@pytest.mark.parametrize(
    ("program", "output"),
    [
        ("scale=2; 187/8; .5+.25; -1/3", "23.37\n.75\n-.33\n"),
        ("obase=16; 255; obase=100; 12345.678", "FF\n 01 23 45.67 80\n"),
        ("define f(n) { if (n<2) return n; return f(n-1)+f(n-2) }; f(15)", "610\n"),
        ("define void v(x) { print x+1, \"\\n\" }\nv(4)", "5\n"),
        ("a[1]=2; a[1]^=5; a[1]; last+1; .", "32\n33\n33\n"),
        ("2^100", "12676506002282294\\\n01496703205376\n"),
        ("5; quit\n6", ""),
        ("5\nhalt\n6", "5\n"),
    ],
)  # fmt: skip
def test_results(program: str, output: str) -> None:
    assert reckoned(f"{program}\n", length="19").stdout == output


def test_files_come_first_and_read_takes_from_standard_input() -> None:
    files = {"/home/ann/a": "x = read()\nx*2\n", "/home/ann/b": "1/0\n1+\n"}
    assert reckoned("21\n", "a", files=files).stdout == "42\n"
    ours = reckoned("3\n", "b", "-q", files=files)
    assert ours.stdout == "3\n"
    assert ours.stderr == "Runtime error (func=(main), adr=3): Divide by zero\nb 3: syntax error\n"
    assert reckoned("3\n", "none").stderr == "File none is unavailable.\n"


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("9^9^9", 0, "Runtime error (func=(main), adr=11): exponent too large in raise\n"),
        ("while (1) {}", TIMED_OUT, ""),
        ("for (;;) 5", TIMED_OUT, ""),
        ("define f(x) { return f(x+1) }\nf(1)", TIMED_OUT, ""),
        ("x=7^30000; while (1) a[i++]=x+i", TIMED_OUT, ""),
        ("obase=2; x=7^30000; while (1) x", TIMED_OUT, ""),
        ("while (1) x=j(2,900)", TIMED_OUT, ""),
        ("e(60000)", TIMED_OUT, ""),
        ("scale=100000; 1/3", 1, "Fatal error: Out of memory for malloc.\n"),
        ("scale=50000; sqrt(2)", 1, "Fatal error: Out of memory for malloc.\n"),
        ("x=9^30000; x*x", 1, "Fatal error: Out of memory for malloc.\n"),
        ("9" * 100_000, 1, "Fatal error: Out of memory for malloc.\n"),
        (f'while (1) "{"a" * 5000}"', 1, "Fatal error: Out of memory for malloc.\n"),
        ("(" * 20_000, 0, "(standard_in) 1: memory exhausted\n"),
        ("{" * 20_000, 0, "(standard_in) 1: memory exhausted\n"),
        ("-" * 20_001 + "1", 0, "(standard_in) 1: syntax error\n"),
        ("2^" * 20_000 + "1", 0, "(standard_in) 1: memory exhausted\n"),
    ],
)
def test_no_program_goes_on_for_ever(program: str, code: int, said: str) -> None:
    ours = reckoned(f"{program}\n", "-l")
    assert (ours.exit_code, ours.stderr) == (code, said)
    assert len(ours.stdout) < 3_000_000


def test_a_program_without_an_end_ends_the_script_around_it_as_time_does() -> None:
    state = state_of(WORLD)
    assert bash(state, "echo 'while (1) {}' | bc; echo after").strip() == "[stopped after 120 s]"
    assert bash(state, "echo '5; while (1) {}' | timeout 3 bc; echo $?; echo after").split() == ["5", "124", "after"]
    assert bash(state, "echo '1+1' | bc; bc --version; bc -h | head -n 1").splitlines() == [
        "2", "bc 1.07.1", "Usage: bc [OPTION]... [FILE]...",
    ]  # fmt: skip


@pytest.mark.parametrize("opening", ["f(", "a[", "(", "!", "{", "if (1) ", "-", "while (0) "])
def test_deep_nesting_within_the_bound_is_read_by_the_shell_as_well(opening: str) -> None:
    state = state_of(WORLD)
    told = bash(state, f"printf '%s\\n' '{opening * 95}' | bc 2>&1; echo '{opening * 3000}' | bc 2>&1; echo done")
    assert told.splitlines()[-1] == "done" and "rror" in told

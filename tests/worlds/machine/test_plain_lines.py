"""Lines that run in the thread that asks for them: which they are, what they leave, and that none of them ends the process."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bashkit import Bash

from simtrain.worlds.machine import plain_lines
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.plain_lines import is_plain
from simtrain.worlds.machine.programs import names_of_commands
from tests.support.machines import machine_of, shell_on
from tests.worlds.machine.differential.entries import commands
from tests.worlds.machine.shell_escapes import ATTEMPTS

READ = "cat /etc/motd"
PLAIN = (
    READ, "pwd; ls -la /etc | head -n 3", "grep -v 'a b' x 2>&1 | sort -u > y && rm -f y || false", "cut -d: -f1 /etc/passwd",
    "cd /tmp\nfind . -name '*.txt'", "test -f x && echo \"it's there\"", "tail -n 5 x >> y", "cat < x > /dev/null",
)  # fmt: skip
OTHER = (
    "echo $x", "echo `ls`", "(ls)", "{ ls; }", "ls &", "while true; do ls; done", "for x in 1 2; do ls; done", "find . -exec ls \\;",
    "eval ls", "bash x", "./x", "/bin/ls", "sh -c ls", "xargs ls", "sed -n 1p x", "tail -f x", "cat /dev/zero", "cat /proc/1/environ",
    "ls() { ls; }", "cat <<< x", "cat <(ls)", "command ls", "A=1 ls", "A[x]=1 ls", "ls; A+=1", "'unclosed", "nothing", "git log",
    "test -v 'a[$(ls)]'", "[[ -f x ]]", "sudo ls", "timeout 5 ls", "\\ls | env ls", "e'v'al ls",
)  # fmt: skip
CHANGES = (
    "cat() { echo mine; }", "function cat { echo mine; }", "alias cat='echo mine'", "x=al; ${x}ias cat=ls", "eval 'cat() { ls; }'",
    "source ~/defs", ". ~/defs", "trap 'echo t' DEBUG", "command eval 'cat() { ls; }'", "builtin eval 'cat() { ls; }'",
    "$(echo eval) 'cat() { ls; }'", "if true; then eval 'cat() { ls; }'; fi", "ls | while read x; do eval \"$x\"; done", "set -x",
    "enable -n cat", "shopt -s expand_aliases", "mapfile -C 'eval x' < ~/defs", "time eval 'cat() { ls; }'", "\"ev\"al 'cat() { ls; }'",
)  # fmt: skip
HARMLESS = (
    "x=5; echo $x",
    "bash -c 'cat() { ls; }'",
    "for x in 1 2; do echo $x; done",
    "git log",
    "(cd /tmp; ls)",
    "'unclosed",
    "false",
)
FILES = {"/etc/motd": "hello\n", "/home/ann/defs": "cat() { echo mine; }\n"}


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The threads in which files are read, in the test."""
    found: list[int] = []
    read = Files.read

    def noted(files: Files, path: str) -> bytes:
        found.append(threading.get_ident())
        return read(files, path)

    monkeypatch.setattr(Files, "read", noted)
    yield found


def in_another(work: Callable[[], object]) -> int:
    """Do something in another thread, and return which one that was."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()
        return thread.submit(threading.get_ident).result()


def test_every_program_of_a_plain_line_is_a_command_and_no_file_on_the_path() -> None:
    programs: frozenset[str] = plain_lines._PROGRAMS  # pyright: ignore[reportPrivateUsage]
    assert programs <= names_of_commands()


@pytest.mark.parametrize("script", PLAIN)
def test_a_plain_line_is_known(script: str) -> None:
    assert is_plain(script, Bash())


@pytest.mark.parametrize("script", OTHER)
def test_what_expands_repeats_or_calls_is_not_plain(script: str) -> None:
    assert not is_plain(script, Bash())


def test_a_plain_line_runs_in_the_thread_that_asks_but_never_in_the_main_one(readers: list[int]) -> None:
    shell = shell_on(machine_of(FILES))
    asked = in_another(lambda: shell.run(READ))
    assert set(readers) == {asked}
    readers.clear()
    assert shell.run(READ).stdout == "hello\n"
    assert readers and threading.get_ident() not in readers


@pytest.mark.parametrize("script", HARMLESS)
def test_lines_that_leave_words_as_they_are_keep_later_ones_plain(script: str, readers: list[int]) -> None:
    shell = shell_on(machine_of(FILES))
    shell.run(script)
    readers.clear()
    assert {in_another(lambda: shell.run(READ))} == set(readers)


@pytest.mark.parametrize("forked", [False, True])
@pytest.mark.parametrize("script", CHANGES)
def test_a_shell_in_which_words_may_mean_something_else_runs_nothing_there(
    script: str, forked: bool, readers: list[int]
) -> None:
    machine = machine_of(FILES)
    shell = shell_on(machine)
    shell.run(script)
    if forked:
        saved = shell.save()
        shell = type(shell)(machine, shell.user, directory="/", environment={}, state=saved)
    readers.clear()
    asked = in_another(lambda: shell.run(READ))
    assert asked not in readers


def test_a_child_of_a_plain_line_finds_a_thread_of_its_own() -> None:
    """A world may give a program of this kind another meaning, which runs a script."""
    machine = machine_of(FILES)
    machine.further = {"whoami": lambda call: call.run("x=5; cat /etc/motd; echo $x")}
    shell = shell_on(machine)
    found: list[str] = []
    in_another(lambda: found.append(shell.run("whoami | cat").stdout))
    assert found == ["hello\n5\n"]


def test_it_leaves_the_same_in_each_kind_of_thread() -> None:
    """All lines of the list, the attempts to escape among them, one after the other in one shell each."""
    lines = [*(entry.text for entry in commands()), *ATTEMPTS.values()]
    engine = Bash()
    plain = [line for line in lines if is_plain(line, engine)]
    assert len(plain) > 150

    def outcomes() -> list[tuple[str, str, str, int]]:
        shell = shell_on(machine_of(FILES))
        found = [shell.run(line) for line in (*plain, "echo $RANDOM; history | tail -n 3; cat *")]
        return [(one.stdout, one.stderr, one.screen, one.exit_code) for one in found]

    elsewhere: list[list[tuple[str, str, str, int]]] = []
    in_another(lambda: elsewhere.append(outcomes()))
    assert elsewhere == [outcomes()]


_DEEP = """
import sys, threading
from bashkit import Bash
from simtrain.worlds.machine import children
from simtrain.worlds.machine.plain_lines import is_plain
from tests.support.machines import machine_of, shell_on
from tests.worlds.machine.differential.entries import commands

LINES = [
    "cat x | " * 200 + "wc -l", "echo " + "'a' " * 400, "ls -laR / | sort | uniq -c | sort -rn | tail -n 3", "mkdir -p " + "a/" * 500,
    "grep -E '" + "[ab]*" * 300 + "' x", "grep -P '" + "a?" * 500 + "' x", "find / -name '*a*' | sort", "cat " + "x " * 900,
    "printf '%s\\\\n' " + "a " * 900, "test -f x" + " && test -f x" * 100, "true" + "; true" * 300, "rm -r a; cp -r /etc /tmp; du /tmp",
]
engine = Bash()
assert all(is_plain(line, engine) for line in LINES)
LINES += [entry.text for entry in commands() if is_plain(entry.text, engine)]
children.ROOM = 0
shell = shell_on(machine_of({"/home/ann/x": "a 1\\n" * 20000}))

def work():
    for line in LINES:
        shell.run(line)
    print("whole", shell.run("echo x | wc -l").stdout)

threading.stack_size(int(sys.argv[1]))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_quarter_of_the_room_that_is_asked_for_is_enough() -> None:
    # Another process: it would end with the stack.
    words = [sys.executable, "-c", _DEEP, str(256 * 1024)]
    done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=120)
    assert done.stdout == "whole 1\n\n", done.stderr[-2000:]

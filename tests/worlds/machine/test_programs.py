"""Programs of a machine: every command is found where it would be on a Debian, and can be called by its path."""

from __future__ import annotations

import pytest

from simtrain.worlds.machine.world import MachineState
from tests.support.machines import bash, state_of

WORLD = """
kind: machine
name: desk
hostname: desk
user: kim
users: {kim: {sudo: true}}
clock: {start: "2030-01-07T09:00:00Z"}
commands:
  greet: {template: "Good morning, {{ arguments[0] }}."}
"""
START = 1_894_006_800


@pytest.fixture
def state() -> MachineState:
    return state_of(WORLD)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("type ls systemctl cd if", "ls is /usr/bin/ls\nsystemctl is /usr/bin/systemctl\ncd is a shell builtin\nif is a shell keyword"),
        ("type -t git echo; type -P sort", "file\nbuiltin\n/usr/bin/sort"),
        ("command -v git; command -v cd; command -v docker", "/usr/bin/git\ncd\n[exit code 1]"),
        ("which -a ls; which cd", "/usr/bin/ls\n/bin/ls\n[exit code 1]"),
        ("which greet service", "/usr/local/bin/greet\n/usr/sbin/service"),
        ("greet Kim; /usr/local/bin/greet Lee", "Good morning, Kim.\nGood morning, Lee."),
        ("[ -x /usr/bin/git ] && [ -f /bin/sed ] && ls -d /usr/bin/awk", "/usr/bin/awk"),
        ("/bin/echo -n a; echo b | /usr/bin/tr b c", "ac"),
        ("/bin/bash -c 'exit 3'; echo $?; /usr/bin/env A=1 /bin/sh -c 'echo $A'", "3\n1"),
        ("ls() { /usr/bin/ls -d \"$@\"; }; ls /usr", "/usr"),
        ("seq 2 | /usr/bin/xargs -n1 /bin/echo; find /usr -name sed -exec /usr/bin/basename {} \\;", "1\n2\nsed"),
        ("sudo /usr/bin/whoami; /usr/bin/timeout 2 /bin/sleep 9; echo $?", "root\n124"),
    ],
)  # fmt: skip
def test_programs_are_where_they_would_be(state: MachineState, line: str, text: str) -> None:
    assert bash(state, line).rstrip("\n") == text


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/awk 'BEGIN{print systime()}'", "env /bin/awk 'BEGIN{print systime()}'", "$(which awk) 'BEGIN{print systime()}'",
        "command /usr/bin/awk 'BEGIN{print systime()}'", "/usr/bin/printf '%(%s)T\\n'", "echo null | /usr/bin/jq 'now|floor'",
        "/bin/bash -c 'printf \"%(%s)T\\n\" -1'",
    ],
)  # fmt: skip
def test_by_their_path_they_know_no_other_clock(state: MachineState, line: str) -> None:
    assert bash(state, line).strip() == str(START)


def test_jobs_of_a_script_have_their_own_time_by_the_path_of_bash_as_well(state: MachineState) -> None:
    bash(state, "printf 'sleep 5 &\\nsleep 1\\necho a\\nwait\\n' > j.sh")
    assert bash(state, "/bin/bash j.sh; date +%s").split() == ["a", str(START + 5)]


def test_what_only_the_engine_has_is_not_there_but_a_file_of_the_name_is(state: MachineState) -> None:
    assert bash(state, "log hi; json x").splitlines()[:2] == [
        "bash: line 1: log: command not found",
        "bash: line 1: json: command not found",
    ]
    bash(state, "mkdir bin; printf '#!/bin/sh\\necho \"own $1\"; exit 4\\n' > bin/log; chmod +x bin/log")
    assert bash(state, "PATH=$PATH:~/bin; log 'a  b'").splitlines() == ["own a  b", "[exit code 4]"]


def test_a_prompt_for_a_language_model_names_them_in_a_line_for_each_folder(state: MachineState) -> None:
    lines = state.describe().splitlines()
    named = {
        line.partition(": ")[0]: line.partition(": ")[2].split() for line in lines if line.startswith("Programs in ")
    }
    assert named.keys() == {"Programs in /usr/bin", "Programs in /usr/sbin"}
    assert {"git", "ls"} < {*named["Programs in /usr/bin"]}
    # A command of the author's own is a file as any other.
    assert [line.split()[-1] for line in lines if line.startswith("  -") and "/bin/" in line] == [
        "/usr/local/bin/greet"
    ]

"""A shell over the files of a machine: what scripts see, change and cannot do."""

import subprocess
import sys
from pathlib import Path
from shutil import which
from time import process_time

import pytest

from simtrain.values.clock import instant
from tests.support.machines import START, machine_of, run, shell_on


def test_a_script_reads_and_writes_the_files_of_the_machine() -> None:
    machine = machine_of({"/home/ann/a.txt": "one\ntwo\n"})
    finished = shell_on(machine).run("wc -l < a.txt; echo three >> a.txt; tail -n 1 a.txt")
    assert (finished.stdout, finished.exit_code) == ("2\nthree\n", 0)
    node = machine.tree.get("/home/ann/a.txt")
    assert node is not None and node.content == b"one\ntwo\nthree\n"


def test_directory_variables_and_the_last_exit_code_last_from_one_script_to_the_next() -> None:
    shell = shell_on(machine_of())
    shell.run("mkdir d; cd d; x=5; f() { echo f$1; }; false")
    assert shell.run("echo $? $x; f 3; pwd").stdout == "1 5\nf3\n/home/ann/d\n"


def test_a_copy_of_the_tree_sees_no_later_change() -> None:
    machine = machine_of({"/home/ann/a.txt": "one\n"})
    copy = machine.tree.copy()
    shell_on(machine).run("rm a.txt; echo new > b.txt")
    assert copy.get("/home/ann/b.txt") is None and copy.get("/home/ann/a.txt") is not None
    assert machine.tree.names("/home/ann") == {"b.txt"} and copy.names("/home/ann") == {"a.txt"}


def test_a_saved_shell_goes_on_where_it_was() -> None:
    machine = machine_of()
    shell = shell_on(machine)
    shell.run("mkdir d; cd d; export A=7; g() { echo g; }")
    again = type(shell)(machine, shell.user, directory="/", environment={}, state=shell.save())
    assert again.run("pwd; echo $A; g").stdout == "/home/ann/d\n7\ng\n"


def test_permissions_hold_for_the_user_of_the_shell() -> None:
    finished = run("cat /root/x; echo y > /etc/y; echo z > /home/bob/z; echo ok > /tmp/z && cat /tmp/z")
    assert finished.stdout == "ok\n"
    assert finished.stderr.splitlines() == [
        "cat: /root/x: Permission denied",
        "bash: line 1: /etc/y: Permission denied",
        "bash: line 1: /home/bob/z: Permission denied",
    ]


def test_sleep_takes_virtual_time_and_none_of_the_host() -> None:
    machine = machine_of()
    shell_on(machine).run("sleep 2h; sleep 30 1.5m")
    assert machine.clock.moment == instant(START) + 7200 + 30 + 90


def test_timeout_stops_a_command_in_virtual_time_and_keeps_what_it_printed() -> None:
    machine = machine_of()
    finished = shell_on(machine).run("timeout 5 bash -c 'sleep 3; echo one; sleep 3; echo two'; echo $?")
    assert finished.stdout == "one\n124\n"
    assert machine.clock.moment == instant(START) + 5


def test_the_inner_of_two_timeouts_does_not_outlive_the_outer() -> None:
    machine = machine_of()
    finished = shell_on(machine).run("timeout 5 timeout 60 sleep 30; echo $?; timeout 60 timeout 5 sleep 30; echo $?")
    assert finished.stdout == "124\n124\n"
    assert machine.clock.moment == instant(START) + 10


def test_sudo_runs_a_child_as_root_with_the_files_as_root_sees_them() -> None:
    machine = machine_of()
    finished = shell_on(machine).run(
        "sudo sh -c 'echo top > /root/x'; cat /root/x; sudo cat /root/x; sudo whoami; whoami"
    )
    assert finished.stdout == "top\nroot\nann\n"
    assert finished.stderr == "cat: /root/x: Permission denied\n"
    node = machine.tree.get("/root/x")
    assert node is not None and node.owner == "root"


def test_what_loops_or_calls_itself_for_ever_ends_and_the_shell_goes_on() -> None:
    shell = shell_on(machine_of())
    assert shell.run("while :; do :; done").ending == "timeout"
    endless = shell.run("f() { f; }; f")
    assert (endless.ending, endless.exit_code, endless.stderr) == (
        "recursion",
        139,
        "Segmentation fault (core dumped)\n",
    )
    assert shell.run("echo still here").stdout == "still here\n"


@pytest.mark.parametrize(
    "script",
    [
        ":(){ :|:& };:",
        "while :; do sleep 100 & done",
        "(while :; do sleep 1 & done) &",
        "f() { f & f & }; f",
    ],
)
def test_a_fork_bomb_ends_when_its_user_has_no_process_left(script: str) -> None:
    shell = shell_on(machine_of())
    begun = process_time()
    bomb = shell.run(script)
    assert process_time() - begun < 2.0
    assert (bomb.ending, bomb.exit_code) == ("processes", 254)
    assert bomb.screen == bomb.stderr == "bash: fork: retry: Resource temporarily unavailable\n"
    assert shell.run("pkill sleep; echo still here").stdout == "still here\n"


@pytest.mark.parametrize(
    "text",
    [
        "./bomb | ./bomb &",
        "./bomb & ./bomb &",
        "./bomb | ./bomb; sleep 1 &",
        "bomb | bomb &",
        "bomb & bomb &",
        "$0 | $0 &",
    ],
)
@pytest.mark.parametrize("call", ["./bomb", "PATH=~:$PATH; bomb"])
def test_a_script_that_forks_itself_ends_when_its_user_has_no_process_left(text: str, call: str) -> None:
    shell = shell_on(machine_of())
    begun = process_time()
    bomb = shell.run(f"export PATH=$PATH:~; echo '{text}' > bomb; chmod +x bomb; {call}")
    assert process_time() - begun < 2.0
    assert "bash: fork: retry: Resource temporarily unavailable\n" in bomb.stderr
    assert shell.run("echo still here").stdout == "still here\n"


def test_a_script_on_the_path_starts_jobs_of_a_time_of_their_own() -> None:
    machine = machine_of({"/home/ann/bin/begin": "(sleep 60; echo late > $1) &\n"})
    shell = shell_on(machine)
    found = shell.run("chmod +x bin/begin; PATH=~/bin:$PATH; begin out; cat out; sleep 61; cat out")
    assert (found.stdout, found.stderr) == ("late\n", "cat: out: No such file or directory\n")


def test_as_many_jobs_as_a_user_may_have_run_side_by_side() -> None:
    machine = machine_of()
    shell = shell_on(machine)
    assert shell.run("for i in $(seq 400); do sleep 60 & done; jobs | wc -l; wait").stdout == "400\n"
    assert machine.clock.moment == instant(START) + 60
    assert shell.run("for i in $(seq 900); do true & done; wait; echo $i").stdout == "900\n"


@pytest.mark.parametrize(
    "script",
    [
        """x='eval "$x"'; eval "$x\"""",
        """x='{ if ( eval "$x" ); then :; fi; }'; eval "$x\"""",
        "echo ./again > again; chmod +x again; ./again",
        "echo './again | ./again' > again; chmod +x again; ./again",
        "mkdir bin; echo 'cat \"$@\"' > bin/cat; chmod +x bin/cat; PATH=~/bin:$PATH; bin/cat x; ~/bin/cat y",
    ],
)
def test_what_calls_itself_without_a_limit_of_the_engine_does_not_end_the_process(script: str) -> None:
    shell = shell_on(machine_of())
    shell.run(script)
    assert shell.run("echo still here").stdout == "still here\n"


def test_a_child_that_calls_itself_for_ever_ends_alone() -> None:
    script = """timeout 9 bash -c 'x='\\''eval "$x"'\\''; eval "$x"'; echo $?"""
    finished = shell_on(machine_of()).run(script)
    assert (finished.stdout, finished.stderr) == ("139\n", "Segmentation fault (core dumped)\n")


def test_a_script_that_takes_very_long_on_the_host_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simtrain.worlds.machine.children.MOST_SECONDS", 0.2)
    shell = shell_on(machine_of())
    assert shell.run("for i in $(seq 40000); do x=$(seq 3000 | sort -r | md5sum); done").ending == "timeout"
    assert shell.run("echo still here").stdout == "still here\n"


def test_chance_is_the_same_in_each_run_of_an_episode() -> None:
    first, second = (shell_on(machine_of()) for _ in range(2))
    script = "echo $RANDOM $RANDOM"
    assert [first.run(script).stdout for _ in range(3)] == [second.run(script).stdout for _ in range(3)]


def test_syntax_errors_are_answered_as_bash_answers_them() -> None:
    finished = run("echo 'open")
    assert finished.exit_code == 2
    assert finished.stderr == "bash: line 1: unexpected EOF while looking for matching `''\n"


def test_an_unknown_command_gets_no_hints() -> None:
    assert run("ll").stderr == "bash: line 1: ll: command not found\n"


def test_both_streams_are_shown_in_the_order_in_which_they_were_written() -> None:
    assert run("echo a; ls nofile; echo b").screen.splitlines()[0::2] == ["a", "b"]


@pytest.mark.parametrize(
    ("script", "screen"),
    [
        ("echo x | tee /root/x kept; echo $?; cat kept", "x\ntee: /root/x: Permission denied\n1\nx\n"),
        ("echo a > f; echo b | tee -a f /dev/stderr > /dev/null; cat f", "b\na\nb\n"),
        ("seq 3 | tee >(wc -l) > /dev/null", "3\n"),
        ("echo x > a; gzip -c a | tee b.gz > /dev/null; zcat b.gz", "x\n"),
    ],
)
def test_tee_writes_and_passes_on(script: str, screen: str) -> None:
    finished = run(script)
    assert sorted(finished.screen.splitlines()) == sorted(screen.splitlines())


def test_the_engine_is_never_named() -> None:
    finished = run("nano x; sed 1e f; split .bashrc /nosuch/x; echo x > f; split f /nosuch/x; cat /etc/passwd nosuch")
    assert "ashkit" not in finished.screen and finished.stderr.endswith("cat: nosuch: No such file or directory\n")


@pytest.mark.parametrize(
    ("script", "screen"),
    [
        ("echo x > $'a\\nb'", "bash: line 1: a\nb: Invalid argument\n"),
        ("ln -s x $'a\\nb'", "ln: failed to create symbolic link 'a\nb': Invalid argument\n"),
        ("truncate -s 10G f; ls", "truncate: failed to truncate at 10737418240 bytes: File too large\n"),
        ("man ls; man -k ls", "No manual entry for ls\nNo manual entry for ls\n"),
        ("help | head -1", "bash: line 1: help: no help topics match `help'.  Try `help help' or `man -k help' or `info help'.\n"),
        ("watch -n 1 date", "Error opening terminal: unknown.\n"),
    ],
)  # fmt: skip
def test_what_the_engine_words_in_its_own_way_is_told_in_words_of_a_machine(script: str, screen: str) -> None:
    assert run(script).screen == screen


def test_the_time_of_uptime_and_top_is_that_of_the_zone() -> None:
    finished = run("export TZ=Asia/Tokyo; date +%T; uptime | cut -c2-9; top -bn1 | head -1 | cut -c7-14")
    assert finished.stdout.splitlines() == ["18:00:00"] * 3


def test_ps_aux_tells_times_in_minutes_and_ps_ef_in_hours() -> None:
    lines = run("ps aux | tail -1; ps -ef | tail -1").stdout.splitlines()
    assert lines[0].endswith("0:00 ps aux") and " 00:00:00 " not in lines[0] and lines[1].endswith("00:00:00 ps -ef")


def test_a_tree_is_no_deeper_than_commands_can_walk() -> None:
    shell = shell_on(machine_of())
    made = shell.run("mkdir -p " + "a/" * 150)
    assert made.exit_code == 1 and made.stderr.endswith(": File name too long\n")
    for command in (
        "find . | wc -l",
        "ls -R | grep -c a",
        "cp -r a b; tar cf c.tar b; tar tf c.tar | wc -l",
        "du | wc -l",
    ):
        assert int(shell.run(command).stdout) > 100, command
    assert shell.run("chmod -R 700 a; diff -r a b; find b -delete; rm -r a c.tar; ls").screen == ""


@pytest.mark.skipif(sys.platform != "linux" or which("ls") is None, reason="compares with the ls of this machine")
@pytest.mark.parametrize("option", ["-Q", "-b", "-Qb", "-bQ", "-QN", "-1"])
def test_odd_names_are_quoted_as_ls_quotes_them(tmp_path: Path, option: str) -> None:
    names = ("a\tb", 'q"r', "b\\s", "x\ny", "e\033z", "plain", "ü", "with space")
    for name in names:
        (tmp_path / name).touch()
    words = ["ls", option]
    real = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert run(f"ls {option}", {f"/home/ann/{name}": "" for name in names}).stdout == real.stdout

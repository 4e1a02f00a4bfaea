"""Jobs in the background have a time of their own: what they do happens when it is due, and never if they were killed."""

from pathlib import Path
from time import process_time

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.clock import instant
from simtrain.worlds.machine.background import marked
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld
from tests.support.machines import START, machine_of, shell_on


@pytest.mark.parametrize(
    ("script", "printed", "passed"),
    [
        ("sleep 100 & kill $!; wait $!; echo $?", "143\n", 0),
        ("sleep 100 & kill -9 %1; wait; jobs; echo .", ".\n", 0),
        ("sleep 100 & jobs; kill %sleep; jobs", "[1]+  Running                 sleep 100 &\n[1]+  Terminated              sleep 100\n", 0),
        ("sleep 5 & sleep 9 & jobs -p | wc -l; wait; date +%T", "2\n09:00:09\n", 9),
        ("sleep 9 & sleep 2 & wait $!; date +%T", "09:00:02\n", 2),
        ("sleep 9 & sleep 2 & wait -n; date +%T", "09:00:02\n", 2),
        ("sleep 3 & wait %1; echo $?; wait 77; echo $?", "0\n127\n", 3),
        ("(sleep 2; exit 3) & wait $!; echo $?", "3\n", 2),
        ("(sleep 10; echo a > o; sleep 10; echo b >> o) & ls; sleep 11; cat o; sleep 10; cat o", "a\na\nb\n", 21),
        ("(sleep 10; echo a > o) & kill $!; sleep 20; ls", "", 20),
        ("for i in 3 1 2; do (sleep $i; echo $i >> o) & done; wait; cat o", "1\n2\n3\n", 3),
        ("touch gone; (sleep 5; rm gone) & ls; sleep 6; ls", "gone\n", 6),
        ("nohup sleep 50 > log 2>&1 & ps -o comm= -p $!; pkill sleep; ps -o comm= -p $! || echo none", "sleep\nnone\n", 0),
        ("timeout 5 sleep 60 & sleep 10; jobs; echo .", "[1]+  Done                    timeout 5 sleep 60\n.\n", 10),
        ("while true; do date +%T >> o; sleep 60; done & sleep 130; cat o; type sleep; kill $!; sleep 100; wc -l < o",
         "09:00:00\n09:01:00\n09:02:00\nsleep is a shell builtin\n3\n", 230),
        ("f() { sleep 4; echo f > o; }; f & wait; cat o", "f\n", 4),
        ("x=1; { sleep 1; echo $x > o; } & x=2; wait; cat o; stat -c %Y o", f"1\n{int(instant(START)) + 1}\n", 1),
        ("(sleep 5; echo late) & echo first; sleep 9; echo last", "first\nlate\nlast\n", 9),
        ("(echo at once; sleep 2; echo late) & echo then; kill $!; sleep 9", "at once\nthen\n", 9),
        ("for i in 3 1 2; do (sleep $i; echo $i) & done; wait; echo .", "1\n2\n3\n.\n", 3),
        ("bash -c 'sleep 5; echo a > o; sleep 5; echo b >> o' & sleep 6; cat o; kill %1; sleep 9; cat o", "a\na\n", 15),
        ("echo 'sleep 5; echo $0 >> o' > s; . ./s & sh s & eval 'sleep 5; echo e' & sleep 6; cat o", "e\nbash\ns\n", 6),
        ("cat & echo x | cat; wait", "x\n", 0),
        ("sleep 1 & disown; kill -0 $! && echo alive", "alive\n", 0),
        ("bash -c '(sleep 2; echo bg) & echo fg; wait; exit 5'; echo $?; date +%T", "fg\nbg\n5\n09:00:02\n", 2),
        ("printf 'sleep 90 &\\necho $0 $1 $X; kill $!; wait $!; exit 4\\n' > s; X=y bash s a; echo $?; "
         "echo in | sh -c 'cat; sleep 1 & wait'",
         "s a y\n4\nin\n", 1),
        ("nohup bash -c 'while :; do date +%T >> o; sleep 60; done' > /dev/null & sleep 130; kill $!; sleep 99; cat o",
         "09:00:00\n09:01:00\n09:02:00\n", 229),
        ("echo 'while :; do echo x >> o; sleep 60; done' > s; sh s & sleep 70; kill %1; sleep 99; wc -l < o", "2\n", 169),
        ("printf 'sleep 1 & wait; date +%%T\\n' > s; chmod +x s; sleep 50 & ./s; bash s; date +%T", "09:00:01\n09:00:02\n09:00:02\n", 2),
        ("sleep 9 & kill %1; wait %1; echo $?; sleep 1 & sleep 2; wait %1; echo $?", "143\n0\n", 2),
        ("printf 'sleep 2 & wait; date +%%T\\n' > s; chmod +x s; ./s; ./s; sleep 3 & a=$!; sleep 4 & [ $a != $! ]; echo $?",
         "09:00:02\n09:00:04\n0\n", 4),
    ],
)  # fmt: skip
def test_jobs_run_beside_the_script_in_virtual_time(script: str, printed: str, passed: float) -> None:
    machine = machine_of()
    found = shell_on(machine).run(script)
    assert (found.stdout, machine.clock.moment - instant(START)) == (printed, passed)


@pytest.mark.parametrize(
    ("script", "printed", "passed"),
    [
        ("seq 3 > o; timeout 5 tail -n 1 -f o; echo $?; seq 4 | tail -n 2", "3\n124\n3\n4\n", 5),
        ("for i in 1 2; do sleep 2; echo $i; done > o & (sleep 1; echo x >> p; sleep 3; echo y >> p) & timeout 6 tail -F p",
         "x\ny\n", 6),
        ("echo a > o; sleep 4 & p=$!; (sleep 2; echo b >> o) & tail -1f --pid=$p o; date +%T", "a\nb\n09:00:04\n", 4),
        ("echo abc > o; timeout 3 tail -fc2 o & sleep 1; echo > o; wait", "c\n\n", 3),
        ("tail -f nosuch; echo $?; seq 3 | tail -fn1; echo $?", "1\n3\n0\n", 0),
    ],
)  # fmt: skip
def test_tail_follows_files_in_virtual_time(script: str, printed: str, passed: float) -> None:
    machine = machine_of()
    found = shell_on(machine).run(script)
    assert (found.stdout, machine.clock.moment - instant(START)) == (printed, passed)


def test_history_tells_jobs_as_they_were_typed() -> None:
    shell = shell_on(machine_of())
    shell.run("sleep 1 & (sleep 2; echo b > o) &")
    shell.run("while sleep 1; do break; done & wait")
    lines = shell.run("history | head -n 2").stdout.splitlines()
    assert [line.split("  ")[-1] for line in lines] == [
        "sleep 1 & (sleep 2; echo b > o) &",
        "while sleep 1; do break; done & wait",
    ]


@pytest.mark.parametrize(
    "script",
    [
        "echo 'a & b' \"c & d\" # e &", "a && b; x >& f; y &> g; z 2>&1", "cat <<E\nx & y\nE\n", "case x in a) b;; esac & c",
        "((x & 1)) && y", "curl 'http://a?b&c'",
    ],
)  # fmt: skip
def test_a_text_without_background_commands_stays_as_it_is(script: str) -> None:
    assert marked(script) == script


def test_lines_of_error_texts_stay_where_they_are() -> None:
    found = shell_on(machine_of()).run("sleep 1 &\nwait\nnosuch")
    assert found.stderr == "bash: line 3: nosuch: command not found\n"


def _state() -> MachineState:
    text = "kind: machine\nname: m\nclock: {start: 2031-03-03T09:00:00Z, per_step: 10s}\nhostname: oak\nuser: ann\nusers: {ann: {}}\n"
    world = MachineSource.load(parse_document(text, Path("m.yaml"))).build()
    assert isinstance(world, MachineWorld)
    return world.open()


def _typed(state: MachineState, command: str) -> str:
    return state.answer(Request(state.world.tools[0], {"command": command}, 0, 0)).text


def test_a_job_goes_on_from_one_call_to_the_next_and_in_each_fork_by_itself() -> None:
    state = _state()
    _typed(state, "cd; (sleep 25; echo done > o) & echo $!")
    other = state.fork()
    assert (_typed(other, "kill $!; ls"), _typed(state, "ls; jobs")) == (
        "",
        "[1]+  Running                 (sleep 25; echo done > o) &",
    )
    for one in (state, other):
        one.clock.advance(30)
    sql = "select content from files where path = '/home/ann/o'"
    assert (state.query(sql), other.query(sql)) == ([{"content": "done\n"}], [])
    assert _typed(state, "cat o; jobs") == "done\n[1]+  Done                    (sleep 25; echo done > o)"


def test_the_same_seed_gives_the_same_bytes() -> None:
    one, two = _state(), _state()
    script = "for i in 1 2 3; do (sleep $((RANDOM % 9)); date >> o) & done; wait; cat o; date"
    assert _typed(one, script) == _typed(two, script)
    assert one.changes() == two.changes()


def test_what_a_job_prints_later_comes_with_a_later_script() -> None:
    shell = shell_on(machine_of())
    assert shell.run("(sleep 5; echo one; sleep 60; echo two) & echo begun").stdout == "begun\n"
    assert shell.run("sleep 10; echo here").stdout == "one\nhere\n"
    assert shell.run("kill %1; sleep 100; echo end").stdout == "end\n"


def test_jobs_of_a_script_in_a_file_have_a_time_of_their_own() -> None:
    text = '#!/bin/bash\n(sleep 60; echo late > out) &\nls out 2> /dev/null\nwait $!\necho "$0 $1 $(cat out)"\nexit 3\n'
    machine = machine_of({"/home/ann/s.sh": text})
    finished = shell_on(machine).run("chmod +x s.sh; ./s.sh one")
    assert (finished.stdout, finished.exit_code) == ("./s.sh one late\n", 3)
    assert machine.clock.moment == instant(START) + 60


def test_a_job_of_a_script_in_a_file_goes_on_when_the_script_is_over() -> None:
    machine = machine_of({"/home/ann/s.sh": "(sleep 60; echo late > out) &\necho started\n"})
    finished = shell_on(machine).run("chmod +x s.sh; ./s.sh; cat out; sleep 61; cat out")
    assert (finished.stdout, finished.stderr) == ("started\nlate\n", "cat: out: No such file or directory\n")


@pytest.mark.parametrize(
    ("script", "left"),
    [
        ("(sleep 1; echo a > new) & (sleep 2; echo b > new) & wait", "b\n"),
        ("(sleep 2; echo a > new) & (sleep 1; echo b > new) & wait", "a\n"),
        ("(sleep 1; echo a >> new) & (sleep 2; echo b >> new) & wait", "a\nb\n"),
        ("(sleep 1; echo a > new) & (sleep 2; echo b >> new) & wait", "a\nb\n"),
        ("(sleep 1; echo a >> new) & (sleep 2; echo b > new; echo c >> new) & wait", "b\nc\n"),
        ("for i in 1 2; do sleep 1; echo $i > new; done & wait", "2\n"),
        (
            "for i in 1 2; do sleep 1; echo a$i >> new; done & for i in 1 2; do sleep 1.5; echo b$i >> new; done & wait",
            "a1\nb1\na2\nb2\n",
        ),
        ("> new; (sleep 1; echo a > new) & (sleep 2; echo b > new) & wait", "b\n"),
        ("(sleep 1; echo a > t; mv t new) & (sleep 2; echo b > u; mv u new) & wait", "b\n"),
    ],
)
def test_jobs_that_write_to_one_file_replace_it_or_add_to_it_as_they_say(script: str, left: str) -> None:
    assert shell_on(machine_of()).run(f"{script}; cat new").stdout == left


def test_a_job_meets_what_later_calls_write_and_in_each_fork_what_is_written_there() -> None:
    state = _state()
    _typed(state, "cd; (sleep 25; cat f > g; sleep 20; cat f >> g) &")
    _typed(state, "echo one > f")
    other = state.fork()
    _typed(state, "sleep 25; echo two > f")
    _typed(other, "sleep 25; rm f")
    assert (_typed(state, "sleep 30; cat g; jobs"), _typed(other, "sleep 30; cat g")) == (
        "one\ntwo\n[1]+  Done                    (sleep 25; cat f > g; sleep 20; cat f >> g)",
        "cat: f: No such file or directory\none",
    )


def test_a_job_meets_what_sql_writes() -> None:
    state = _state()
    _typed(state, "cd; echo old > f; (sleep 25; cat f > g) &")
    state.execute("update files set content = 'new' where path = '/home/ann/f'")
    state.clock.advance(30)
    assert state.query("select content from files where path = '/home/ann/g'") == [{"content": "new"}]


def test_what_a_job_does_to_services_happens_when_its_time_has_come() -> None:
    text = (
        "kind: machine\nname: m\nclock: {start: 2031-03-03T09:00:00Z, per_step: 10s}\nhostname: oak\nuser: root\n"
        "services: {web: {command: /usr/sbin/web, user: root, state: active}}\n"
    )
    state = MachineSource.load(parse_document(text, Path("m.yaml"))).build().open()
    assert isinstance(state, MachineState)
    _typed(state, "(sleep 60; systemctl stop web; systemctl is-active web > /root/told) &")
    assert _typed(state, "sleep 30; systemctl is-active web") == "active"
    assert _typed(state, "sleep 40; cat /root/told") == "inactive"
    assert state.query("select state, changed from services") == [
        {"state": "inactive", "changed": "2031-03-03T09:01:00Z"}
    ]


def test_a_loop_that_waits_for_a_file_sleeps_as_long_as_it_takes() -> None:
    machine = machine_of()
    shell = shell_on(machine)
    shell.run("until [ -f flag ]; do sleep 1; done && date +%T > when &")
    shell.run("sleep 299.5; touch flag; sleep 2")
    assert shell.run("cat when; jobs").stdout.startswith("09:05:00\n[1]+  Done")


def test_two_loops_write_and_read_a_file_in_turn() -> None:
    found = shell_on(machine_of()).run(
        "for i in $(seq 30); do tail -n 1 log >> seen; sleep 1; done & sleep .5; "
        "for i in $(seq 30); do echo $i >> log; sleep 1; done; cat seen"
    )
    assert found.stdout == "".join(f"{number}\n" for number in range(1, 30))


def test_a_tail_that_looks_all_the_time_does_not_hold_up_the_host() -> None:
    machine = machine_of()
    shell = shell_on(machine)
    machine.deadline = machine.clock.moment + 120
    begun = process_time()
    shell.run("echo a > o; tail -s 0.000001 -f o")
    assert process_time() - begun < 2.0 and machine.clock.moment == instant(START) + 120

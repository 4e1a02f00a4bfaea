"""Cron keeps the machine's time: what is in a crontab runs at its minutes, at no other, and never without cron."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.worlds.machine.cron_times import cron_times
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld

_WORLD = """
kind: machine
name: place
hostname: oak
user: ann
users: {ann: {}, bob: {}}
clock: {start: 2031-03-03T08:58:30Z, per_step: 20s}
limits: {timeout: 60d}
cron:
  - {schedule: "0 9 * * *", command: date +\\%T >> log, user: ann}
  - {schedule: "*/20 * * * mon", command: "cat > /tmp/%one%two", user: bob}
"""


def _opened(more: str = "") -> MachineState:
    document = parse_document(_WORLD + more, Path("place.yaml"))
    world = MachineSource.load(document).build()
    assert isinstance(world, MachineWorld)
    return world.open()


def _run(state: MachineState, command: str) -> str:
    state.clock.tick()
    answer = state.answer(Request(state.world.tools[0], {"command": command}, 0, 0)).structured
    assert answer is not None
    return str(answer["stdout"]) + str(answer["stderr"])


def test_a_line_runs_at_its_minute_while_a_script_sleeps() -> None:
    state = _opened()
    assert _run(state, "ls; sleep 70; ls; cat log; sleep 1d; cat log") == "log\n09:00:00\n09:00:00\n09:00:00\n"


def test_a_line_runs_between_two_calls() -> None:
    state = _opened()
    assert [_run(state, "ls") for _ in range(5)] == ["", "", "", "", "log\n"]


def test_it_does_not_matter_who_looks_meanwhile() -> None:
    looked, other = _opened(), _opened()
    for _ in range(5):
        looked.query("select * from files")
        _run(looked, "date >> seen")
        _run(other, "date >> seen")
    assert looked.changes() == other.changes()
    assert "log" in str(looked.changes())


def test_a_fork_goes_on_by_itself() -> None:
    state = _opened()
    _run(state, "ls")
    fork = state.fork()
    assert _run(state, "sleep 2m; cat log") == "09:00:00\n"
    assert _run(fork, "ls; sleep 5m; cat log; rm log; sleep 1h; ls") == "09:00:00\n"


def test_what_follows_a_percent_sign_is_input() -> None:
    state = _opened()
    assert _run(state, "sleep 2m; journalctl -u cron | cut -d: -f4-; ls /tmp") == (
        " (ann) CMD (date +\\%T >> log)\n (bob) CMD (cat > /tmp/%one%two)\n (CRON) info (No MTA installed, discarding output)\n"
    )


def test_without_cron_nothing_runs() -> None:
    state = _opened()
    state.execute("delete from processes where service = 'cron'")
    assert _run(state, "sleep 1d; ls") == ""


def test_a_new_crontab_counts_at_once() -> None:
    state = _opened()
    _run(state, "echo '* * * * * echo $LOGNAME $PWD $SHELL >> x' | crontab -")
    assert _run(state, "sleep 130; cat x log 2> /dev/null") == "ann /home/ann /bin/sh\n" * 3


def test_cron_follows_a_clock_that_is_set() -> None:
    state = _opened()
    state.execute("insert or replace into clocks (host, ahead, synchronized) values ('oak', -3600, 0)")
    assert _run(state, "sleep 2m; ls; sleep 1h; cat log; date +%T") == "09:00:00\n09:00:50\n"


def test_what_a_line_does_after_a_sleep_comes_later_and_can_be_seen_running() -> None:
    state = _opened()
    _run(state, "echo '0 9 * * * sleep 300; echo done > late' | crontab -")
    assert _run(state, "sleep 2m; ls; jobs; pgrep -u ann sleep | wc -l; sleep 5m; cat late") == "1\ndone\n"


def test_a_line_that_never_ends_is_not_begun_again_in_the_same_leap() -> None:
    state = _opened()
    _run(state, "(echo '* * * * * while :; do :; done'; echo '* * * * * echo >> x') | crontab -")
    assert _run(state, "sleep 4h; wc -l < x") == "241\n"


def test_many_runs_are_cut() -> None:
    state = _opened()
    _run(state, "echo '* * * * * echo >> x' | crontab -")
    assert _run(state, "sleep 30d; wc -l < x; sleep 2m; wc -l < x") == "477\n479\n"


def test_the_terminal_sees_a_run_once() -> None:
    document = parse_document(_WORLD, Path("place.yaml"))
    state = MachineSource.load(document).configured(document, {"actions": "keystrokes"}, ()).build().open()
    assert isinstance(state, MachineState)

    def press(keys: str, duration: float) -> str:
        state.clock.tick()
        tool = state.world.tools[0]
        return state.answer(Request(tool, {"commands": [{"keystrokes": keys, "duration": duration}]}, 0, 0)).text

    press("sleep 50 & sleep 40\n", 5.0)
    press("C-z", 60.0)
    press("fg\n", 60.0)
    assert "1 log" in press("clear; wc -l log\n", 1.0)


@pytest.mark.parametrize(
    ("schedule", "count"),
    [
        ("* * * * *", 1440 * 28), ("*/7 * * * *", 9 * 24 * 28), ("0 9 * * mon-fri", 20), ("30 4 1,15 * 5", 6), ("0 0 */2 * 1", 2),
        ("@daily", 28), ("@weekly", 4), ("@monthly", 1), ("5/20 0 1 feb *", 3), ("0 12 * * 0,7", 4), ("15 3 31 2 *", 0),
    ],
)  # fmt: skip
def test_minutes_of_a_month_are_counted(schedule: str, count: int) -> None:
    times = cron_times(schedule)
    assert times is not None
    february = [datetime(2027, 2, 1) + timedelta(minutes=number) for number in range(1440 * 28)]
    assert sum(map(times.has, february)) == count


@pytest.mark.parametrize(
    "schedule", ["@reboot", "60 * * * *", "* * * *", "*/0 * * * *", "5-1 * * * *", "* * 0 * *", "* * * foo *"]
)
def test_what_is_no_time_has_none(schedule: str) -> None:
    assert cron_times(schedule) is None

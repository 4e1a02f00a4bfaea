"""A terminal on a machine: time, interruption, jobs, forks and the same screens each time."""

from pathlib import Path
from random import Random

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.values.types import Observation
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld
from tests.worlds.machine.test_machine_world import FILE


def terminal(text: str = FILE) -> MachineState:
    """Return a machine at whose terminal keys are typed."""
    document = parse_document(text, Path("bench.yaml"))
    world = MachineSource.load(document).configured(document, {"actions": "keystrokes"}, ()).build()
    assert isinstance(world, MachineWorld)
    return world.open()


def press(state: MachineState, *entries: tuple[str, float]) -> Observation:
    commands = [{"keystrokes": keystrokes, "duration": duration} for keystrokes, duration in entries]
    return state.answer(Request(state.world.tools[0], {"commands": commands}, 0, 0))


def last(observation: Observation, count: int = 1) -> list[str]:
    return observation.text.split("\n")[-count:]


def content(state: MachineState, path: str) -> str | None:
    rows = state.query("select content from files where path = :path", {"path": path})
    return None if not rows else str(rows[0]["content"])


def running(observation: Observation) -> bool:
    assert observation.structured is not None
    return bool(observation.structured["running"])


def test_a_command_that_takes_longer_than_the_wait_is_still_running() -> None:
    state = terminal()
    seen = press(state, ("sleep 3; echo done\n", 1))
    assert running(seen) and last(seen) == ["ann@oak:~$ sleep 3; echo done"]
    assert running(press(state, ("", 1)))
    seen = press(state, ("", 1.5))
    assert not running(seen) and last(seen, 2) == ["done", "ann@oak:~$"]


def test_waiting_long_enough_shows_the_end_at_once() -> None:
    state = terminal()
    assert last(press(state, ("sleep 3; echo done\n", 5)), 2) == ["done", "ann@oak:~$"]
    assert state.clock.now == "2031-03-03T09:00:05Z"


def test_output_comes_as_time_passes() -> None:
    state = terminal()
    press(state, ("clear; for i in 1 2 3; do date +%S; sleep 2; done\n", 3))
    assert last(press(state, ("", 0)), 2) == ["00", "02"]
    assert last(press(state, ("", 4)), 4) == ["00", "02", "04", "ann@oak:~$"]


def test_files_are_written_when_their_time_has_come_and_not_after_an_interruption() -> None:
    state = terminal()
    press(state, ("for i in 1 2 3 4; do echo $i >> log; sleep 2; done\n", 3))
    assert content(state, "/home/ann/log") == "1\n2\n"
    seen = press(state, ("C-c", 10), ("echo $?\n", 0))
    assert last(seen, 3) == ["ann@oak:~$ echo $?", "130", "ann@oak:~$"] and "^C" in seen.text
    assert content(state, "/home/ann/log") == "1\n2\n"


def test_the_time_of_what_was_written_later_is_the_later_time() -> None:
    state = terminal()
    press(state, ("sleep 10; touch late; x=5\n", 4), ("", 20))
    assert last(press(state, ("stat -c %y late; echo $x\n", 0)), 3)[:2] == ["2031-03-03 09:00:10.000000000 +0000", "5"]


def test_an_endless_loop_runs_until_it_is_interrupted() -> None:
    state = terminal()
    assert running(press(state, ("while true; do :; done\n", 2)))
    assert running(press(state, ("", 60)))
    assert last(press(state, ("C-c", 1)), 2) == ["^C", "ann@oak:~$"]
    assert state.clock.now == "2031-03-03T09:01:03Z"


def test_time_between_two_calls_counts() -> None:
    state = terminal()
    press(state, ("sleep 30; echo done\n", 1))
    state.clock.advance(60)
    assert last(press(state, ("", 0)), 2) == ["done", "ann@oak:~$"]


def test_what_is_typed_meanwhile_is_run_afterwards() -> None:
    state = terminal()
    press(state, ("sleep 5\n", 1), ("date +%S\n", 1))
    assert last(press(state, ("", 10)), 3) == ["ann@oak:~$ date +%S", "05", "ann@oak:~$"]


def test_a_fork_in_the_middle_of_a_command_goes_its_own_way() -> None:
    state = terminal()
    press(state, ("x=1; cd /srv\n", 1), ("sleep 10; echo over > ~/end; x=2\n", 3), ("echo $x $PWD", 0))
    fork = state.fork()
    ended = press(state, ("", 20), ("\n", 1))
    assert last(ended, 2) == ["2 /srv", "ann@oak:/srv$"] and content(state, "/home/ann/end") == "over\n"
    broken = press(fork, ("C-c", 1), ("echo $x\n", 1))
    assert last(broken, 2) == ["1", "ann@oak:/srv$"] and content(fork, "/home/ann/end") is None
    assert press(fork, ("Up", 0), ("Up", 0)).text.endswith("sleep 10; echo over > ~/end; x=2")
    fork.close()
    state.close()


def test_a_fork_has_the_line_and_the_pager_that_were_open() -> None:
    state = terminal()
    press(state, ("seq 100 | less\n", 0), ("Space", 0))
    fork = state.fork()
    assert press(fork, ("", 0)).text == press(state, ("", 0)).text
    assert press(fork, ("q", 0), ("echo half", 0)).text.endswith("$ echo half")
    second = fork.fork()
    assert last(press(second, (" a\n", 0)), 2) == ["half a", "ann@oak:~$"]
    assert press(state, ("G", 0)).text.endswith("100\n(END)")


def test_a_trial_leaves_neither_files_nor_screen_nor_time_of_what_runs() -> None:
    state = terminal()
    press(state, ("sleep 10; echo over > end\n", 1), ("typed", 0))
    before, now = press(state, ("", 0)).text, state.clock.moment
    with state.savepoint():
        press(state, ("C-c", 1), ("echo lost > lost\n", 1))
        assert content(state, "/home/ann/lost") == "lost\n"
    state.clock.moment = now
    seen = press(state, ("", 0))
    assert seen.text == before and running(seen) and content(state, "/home/ann/lost") is None
    press(state, ("", 20))
    assert content(state, "/home/ann/end") == "over\n"


def test_the_same_keys_give_the_same_screens_and_files() -> None:
    loop = "for i in 1 2 3; do echo $RANDOM; sleep 1; done > r\n"
    entries = [("echo $RANDOM; mktemp\n", 1), (loop, 1.5), ("", 1), ("", 9), ("cat r\n", 1)]
    apart, at_once = terminal(), terminal()
    screens = [press(apart, entry).text for entry in entries]
    assert screens[-1] == press(at_once, *entries).text
    assert screens == [press(state, entry).text for state in [terminal()] for entry in entries]
    # Waiting in one piece reveals what waiting in pieces does.
    whole = terminal()
    press(whole, entries[0], (entries[1][0], 20))
    assert content(whole, "/home/ann/r") == content(apart, "/home/ann/r")


def test_a_write_of_others_is_met_by_what_runs() -> None:
    state = terminal()
    press(state, ("x=7; sleep 10; cat /srv/notes/one.txt; echo $x\n", 1))
    state.execute("update files set content = 'by sql\n' where path = '/srv/notes/one.txt'")
    assert last(press(state, ("", 20)), 3) == ["by sql", "7", "ann@oak:~$"]
    state.execute("update files set content = 'again\n' where path = '/srv/notes/one.txt'")
    assert last(press(state, ("cat /srv/notes/one.txt\n", 1)), 2) == ["again", "ann@oak:~$"]


def test_many_lines_before_a_cut_do_not_change_what_it_sees() -> None:
    state = terminal()
    for number in range(40):
        press(state, (f"n{number}={number}; echo $n{number} >> all; cd /srv; cd\n", 0.5))
    press(state, ("sleep 5; wc -l < all; echo $n39 $n3\n", 1))
    assert last(press(state, ("", 9)), 3) == ["40", "39 3", "ann@oak:~$"]


def test_a_job_in_the_background_writes_as_time_passes_and_is_a_process() -> None:
    state = terminal()
    press(state, ("(sleep 5; echo one > a; sleep 5; echo two > b) &\n", 1), ("echo mine > c\n", 1))
    assert [row["state"] for row in state.query("select state from processes where command like '(sleep%'")] == ["S"]
    assert content(state, "/home/ann/a") is None
    press(state, ("", 5))
    assert content(state, "/home/ann/a") == "one\n" and content(state, "/home/ann/b") is None
    press(state, ("", 10))
    assert content(state, "/home/ann/b") == "two\n" and content(state, "/home/ann/c") == "mine\n"
    assert "Done" in press(state, ("\n", 0)).text
    assert state.query("select 1 from processes where command like '(sleep%'") == []
    assert "processes" not in state.changes()


def test_a_job_in_the_background_meets_what_is_written_after_it_began() -> None:
    state = terminal()
    press(state, ("(sleep 5; cat f; sleep 5; cat f > g) &\n", 1), ("echo one > f\n", 1))
    fork = state.fork()
    assert last(press(state, ("", 4))) == ["ann@oak:~$ one"]
    press(state, ("echo two > f\n", 1), ("", 5))
    assert content(state, "/home/ann/g") == "two\n"
    press(fork, ("", 20))
    assert content(fork, "/home/ann/g") == "one\n"
    fork.close()


def test_a_job_in_the_background_waits_for_a_file_and_leaves_what_others_write() -> None:
    state = terminal()
    press(
        state, ("(echo mine > o; until [ -f flag ]; do sleep 1; done; echo seen > g) &\n", 3), ("echo yours > o\n", 5)
    )
    assert content(state, "/home/ann/o") == "yours\n" and content(state, "/home/ann/g") is None
    press(state, ("touch flag\n", 2))
    assert content(state, "/home/ann/g") == "seen\n" and content(state, "/home/ann/o") == "yours\n"
    assert "Done" in press(state, ("\n", 0)).text


def test_the_last_job_is_known_by_its_process_and_waited_for_with_its_exit_code() -> None:
    state = terminal()
    press(state, ("(sleep 9; exit 3) &\n", 1), ("first=$!\n", 0), ("(sleep 50; exit 4) &\n", 1))
    assert last(press(state, ("kill -0 $! && echo '$!' $(($! - first))\n", 1)), 2) == ["$! 13", "ann@oak:~$"]
    press(state, ("kill $!\n", 1), ("wait %1\n", 1))
    assert state.terminal.is_busy
    press(state, ("", 9))
    assert last(press(state, ("echo $?\n", 1)), 2) == ["3", "ann@oak:~$"]
    press(state, ("(sleep 2; exit 5) &\n", 0), ("wait $!\n", 5))
    assert last(press(state, ("echo $?\n", 1)), 2) == ["5", "ann@oak:~$"]
    press(state, ("(sleep 2; exit 6) &\n", 0), ("fg\n", 5))
    assert last(press(state, ("echo $?\n", 1)), 2) == ["6", "ann@oak:~$"]


def test_kill_takes_several_jobs_and_stands_beside_other_commands() -> None:
    state = terminal()
    press(
        state, ("sleep 30 &\n", 1), ("sleep 31 &\n", 1), ("sleep 32 &\n", 1), ("kill %1 %2; kill %3 && echo ended\n", 1)
    )
    assert last(press(state, ("\n", 1)), 4) == [
        *(
            f"[{number}]{mark}  {'Terminated':<24}sleep {30 + number - 1}"
            for number, mark in ((1, " "), (2, "-"), (3, "+"))
        ),
        "ann@oak:~$",
    ]
    assert state.query("select 1 from processes where command like 'sleep%'") == []
    assert last(press(state, ("kill %1\n", 1)), 2) == ["bash: kill: %1: no such job", "ann@oak:~$"]


def test_only_the_last_command_of_a_line_goes_into_the_background() -> None:
    state = terminal()
    seen = press(state, ("cd /srv/notes; x=5; (sleep 9; echo $x > out) &\n", 1))
    assert last(seen) == ["ann@oak:/srv/notes$"]
    press(state, ("sleep 2; echo mid; sleep 4 &\n", 3))
    assert last(press(state, ("jobs\n", 1)), 4) == [
        "ann@oak:/srv/notes$ jobs",
        f"[1]-  {'Running':<24}(sleep 9; echo $x > out) &",
        f"[2]+  {'Running':<24}sleep 4 &",
        "ann@oak:/srv/notes$",
    ]
    press(state, ("", 9), ("sleep 9; sleep 8 &\n", 1), ("C-c", 1))
    assert content(state, "/srv/notes/out") == "5\n"
    assert last(press(state, ("jobs\n", 1)), 2) == ["ann@oak:/srv/notes$ jobs", "ann@oak:/srv/notes$"]


def test_what_runs_tells_of_what_a_job_does_meanwhile() -> None:
    state = terminal()
    press(state, ("(sleep 3; echo new > flag) &\n", 0.1), ("until [ -f flag ]; do sleep 1; done; cat flag\n", 1))
    # The line is run before the job, so it meets the file at the next look.
    assert "\nnew\n" in press(state, ("", 5), ("", 1)).text
    press(state, ("clear\n", 0), ("(sleep 3; echo more >> flag) &\n", 0.1), ("tail -f flag\n", 1))
    assert press(state, ("", 5), ("", 1)).text.split()[-2:] == ["new", "more"]


def test_a_killed_process_ends_its_job() -> None:
    state = terminal()
    press(state, ("(sleep 50; echo one > a) &\n", 1), ("pkill -f 'sleep 50'\n", 1), ("", 100))
    assert "Terminated" in press(state, ("\n", 0)).text
    assert content(state, "/home/ann/a") is None


def test_a_stopped_job_stands_still_until_it_goes_on() -> None:
    state = terminal()
    press(state, ("sleep 10; date +%M:%S > when\n", 4), ("C-z", 100))
    assert content(state, "/home/ann/when") is None
    press(state, ("bg\n", 3))
    assert content(state, "/home/ann/when") is None
    fork = state.fork()
    press(state, ("wait\n", 30))
    assert content(state, "/home/ann/when") is not None
    press(fork, ("fg\n", 1), ("C-c", 50))
    assert content(fork, "/home/ann/when") is None
    fork.close()


def test_leaving_the_shell_begins_a_new_one() -> None:
    state = terminal()
    assert last(press(state, ("x=5; cd /srv\n", 0), ("C-d", 0), ("echo [$x]\n", 0)), 4) == [
        "ann@oak:/srv$ exit", "ann@oak:~$ echo [$x]", "[]", "ann@oak:~$",
    ]  # fmt: skip


def test_names_of_keys_are_keys_only_as_a_whole() -> None:
    state = terminal()
    assert last(press(state, ("echo C-c Enter", 0), ("Enter", 0)), 2) == ["C-c Enter", "ann@oak:~$"]
    assert last(press(state, ("abc", 0), ("C-u", 0), ("echo ^C", 0), ("BSpace", 0), ("\n", 0)), 2) == [
        "^",
        "ann@oak:~$",
    ]


def test_commands_of_the_world_and_its_files_are_completed() -> None:
    state = terminal()
    assert last(press(state, ("hell", 0), ("Tab", 0), ("you\n", 0)), 2)[0] == "hello you at 2031-03-03T09:00:00Z"
    assert press(state, ("C-l", 0), ("cat /srv/no", 0), ("Tab", 0), ("on", 0), ("Tab", 0), ("\n", 0)).text == (
        "ann@oak:~$ cat /srv/notes/one.txt\nfirst\nann@oak:~$"
    )


def test_programs_that_the_machine_has_not_got_are_not_completed() -> None:
    assert last(press(terminal(), ("echo a; pyth", 0), ("Tab", 0), ("pytes", 0), ("Tab", 0))) == [
        "ann@oak:~$ echo a; pythpytes"
    ]


def test_a_machine_knows_two_action_spaces_and_no_third() -> None:
    document = parse_document(FILE, Path("bench.yaml"))
    with pytest.raises(InputError, match="bash"):
        MachineSource.load(document).configured(document, {"actions": "mouse"}, ())


def test_output_longer_than_the_screen_keeps_its_end() -> None:
    state = terminal()
    lines = press(state, ("seq 5000\n", 1)).text.split("\n")
    assert len(lines) == 40 and lines[0] == "4962" and lines[-2:] == ["5000", "ann@oak:~$"]


SEQUENCES, LENGTH = 6, 30
TYPED = [
    "C-c", "C-d", "C-z", "C-a", "C-k", "C-u", "C-w", "C-y", "C-r", "C-l", "Up", "Down", "Left", "Tab", "BSpace",
    "M-d", "\n", "q", "G", "Escape", "#\n", "seq 100 | less\n", "sleep 3", "(sleep 9; date > d) &\n", "fg\n",
    "bg\n", "jobs\n", "kill %1\n", "echo 'a", "<<EOF\n", "EOF\n", "cat > f\n", "!!\n",
    "for i in 1 2; do echo $RANDOM >> r; sleep 2; done\n", "history\n", "cd /srv\n", "read x\n",
    "more /etc/passwd\n", "(", "x" * 170, "\x1b[31m", "é日",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_a_fork_shows_and_holds_what_its_original_does_whatever_is_typed(seed: int) -> None:
    draws = Random(seed)
    entries = [(draws.choice(TYPED), draws.choice([0.0, 0.5, 1.0, 5.0])) for _ in range(LENGTH)]
    state, half = terminal(), draws.randrange(LENGTH)
    for entry in entries[:half]:
        press(state, entry)
    fork = state.fork()
    for entry in entries[half:]:
        assert press(fork, entry) == press(state, entry)
    assert fork.changes() == state.changes() and fork.clock.moment == state.clock.moment

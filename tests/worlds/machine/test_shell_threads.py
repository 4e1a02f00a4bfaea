"""The threads in which shells run: which one that is, and that what ends a script there leaves the thread as it was."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simtrain.contracts.request import Request
from simtrain.worlds.machine.deep_threads import DeepThreads, in_deep_thread
from simtrain.worlds.machine.files import Files
from tests.support.machines import machine_of, shell_on, state_of

FILES = {"/etc/motd": "hello\n"}
READ = "x=5; cat /etc/motd"
FOR_EVER = """x='eval "$x"'; eval "$x\""""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """The threads in which files are read, in the test."""
    found: set[int] = set()
    read = Files.read

    def noted(files: Files, path: str) -> bytes:
        found.add(threading.get_ident())
        return read(files, path)

    monkeypatch.setattr(Files, "read", noted)
    yield found


@pytest.fixture
def deep() -> Iterator[Callable[[Callable[[], object]], object]]:
    """Return what a function returns, always in the same thread with a large stack."""
    with DeepThreads(1) as threads:
        yield lambda work: threads.submit(work).result()


def test_a_deep_thread_runs_every_script_itself(deep: Callable[..., object], readers: set[int]) -> None:
    shell = shell_on(machine_of(FILES))
    for script in (READ, "f() { cat /etc/motd; }; f", "for i in 1 2; do cat /etc/motd; done | wc -l"):
        assert deep(lambda script=script: shell.run(script).exit_code) == 0
    assert readers == {deep(threading.get_ident)}


async def test_an_answer_that_is_awaited_runs_in_one(readers: set[int]) -> None:
    shell = shell_on(machine_of(FILES))
    own = await in_deep_thread(lambda: (shell.run(READ), threading.get_ident())[1])
    assert readers == {own}
    assert own != threading.get_ident()


async def test_a_call_of_a_world_is_answered_in_one_while_the_loop_goes_on(readers: set[int]) -> None:
    state = state_of("{kind: machine, name: desk, hostname: desk, user: ann, users: {ann: {}}}")
    request = Request(state.world.tools[0], {"command": "x=5; cat /etc/hostname; seq 50000 | sort | tail -n 1"}, 0, 0)
    answered = asyncio.ensure_future(state.answer_aside(request))
    turns = 0
    while not answered.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert (await answered).text == "desk\n9999" and turns > 2
    names = {one.ident: one.name for one in threading.enumerate()}
    assert {names[one].rpartition("_")[0] for one in readers} == {"answers"}


def test_a_script_of_another_thread_runs_in_one_of_the_shells(readers: set[int]) -> None:
    shell = shell_on(machine_of(FILES))
    assert shell.run(READ).stdout == "hello\n"
    assert readers and threading.get_ident() not in readers


def test_a_child_runs_elsewhere(deep: Callable[..., object], readers: set[int]) -> None:
    shell = shell_on(machine_of(FILES))
    assert deep(lambda: shell.run("timeout 5 cat /etc/motd").stdout) == "hello\n"
    assert readers and deep(threading.get_ident) not in readers


def test_what_calls_itself_for_ever_ends_and_the_same_thread_goes_on(deep: Callable[..., object]) -> None:
    shell = shell_on(machine_of(FILES))
    # Long enough to be looked at several times: a stack that still looked full would end it.
    work = "for i in $(seq 3000); do echo $i; done | sort -r | tail -n 1; sleep 1; for i in $(seq 3000); do :; done"
    for _ in range(3):
        assert deep(lambda: shell.run(FOR_EVER).ending) == "recursion"
        assert deep(lambda: (shell.run(work).stdout, shell.run("echo on").ending)) == ("1\n", "")


def test_what_takes_too_long_is_stopped_there(deep: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simtrain.worlds.machine.children.MOST_SECONDS", 0.2)
    shell = shell_on(machine_of())
    script = "for i in $(seq 40000); do x=$(seq 3000 | sort -r | md5sum); done"
    assert deep(lambda: shell.run(script).ending) == "timeout"
    assert deep(lambda: shell.run("echo still here").stdout) == "still here\n"


def test_many_threads_at_once_are_watched() -> None:
    """One calls itself for ever, the others do not: only the one is stopped."""
    scripts = [FOR_EVER if number == 3 else "for i in $(seq 400); do echo $i; done | tail -n 1" for number in range(8)]
    with DeepThreads(8) as threads:
        done = list(threads.map(lambda script: shell_on(machine_of()).run(script), scripts))
    assert [one.ending for one in done] == ["", "", "", "recursion", "", "", "", ""]
    assert {one.stdout for one in done if not one.ending} == {"400\n"}


_INTERRUPTED = """
import _thread, signal, threading, time
from tests.support.machines import machine_of, shell_on

signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored where the tests run in the background.
shell = shell_on(machine_of({"/etc/motd": "hello"}))
for script in ("while :; do x=$(seq 300 | sort -r); done", "while :; do timeout 9 cat /etc/motd; done"):
    threading.Timer(0.5, _thread.interrupt_main).start()
    begun = time.monotonic()
    try:
        shell.run(script)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - begun < 5)
    print(shell.run("echo on; timeout 9 cat /etc/motd").stdout)
"""


def test_ctrl_c_in_the_main_thread_ends_a_script_at_once_and_the_shell_goes_on() -> None:
    words = [sys.executable, "-c", _INTERRUPTED]
    done = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted True\non\nhello\n" * 2, done.stderr[-2000:]

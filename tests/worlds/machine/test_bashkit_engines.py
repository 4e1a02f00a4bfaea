"""Engines that closed shells leave to the next: it finds nothing in one that was there before."""

import gc
import os
from signal import SIGKILL
from time import monotonic
from weakref import ref

import pytest

from simtrain.worlds.machine import bashkit_engines
from simtrain.worlds.machine.bashkit_engines import BashkitEngine, EngineSettings
from simtrain.worlds.machine.bashkit_shell import BashkitShell
from tests.support.machines import BOB, ENVIRONMENT, machine_of, shell_on

_ALL = (
    "set; set -o; shopt; alias; declare -f; declare -p; trap; pwd; umask; echo $- $# $? $! $0 $_ $OPTIND; dirs; hash; env; ulimit -a; "
    "jobs; enable; type f ll; cat <&5; ls -la / /tmp /dev/fd; history; compgen -c; echo $BASH_SUBSHELL ${PIPESTATUS[@]}"
)
_LEAVES_MUCH = """
X=5; export Y=6; f() { echo f; }; alias ll='ls -l'; trap 'echo bye' EXIT; trap 'echo e' ERR; set -f; set -u; set -o pipefail
shopt -s extglob nullglob; mkdir -p /tmp/q/r; cd /tmp/q; umask 077; exec 5>/tmp/five; echo a >&5; arr=(1 2 3); declare -A m=([a]=1)
readonly R=1; pushd /tmp; set -- a b c; sleep 100 & getopts ab o -a; unset HOME; PATH=/x; IFS=,; PS1=zz; SECONDS=900; declare -i n=4
enable -n true; history -c; false
"""


@pytest.fixture(autouse=True)
def no_engines_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bashkit_engines, "_store", bashkit_engines._Store())  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[EngineSettings]:
    """What engines were made for, in the test."""
    found: list[EngineSettings] = []
    init = BashkitEngine.__init__

    def counted(engine: BashkitEngine, settings: EngineSettings) -> None:
        found.append(settings)
        init(engine, settings)

    monkeypatch.setattr(BashkitEngine, "__init__", counted)
    return found


def test_a_shell_with_the_engine_of_a_closed_one_is_as_a_new_one(made: list[EngineSettings]) -> None:
    new = shell_on(machine_of()).run(_ALL)
    first = shell_on(machine_of())
    first.run(_LEAVES_MUCH)
    first.close()
    second = shell_on(machine_of())
    again = second.run(_ALL)
    assert len(made) == 2
    assert (again.stdout, again.stderr, again.exit_code) == (new.stdout, new.stderr, new.exit_code)
    assert "HOME=/home/ann" in again.stdout and "pipefail" in again.stdout


def test_an_engine_is_lent_to_one_shell_at_a_time_and_to_those_of_the_same_user(made: list[EngineSettings]) -> None:
    shells = [shell_on(machine_of()) for _ in range(2)]
    for shell in shells:
        shell.run("true")
    shells[0].close()
    shells[0].close()
    for user in (BOB, shells[0].user, shells[0].user):
        assert shell_on(machine_of(), user=user).run("whoami").stdout == f"{user.name}\n"
    assert [settings.user for settings in made] == ["ann", "ann", "bob", "ann"]


def test_a_shell_that_was_stopped_or_has_got_commands_of_scripts_leaves_its_engine_to_nobody(
    made: list[EngineSettings],
) -> None:
    stopped = shell_on(machine_of())
    stopped.run("true")
    stopped.stop()
    calls = shell_on(machine_of({"/home/ann/s": "sleep 9 &\n"}))
    calls.run("chmod +x s; ./s")
    for shell in (stopped, calls):
        shell.close()
    shell_on(machine_of()).run("true")
    # One of them is that of the script.
    assert len(made) == 4


def test_a_child_process_lives_and_has_engines_of_its_own() -> None:
    # A shell within a shell leaves an engine that was made in its thread.
    shell_on(machine_of({"/home/ann/p.awk": "BEGIN { print systime() }\n"})).run("find p.awk -exec awk -f {} \\;")
    # Python runs in the child before this.
    child = os.fork()
    if not child:
        os._exit(0)
    ended, until = (0, 0), monotonic() + 20
    while not ended[0] and monotonic() < until:
        ended = os.waitpid(child, os.WNOHANG)
    if not ended[0]:
        os.kill(child, SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
    assert shell_on(machine_of()).run("echo here").stdout == "here\n"


def test_a_shell_that_nobody_holds_is_freed() -> None:
    shell = shell_on(machine_of())
    shell.run("ls")
    held = ref(shell)
    del shell
    gc.collect()
    assert held() is None


def test_a_shell_goes_on_from_a_state_in_which_scripts_were_called_by_their_path() -> None:
    machine = machine_of({"/home/ann/s": "echo one\nsleep 9 &\n"})
    first = shell_on(machine)
    first.run("chmod +x s; X=5; ./s")
    again = BashkitShell(machine, first.user, directory="/home/ann", environment=ENVIRONMENT, state=first.save())
    assert again.run("echo $X; ./s").stdout == "5\none\n"
    assert again.save() != first.save()

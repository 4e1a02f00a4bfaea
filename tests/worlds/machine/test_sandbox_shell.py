"""A real bash over the files of a machine: what lasts from one script to the next, what is taken over, and what is refused."""

from pathlib import Path

import pytest
from harbor_folders import write_harbor
from sandboxes import real_clock_sandbox

from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError
from simtrain.worlds.machine.world import MachineState

pytestmark = pytest.mark.slow

WORLD = """\
kind: machine
name: box
clock: {start: 2031-03-03T09:00:00Z}
hostname: box
user: root
directory: /app
environment: {MOOD: good}
shell: bubblewrap
files:
  - {path: /app/a.txt, content: "first\\n"}
  - {path: /app/b.bin, base64: AAEC/w==}
"""


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.full)], autouse=True)
def shell(request: pytest.FixtureRequest) -> str:
    """The sandbox in which scripts run."""
    return real_clock_sandbox(request.param)


def opened(folder: Path, shell: str, text: str = WORLD) -> MachineState:
    text = text.replace("shell: bubblewrap", f"shell: '{shell}'")
    state = load_world(write_harbor(folder, {"box.yaml": text}) / "box.yaml").build().open()
    assert isinstance(state, MachineState)
    return state


def say(state: MachineState, script: str, *, limit: float = 60) -> str:
    finished = state.run_script(script, until=state.clock.moment + limit)
    return finished.screen + (f"[{finished.exit_code} {finished.ending}]" if finished.exit_code else "")


def test_variables_functions_and_the_directory_last_and_go_with_a_fork(tmp_path: Path, shell: str) -> None:
    state = opened(tmp_path, shell)
    assert say(state, "x='a\nb'; export y=2; f() { echo \"f $x $y $MOOD\"; }; cd /tmp; exit 3") == "[3 ]"
    fork = state.fork()
    assert isinstance(fork, MachineState)
    for one in (state, fork):
        assert say(one, 'echo $?; pwd; f; x=$((y + 1)); echo "$x"') == "3\n/tmp\nf a\nb 2 good\n3\n"
    say(fork, "echo other > /app/a.txt")
    assert say(state, "cat /app/a.txt") == "first\n"


def test_files_are_those_of_the_world_before_and_after(tmp_path: Path, shell: str) -> None:
    state = opened(tmp_path, shell)
    assert say(state, "od -An -tx1 b.bin; cat /etc/hostname") == " 00 01 02 ff\nbox\n"
    assert say(state, "rm b.bin; mkdir -p d; printf '\\377' > d/c; ln -s a.txt l; chmod 700 a.txt") == ""
    rows = state.query("select path, kind, mode, base64, target from files where path like '/app/%' order by path")
    assert [tuple(row.values()) for row in rows] == [
        ("/app/a.txt", "file", "0700", None, None),
        ("/app/d", "directory", "0755", None, None),
        ("/app/d/c", "file", "0644", "/w==", None),
        ("/app/l", "link", "0777", None, "a.txt"),
    ]
    assert say(state, "nothing_of_the_kind").endswith("bash: line 1: nothing_of_the_kind: command not found\n[127 ]")
    state.execute("update files set content = 'by SQL' where path = '/app/a.txt'")
    assert say(state, "cat a.txt") == "by SQL"


def test_names_that_are_no_text_are_kept_as_text(tmp_path: Path, shell: str) -> None:
    state = opened(tmp_path, shell)
    assert (
        say(state, "echo 1 > $'/app/n\\xff'; ln -s $'to\\xfe' /app/l; mkdir $'/app/\\xfd'; echo 2 > $'/app/\\xfd/x'")
        == ""
    )
    rows = state.query(
        "select path, content, target from files where path like '/app/%' and path > '/app/b.bin' order by path"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("/app/l", None, "to\N{REPLACEMENT CHARACTER}"),
        ("/app/n\N{REPLACEMENT CHARACTER}", "1\n", None),
        ("/app/\N{REPLACEMENT CHARACTER}", None, None),
        ("/app/\N{REPLACEMENT CHARACTER}/x", "2\n", None),
    ]
    assert say(state, "cat /app/n*") == "1\n"


def test_a_script_is_ended_when_its_time_is_over(tmp_path: Path, shell: str) -> None:
    state = opened(tmp_path, shell)
    assert say(state, "echo begun; sleep 30", limit=0.5) == "begun\n[124 timeout]"
    assert say(state, "echo on") == "on\n"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("commands: {hi: {template: hi}}\n", "commands: `commands` are there in the simulated shell alone"),
        ("machines: {other: {}}\n", "machines: `machines` are there in the simulated shell alone"),
    ],
)
def test_what_only_the_simulated_shell_has_is_refused(tmp_path: Path, shell: str, more: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        opened(tmp_path, shell, WORLD + more)


def test_content_that_is_no_base64_is_told_with_its_line(tmp_path: Path, shell: str) -> None:
    with pytest.raises(InputError, match=r"box\.yaml:11: files\[1\]\.base64: this is not base64"):
        opened(tmp_path, shell, WORLD.replace("AAEC/w==", "no-64"))

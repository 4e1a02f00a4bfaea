"""A real bash that the user names answers command lines and keystrokes; what it answered can be replayed without it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from simtrain import load_scenario, open_episode
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import Action, JsonObject, Observation

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bash") is None, reason="runs the bash of this machine"
)

BASH = "[bash, --norc, --noprofile]"
SCENARIO = """
name: asked
world: {{use: {world}, with: {{actions: {actions}}}}}
domain: terminal
prompt: Look around.
tools: ["{tool}"]
world_models:
  - use: {use}
    with: {{{knobs}}}
rubric: [{{use: answer, with: {{value: done}}}}]
"""
WORLD = "kind: machine\nname: place\nhostname: oak\nuser: ann\nusers: {ann: {}}\n"


def scenario(folder: Path, use: str, knobs: str, *, actions: str = "bash") -> Path:
    (folder / "place.yaml").write_text(WORLD)
    path = folder / f"{use}-{actions}.yaml"
    tool = "keystrokes" if actions == "keystrokes" else "bash"
    world = str(folder / "place.yaml")
    path.write_text(SCENARIO.format(world=world, use=use, knobs=knobs, actions=actions, tool=tool))
    return path


async def asked(path: Path, tool: str, calls: Sequence[JsonObject]) -> list[Observation]:
    async with open_episode(load_scenario(str(path))) as environment:
        return [await environment.step(Action(f"c{number}", tool, call)) for number, call in enumerate(calls)]


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMTRAIN_ALLOW_LIVE", "1")


LINES = (
    "mkdir -p d; cd d; x=5; echo one > a.txt",
    "pwd | sed 's/.*\\///'; echo $x; cat a.txt",
    "ls nosuch 2>/dev/null",
    "echo $?; echo out; echo err >&2; (exit 3)",
    "printf 'no newline'",
    "cat; read line; echo \"'$line'\"",
    "for i in 1 2; do\n  echo $i\ndone",
    "exit 7",
    "echo again $x; pwd | sed 's/.*\\///'",
    "echo (",
)


@pytest.mark.usefixtures("allowed")
async def test_command_lines_are_answered_by_one_bash_and_replayed_without_it(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    live = scenario(tmp_path, "live", f"shell: {BASH}, cwd: home, recording: run.jsonl")
    calls: list[JsonObject] = [{"command": line} for line in LINES]
    found = await asked(live, "bash", calls)
    assert (tmp_path / "home/d/a.txt").read_text() == "one\n"
    texts = [one.text for one in found]
    assert texts[:3] == ["", "d\n5\none", "[exit code 2]"]
    assert found[3].structured is not None
    assert (found[3].structured["stdout"], found[3].structured["stderr"], found[3].structured["exit_code"]) == (
        "2\nout\n", "err\n", 3,
    )  # fmt: skip
    assert sorted(texts[3].split("\n")) == ["2", "[exit code 3]", "err", "out"]
    assert texts[4:9] == ["no newline", "''", "1\n2", "[exit code 7]", "again\nhome"]
    assert "syntax error" in texts[9] and all(one.provenance is not None for one in found)
    replay = scenario(tmp_path, "replay", "recording: run.jsonl")
    # Nothing is started now.
    again = await asked(replay, "bash", calls)
    assert [(one.text, one.structured) for one in again] == [(one.text, one.structured) for one in found]
    with pytest.raises(SimulatorFault, match="not recorded"):
        await asked(replay, "bash", [{"command": "rm -rf d"}])


@pytest.mark.usefixtures("allowed")
async def test_a_command_that_takes_too_long_is_stopped_and_the_next_bash_begins_anew(tmp_path: Path) -> None:
    live = scenario(tmp_path, "live", f"shell: {BASH}")
    calls: list[JsonObject] = [
        {"command": "x=1; echo before; sleep 1000", "timeout": 0.3},
        {"command": 'echo "after $x."'},
    ]
    found = await asked(live, "bash", calls)
    assert [one.text for one in found] == ["before\n[stopped after 0.3 s]", "after ."]


@pytest.mark.usefixtures("allowed")
async def test_much_output_is_shown_without_its_middle(tmp_path: Path) -> None:
    live = scenario(tmp_path, "live", f"shell: {BASH}")
    found = await asked(live, "bash", [{"command": "yes | head -n 4000000; echo end"}])
    assert len(found[0].text) < 31_000 and "left out" in found[0].text


@pytest.mark.usefixtures("allowed")
async def test_ctrl_c_ends_what_runs_there_also_where_simtrain_runs_in_the_background(tmp_path: Path) -> None:
    live = scenario(tmp_path, "live", f"shell: {BASH}", actions="keystrokes")
    # As a shell without job control starts what has `&` behind it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        stop = [{"keystrokes": "C-c", "duration": 1}] * 2
        calls: list[JsonObject] = [{"commands": [{"keystrokes": "sleep 1000\n", "duration": 1}]}, {"commands": stop}]
        found = await asked(live, "keystrokes", calls)
    finally:
        signal.signal(signal.SIGINT, before)
    contents = [one.structured for one in found]
    assert [content is not None and content["running"] for content in contents] == [True, False]


@pytest.mark.usefixtures("allowed")
async def test_keystrokes_are_typed_at_a_real_terminal_and_replayed_without_it(tmp_path: Path) -> None:
    live = scenario(tmp_path, "live", f"shell: {BASH}, recording: keys.jsonl", actions="keystrokes")
    # On a busy machine the first may come before `sleep` has the terminal; at a prompt the second does nothing else.
    stop = [{"keystrokes": "C-c", "duration": 1}] * 2
    calls: list[JsonObject] = [
        {"commands": [{"keystrokes": "echo one; test -t 0 && echo a terminal\n", "duration": 0}]},
        {"commands": [{"keystrokes": "sleep 1000\n", "duration": 1}]},
        {"commands": [*stop, {"keystrokes": "echo $?; tput cols\n", "duration": 1}]},
        {"commands": [{"keystrokes": "clear; printf abc", "duration": 0.5}]},
    ]
    found = await asked(live, "keystrokes", calls)
    assert "\none\na terminal\n" in found[0].text
    contents = [one.structured for one in found]
    assert [content is not None and content["running"] for content in contents] == [False, True, False, False]
    assert "^C" in found[2].text and "\n130\n160\n" in found[2].text
    assert found[3].text.endswith(" clear; printf abc")
    replay = scenario(tmp_path, "replay", "recording: keys.jsonl", actions="keystrokes")
    again = await asked(replay, "keystrokes", calls)
    assert [(one.text, one.structured) for one in again] == [(one.text, one.structured) for one in found]


@pytest.mark.usefixtures("allowed")
async def test_a_terminal_whose_bash_has_ended_has_another_one_at_the_next_call(tmp_path: Path) -> None:
    live = scenario(tmp_path, "live", f"shell: {BASH}", actions="keystrokes")
    lines = ("echo one; exit 3\n", "echo two\n")
    calls: list[JsonObject] = [{"commands": [{"keystrokes": line, "duration": 0.5}]} for line in lines]
    ended, again = await asked(live, "keystrokes", calls)
    assert ended.content is not None and not ended.content["running"]
    assert ended.text.endswith("one\nexit") and again.text.startswith(ended.text) and "echo two\ntwo\n" in again.text


BUBBLE = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink",
          "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--unshare-all", "--die-with-parent",
          "--chdir", "/tmp", "bash", "--norc", "--noprofile"]  # fmt: skip


def bubblewrap_works() -> bool:
    return (
        shutil.which("bwrap") is not None and not subprocess.run([*BUBBLE, "-c", ":"], capture_output=True).returncode
    )


@pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap does not work here")
@pytest.mark.usefixtures("allowed")
async def test_a_bash_in_a_sandbox_sees_what_the_sandbox_shows_it(tmp_path: Path) -> None:
    live = scenario(tmp_path, "live", f"shell: {BUBBLE}".replace("'", '"'))
    found = await asked(
        live, "bash", [{"command": f"ls {tmp_path}"}, {"command": "pwd; echo x > y; ls"}, {"command": "ls"}]
    )
    assert [one.text for one in found] == [
        f"ls: cannot access '{tmp_path}': No such file or directory\n[exit code 2]", "/tmp\ny", "y",
    ]  # fmt: skip


async def test_no_scenario_starts_a_shell_that_the_user_has_not_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIMTRAIN_ALLOW_LIVE", raising=False)
    live = load_scenario(str(scenario(tmp_path, "live", f"shell: {BASH}")))
    with pytest.raises(InputError, match=r"would use the real server \['bash', .*; if you trust the scenario"):
        async with open_episode(live):
            pass


@pytest.mark.usefixtures("allowed")
async def test_a_shell_that_does_not_start_is_said_before_anything_is_played(tmp_path: Path) -> None:
    for shell, words in ((["nosuch-shell"], "cannot be started"), (["sh", "-c", "echo no box >&2"], "no box")):
        live = load_scenario(str(scenario(tmp_path, "live", f"shell: {shell}".replace("'", '"'))))
        with pytest.raises(InputError, match=words):
            await live.answering[0].world_model.ready()

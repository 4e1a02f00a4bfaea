"""The tools of coding agents on a machine: numbered lines, exact replacement, files by pattern, and how each refuses."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue, Observation
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld

FILE = """
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {}}
directory: /home/ann/repo
files:
  - {path: /home/ann/repo/a.py, content: "def f():\\n    return 1\\n\\n\\ndef g():\\n    return 1\\n", owner: ann}
  - {path: /home/ann/repo/sub/b.py, content: "x = 1", owner: ann, modified: "2031-03-02T09:00:00Z"}
  - {path: /home/ann/repo/.git/config, content: "return 1\\n", owner: ann}
  - {path: /home/ann/repo/empty.py, content: "", owner: ann, modified: "2031-03-01T09:00:00Z"}
  - {path: /srv/secret, content: "return 1\\n", mode: "0600"}
"""
A = "/home/ann/repo/a.py"


@cache
def _world(text: str = FILE) -> MachineWorld:
    source = MachineSource.load(parse_document(text, Path("shed.yaml")))
    scenario = parse_document("world: {}", Path("scenario.yaml"))
    built = source.configured(scenario, {"actions": "coding"}, ("world", "with")).build()
    assert isinstance(built, MachineWorld)
    return built


@pytest.fixture(scope="module")
def world() -> MachineWorld:
    return _world()


def _call(state: MachineState, name: str, **arguments: JsonValue) -> Observation:
    tool = next(tool for tool in state.world.tools if tool.name == name)
    return state.answer(Request(tool, arguments, 0, 0))


def _told(state: MachineState, name: str, **arguments: JsonValue) -> str:
    found = _call(state, name, **arguments)
    assert not found.is_error, found.text
    return found.text


def _refused(state: MachineState, name: str, **arguments: JsonValue) -> str:
    found = _call(state, name, **arguments)
    assert found.is_error, found.text
    return found.text


def test_a_scenario_chooses_the_tools_of_coding_agents(world: MachineWorld) -> None:
    assert [tool.name for tool in world.tools] == ["bash", "read", "edit", "write", "glob", "grep", "todo_write"]


def test_a_world_file_has_no_tool_with_the_name_of_one_of_the_machine() -> None:
    tool = "tools: [{name: edit, description: x, read: select 1}]\n"
    with pytest.raises(InputError, match="'edit' is a tool of the machine itself"):
        _world(FILE + tool)


def test_lines_are_read_with_their_numbers_from_an_offset_and_up_to_a_limit(world: MachineWorld) -> None:
    state = world.open()
    assert _told(state, "read", file_path=A).splitlines()[:2] == ["     1\tdef f():", "     2\t    return 1"]
    part = _call(state, "read", file_path="a.py", offset=5, limit=1)
    assert part.text == "     5\tdef g():\n[1 more lines. Use offset=6 to read on.]"
    assert part.structured == {"file_path": A, "content": "def g():\n", "first_line": 5, "lines": 1, "total_lines": 6}
    assert "shorter than the provided offset (9). The file has 6 lines" in _told(state, "read", file_path=A, offset=9)
    assert "the contents are empty" in _told(state, "read", file_path="empty.py")


def test_a_long_line_is_cut_and_a_long_file_is_read_in_parts(world: MachineWorld) -> None:
    state = world.open()
    _told(state, "write", file_path="long.txt", content="a" * 3_000 + "\n" + "b\n" * 2_500)
    text = _told(state, "read", file_path="long.txt")
    assert text.splitlines()[0] == f"     1\t{'a' * 2_000}... [truncated]"
    assert text.endswith("[501 more lines. Use offset=2001 to read on.]")
    _told(state, "write", file_path="large.txt", content="c\n" * 200_000)
    assert "exceeds maximum allowed size" in _refused(state, "read", file_path="large.txt")
    assert _told(state, "read", file_path="large.txt", offset=1, limit=1).startswith("     1\tc")


def test_what_is_no_text_file_or_not_there_or_not_allowed_is_refused(world: MachineWorld) -> None:
    state = world.open()
    assert _refused(state, "read", file_path="aa.py") == f"File does not exist. Did you mean {A}?"
    assert (
        _refused(state, "read", file_path="/home/ann") == "EISDIR: illegal operation on a directory, read '/home/ann'"
    )
    assert _refused(state, "read", file_path="/srv/secret") == "EACCES: permission denied, read '/srv/secret'"
    assert _refused(state, "write", file_path="/etc/x", content="") == "EACCES: permission denied, open '/etc/x'"
    _told(state, "bash", command=r"printf 'a\0b' > blob.bin")
    assert "appears to be a binary .bin file" in _refused(state, "read", file_path="blob.bin")


def test_an_edit_needs_a_text_that_stands_in_the_file_once(world: MachineWorld) -> None:
    state = world.open()
    assert "has not been read yet" in _refused(state, "edit", file_path=A, old_string="f", new_string="h")
    _told(state, "read", file_path=A)
    assert _refused(state, "edit", file_path=A, old_string="nope", new_string="x") == (
        "String to replace not found in file.\nString: nope"
    )
    assert _refused(state, "edit", file_path=A, old_string="return 1", new_string="return 2").startswith(
        "Found 2 matches of the string to replace, but replace_all is false."
    )
    assert "exactly the same" in _refused(state, "edit", file_path=A, old_string="f", new_string="f")
    edited = _call(state, "edit", file_path=A, old_string="def g():\n    return 1", new_string="def g():\n    return 2")
    assert "     6\t    return 2" in edited.text
    assert edited.structured and edited.structured["replacements"] == 1
    assert _told(state, "bash", command="cat a.py").splitlines()[1::4] == ["    return 1", "    return 2"]
    both = _call(state, "edit", file_path=A, old_string="return", new_string="yield", replace_all=True)
    assert "All 2 occurrences" in both.text
    assert state.query("select content from files where path = :path", {"path": A})[0]["content"].count("yield") == 2


def test_a_file_that_changed_since_it_was_read_is_read_again_first(world: MachineWorld) -> None:
    state = world.open()
    _told(state, "read", file_path=A)
    _told(state, "bash", command="sed -i 's/return 1/return 3/' a.py")
    assert "modified since read" in _refused(state, "edit", file_path=A, old_string="return 3", new_string="x")
    assert "modified since read" in _refused(state, "write", file_path=A, content="x")
    _told(state, "read", file_path=A)
    assert _told(state, "write", file_path=A, content="x\n") == f"The file {A} has been updated."


def test_what_was_read_is_known_in_a_fork_and_forgotten_with_an_undone_trial(world: MachineWorld) -> None:
    state = world.open()
    with state.savepoint():
        _told(state, "read", file_path=A)
    assert "has not been read yet" in _refused(state, "write", file_path=A, content="x")
    _told(state, "read", file_path=A)
    fork = state.fork()
    _told(fork, "write", file_path=A, content="x\n")
    assert "return 1" in _told(state, "bash", command="cat a.py")
    assert not _call(state, "edit", file_path=A, old_string="def f", new_string="def h").is_error


def test_an_empty_old_string_makes_a_file_with_the_directories_on_the_way(world: MachineWorld) -> None:
    state = world.open()
    made = _told(state, "edit", file_path="new/deep/c.py", old_string="", new_string="y = 1\n")
    assert made == "File created successfully at: /home/ann/repo/new/deep/c.py"
    assert "file already exists" in _refused(state, "edit", file_path=A, old_string="", new_string="y")


def test_files_are_found_by_their_path_the_last_changed_first(world: MachineWorld) -> None:
    state = world.open()
    top = "/home/ann/repo"
    assert _told(state, "glob", pattern="**/*.py").split() == [A, f"{top}/sub/b.py", f"{top}/empty.py"]
    assert _told(state, "glob", pattern="*.py").split() == [A, f"{top}/empty.py"]
    assert _told(state, "glob", pattern=f"{top}/sub/*.py") == f"{top}/sub/b.py"
    assert _told(state, "glob", pattern="**/*.rs") == "No files found"
    assert _refused(state, "glob", pattern="*", path="/nowhere") == "Path does not exist: /nowhere"
    _told(state, "bash", command="touch x{1..120}.txt")
    assert _told(state, "glob", pattern="x*").endswith("Consider using a more specific path or pattern.)")


def test_content_is_searched_without_git_and_without_what_the_user_may_not_read(world: MachineWorld) -> None:
    state = world.open()
    assert _told(state, "grep", pattern=r"return \d") == f"Found 1 file\n{A}"
    assert _told(state, "grep", pattern="RETURN", **{"-i": True, "output_mode": "content"}).splitlines() == [
        f"{A}:2:    return 1",
        f"{A}:6:    return 1",
    ]
    assert _told(state, "grep", pattern="return", output_mode="count").endswith("2 total occurrences across 1 file.")
    assert _told(state, "grep", pattern="x", glob="*.md") == "No files found"
    assert _told(state, "grep", pattern=r"g\(\):\s+return", multiline=True, output_mode="content").count("\n") == 1
    assert _refused(state, "grep", pattern="(a").startswith("ripgrep failed: ")
    assert _told(state, "grep", pattern="'; touch /tmp/out; '") == "No files found"
    assert not state.query("select 1 from files where path = '/tmp/out'")


def test_the_list_of_things_to_do_is_taken_over_whole(world: MachineWorld) -> None:
    state = world.open()
    todos: list[JsonValue] = [{"content": "Run the tests", "status": "in_progress"}]
    assert _call(state, "todo_write", todos=todos).structured == {"todos": todos}


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs GNU patch")
@settings(max_examples=12, deadline=None)
@given(st.text("ab\n", max_size=30), st.text("ab\n", max_size=30))
def test_a_diff_is_one_that_gnu_patch_applies(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    state = _world().open()
    _told(state, "write", file_path="text", content=before)
    changed = _call(state, "write", file_path="text", content=after).structured
    folder = tmp_path_factory.mktemp("patched")
    real = folder / "home/ann/repo/text"
    real.parent.mkdir(parents=True)
    real.write_bytes(before.encode())
    assert changed
    if changed["diff"]:
        subprocess.run(["patch", "-p1", "-s"], cwd=folder, input=changed["diff"].encode(), check=True, timeout=20)
    assert (real.read_bytes() if real.exists() else b"") == after.encode()

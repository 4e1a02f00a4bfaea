"""The index of a run folder says what the lines say, whoever kills, replaces or damages what."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simtrain import grade, load_scenarios, run
from simtrain.runs import run_index
from simtrain.runs.run_folder import read_run
from simtrain.runs.run_index import INDEX_FILE, IndexKeeper, RunIndex
from simtrain.values.errors import InputError


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twelve cases by an agent that fails in some, in two files."""
    folder = tmp_path_factory.mktemp("index") / "run"
    run(load_scenarios("helpdesk/refund", "helpdesk/refund_not_due"), "naive", out=folder, episodes=12)
    whole = folder / "trajectories-000.jsonl"
    lines = whole.read_bytes().splitlines(keepends=True)
    (folder / "trajectories-001.jsonl").write_bytes(b"".join(lines[8:]))
    whole.write_bytes(b"".join(lines[:8]))
    (folder / INDEX_FILE).unlink()
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, without an index."""
    copy = tmp_path / "run"
    copy.mkdir()
    for file in finished.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def lines(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for file in sorted(folder.glob("trajectories-*")) for line in file.read_bytes().splitlines()
    ]


def indexed(folder: Path, *columns: str) -> list[tuple[Any, ...]]:
    with RunIndex(folder) as index:
        index.refresh()
        return index.connection.execute(f"select {', '.join(columns)} from episodes order by part, offset").fetchall()


def keys(folder: Path) -> list[tuple[Any, ...]]:
    return indexed(folder, "scenario", "episode", "seed", "attempt")


def expected(folder: Path) -> list[tuple[Any, ...]]:
    return [(one["scenario"], one["episode"], one["seed"], one["attempt"]) for one in lines(folder)]


def test_a_run_leaves_an_index_of_what_it_played(tmp_path: Path) -> None:
    run(load_scenarios("helpdesk/refund"), "oracle", out=tmp_path / "run", episodes=3)
    assert (tmp_path / "run" / INDEX_FILE).is_file()
    with RunIndex(tmp_path / "run") as index:
        assert index.behind() == 0 == index.refresh()
        assert index.connection.execute("select count(*), sum(reward) from episodes").fetchone() == (3, 3.0)


def test_its_columns_say_what_the_lines_say(folder: Path) -> None:
    columns = ("scenario", "agent", "reward", "stop", "turns", "steps", "errors", "world", "case_json", "seconds")
    found = indexed(folder, *columns)
    told = [
        (
            one["scenario"],
            one["agent"]["name"],
            one["reward"],
            one["stop"]["reason"],
            len(one["turns"]),
            sum(len(turn["steps"]) for turn in one["turns"]),
            sum(step["observation"]["is_error"] for turn in one["turns"] for step in turn["steps"]),
            one["world"]["name"],
            one["case"],
            one["timing"]["seconds"],
        )
        for one in lines(folder)
    ]
    assert [(*row[:8], json.loads(row[8]), row[9]) for row in found] == told
    assert len({row[2] for row in found}) > 1


def test_a_trajectory_is_read_from_its_place(folder: Path) -> None:
    with RunIndex(folder) as index:
        index.refresh()
        numbers = [number for (number,) in index.connection.execute("select id from episodes order by part, offset")]
        assert [index.read(number) for number in numbers] == list(read_run(folder))
        with pytest.raises(InputError, match="no episode 99"):
            index.read(99)


def test_steps_that_were_perturbed_are_counted(tmp_path: Path) -> None:
    from simtrain import drill

    drill(load_scenarios("helpdesk/refund"), "naive", out=tmp_path / "run", packs=["flaky_network"], cases=4)
    found = indexed(tmp_path / "run", "arm", "perturbed")
    changed = [
        sum(
            any(set(event["changed"]) - {"clock"} for event in step["events"])
            for turn in one["turns"]
            for step in turn["steps"]
        )
        for one in lines(tmp_path / "run")
    ]
    assert [row[1] for row in found] == changed and sum(changed) > 0
    assert all(row[1] == 0 for row in found if row[0] == "clean")


def test_a_torn_line_waits_until_it_is_whole(folder: Path) -> None:
    part = folder / "trajectories-001.jsonl"
    whole = part.read_bytes()
    part.write_bytes(whole[:-100])
    assert len(keys(folder)) == 11
    with RunIndex(folder) as index:
        assert index.behind() > 0
    with part.open("ab") as file:
        file.write(whole[-100:])
    assert keys(folder) == expected(folder)


def test_a_file_that_was_graded_again_is_read_anew(folder: Path) -> None:
    keys(folder)
    for name in ("trajectories-000.jsonl", "trajectories-001.jsonl"):
        changed = [json.loads(line) | {"reward": 0.25} for line in (folder / name).read_bytes().splitlines()]
        (folder / name).write_text("".join(json.dumps(one) + "\n" for one in changed))
    grade(folder)
    assert [reward for (reward,) in indexed(folder, "reward")] == [one["reward"] for one in lines(folder)]
    assert keys(folder) == expected(folder)


@pytest.mark.parametrize("gone", [0, 3, 7])
def test_a_file_from_which_a_line_was_removed_in_place_is_read_anew(folder: Path, gone: int) -> None:
    keys(folder)
    part = folder / "trajectories-000.jsonl"
    found = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(found[:gone] + found[gone + 1 :]))
    with part.open("ab") as file:
        file.write(found[gone])
    assert keys(folder) == expected(folder)


KILLED = """
import os, signal, sys
from pathlib import Path
from simtrain.runs import run_index
run_index.GROUP = 3
seen = []
with run_index.RunIndex(Path(sys.argv[1])) as index:
    index.refresh(lambda length: seen.append(length) or len(seen) < 8 or os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_file_that_was_emptied_is_forgotten(folder: Path) -> None:
    with RunIndex(folder) as index:
        index.refresh()
    for part in folder.glob("trajectories-*.jsonl"):
        part.write_bytes(b"")
    assert keys(folder) == []
    with RunIndex(folder) as index:
        assert index.behind() == 0 == index.refresh()


def test_a_kill_in_the_middle_loses_and_repeats_nothing(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    with RunIndex(folder) as index:
        (count,) = index.connection.execute("select count(*) from episodes").fetchone()
        assert count == 6
    assert keys(folder) == expected(folder)


def test_two_processes_at_once_add_everything_once(folder: Path) -> None:
    command = "import sys; from pathlib import Path; from simtrain.runs.run_index import RunIndex; RunIndex(Path(sys.argv[1])).refresh()"
    both = [subprocess.Popen([sys.executable, "-c", command, str(folder)]) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    assert keys(folder) == expected(folder)


@pytest.mark.parametrize("damage", ["garbage", "folder", "version"])
def test_an_index_that_cannot_be_used_is_made_anew(folder: Path, damage: str) -> None:
    file = folder / INDEX_FILE
    if damage == "folder":
        file.mkdir()
    elif damage == "garbage":
        file.write_bytes(b"no database" * 500)
    else:
        with RunIndex(folder) as index:
            index.connection.execute("pragma user_version = 99")
    assert keys(folder) == expected(folder)


def test_a_damaged_line_is_one_clear_error(folder: Path) -> None:
    part = folder / "trajectories-000.jsonl"
    part.write_bytes(part.read_bytes().replace(b'"turns":', b'"turms":', 1))
    with pytest.raises(InputError, match=r"trajectories-000\.jsonl:1: the line is not a trajectory"):
        keys(folder)


def test_a_folder_without_a_run_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is not a run folder"):
        RunIndex(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_it_is_kept_while_a_run_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_index, "SECONDS", 0.0)
    seen = list[int]()

    def look(_: object) -> None:
        with RunIndex(tmp_path / "run") as index:
            seen.append(index.connection.execute("select count(*) from episodes").fetchone()[0])

    run(load_scenarios("helpdesk/refund"), "oracle", out=tmp_path / "run", episodes=4, concurrency=1, on_played=look)
    assert seen == [1, 2, 3, 4]


def test_a_run_does_not_wait_for_a_viewer_that_writes_the_index(folder: Path) -> None:
    keys(folder)
    with RunIndex(folder) as index:
        index.connection.execute("begin immediate")
        IndexKeeper(folder).keep()
        index.connection.execute("rollback")
    assert keys(folder) == expected(folder)

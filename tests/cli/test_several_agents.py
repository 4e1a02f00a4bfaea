"""`simtrain run` with several agents: the same episodes, a folder for each, one table, and nothing half-written."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from real_runs import Bench, ended, until
from typed_commands import Typed

from simtrain.runs.agent_folders import agent_folders
from simtrain.testing import FakeOpenAI, Refuse

pytestmark = pytest.mark.slow

TWO = ("run", "helpdesk/refund", "helpdesk/refund_not_due", "--agent", "oracle", "--agent", "wrong", "-n", "12")


def rows(folder: Path) -> list[dict[str, Any]]:
    """The trajectories of a run, read without the package."""
    return [
        json.loads(line) for part in sorted(folder.glob("trajectories-*")) for line in part.read_text().splitlines()
    ]


def asked(folder: Path) -> set[tuple[Any, ...]]:
    """What was played: digests, cases and seeds, and what the agent was asked."""
    names = ("scenario_digest", "episode", "seed", "attempt", "prompt")
    return {(*(row[name] for name in names), json.dumps(row["case"])) for row in rows(folder)}


def test_every_agent_plays_the_same_episodes_into_a_folder_of_its_own(typed: Typed, tmp_path: Path) -> None:
    code, out, err = typed(*TWO, "--json")
    found = json.loads(out)
    assert (code, err, found["out"], found["not_played"]) == (0, "", "runs/helpdesk-refund", [])
    assert [(one["agent"], one["run"], one["played"]) for one in found["runs"]] == [
        ("oracle", "runs/helpdesk-refund/oracle", 12),
        ("wrong", "runs/helpdesk-refund/wrong", 12),
    ]
    played = [asked(tmp_path / one["run"]) for one in found["runs"]]
    assert len(played[0]) == 12 and played[0] == played[1]
    for one in found["runs"]:
        rewards = [row["reward"] for row in rows(tmp_path / one["run"])]
        assert one["suites"]["helpdesk"]["success"] == sum(value == 1 for value in rewards) / 12
        assert one["total"]["success_low"] == one["suites"]["helpdesk"]["success_low"]


def test_a_run_of_one_of_several_is_the_run_of_it_alone(typed: Typed, tmp_path: Path) -> None:
    typed(*TWO, "--out", "both")
    typed(*TWO[:3], "--agent", "wrong", "-n", "12", "--out", "alone")

    def timeless(folder: Path) -> set[str]:
        return {json.dumps({**row, "timing": None}) for row in rows(folder)}

    assert timeless(tmp_path / "both" / "wrong") == timeless(tmp_path / "alone")


def test_the_table_has_every_agent_in_every_suite_and_fits_80_columns(typed: Typed, tmp_path: Path) -> None:
    code, out, _ = typed(
        "run", "helpdesk/refund", "birthday.yaml", "-a", "oracle", "-a", "nop", "-n", "8", "--out", "o"
    )
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    table = [line.split() for line in out.partition("n: episodes")[0].splitlines()]
    for suite in ("birthday", "helpdesk", "all"):
        at = table.index([suite])
        for line, agent in zip(table[at + 1 : at + 3], ("oracle", "nop"), strict=True):
            held = [row for row in rows(tmp_path / "o" / agent) if suite in ("all", row["scenario"].partition("/")[0])]
            share = sum(row["reward"] == 1 for row in held) / len(held)
            assert line[:3] == [agent, str(len(held)), f"{share:.1%}"]
            assert re.fullmatch(r"\d+–\d+", line[3])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-a", "oracle", "-a", "oracles"), "did you mean 'oracle'?"),
        (("-a", "oracle", "-a", "nowhere.at:all"), "nowhere"),
        (("-a", "oracle", "-a", "nop", "-a", "oracle"), "--agent oracle is given twice"),
        (("-a", "resilient", "-a", "nop", "-w", "narrate=false"), "every agent gets the knobs of --with"),
        (("-a", "oracle", "-a", "nop", "--curriculum", "c.yaml"), "run one agent, then the next"),
        (("-a", "oracle", "-a", "nop", "--via", "mpc"), "mcp"),
        (("-a", "oracle", "-a", "nop", "--resume"), "--resume needs --out"),
        (("-a", "oracle", "-a", "nop", "--split", "test", "--seeds", "1"), "belongs to the split"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    words: tuple[str, ...], said: str, typed: Typed, tmp_path: Path
) -> None:
    code, out, err = typed("run", "birthday.yaml", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_is_taken_is_refused_before_the_first_agent_plays(typed: Typed, tmp_path: Path) -> None:
    typed("run", "birthday.yaml", "-a", "oracle", "--out", "o/oracle", "-n", "2")
    code, _, err = typed("run", "birthday.yaml", "-a", "nop", "-a", "oracle", "--out", "o", "-n", "2")
    assert (code, err.count("\n")) == (2, 1) and "already holds a run" in err
    code, _, err = typed(
        "run", "birthday.yaml", "-a", "nop", "-a", "oracle", "--out", "o", "-n", "2", "-s", "1", "--resume"
    )
    assert (code, err.count("\n")) == (2, 1) and "played with seed 0, not 1" in err
    code, _, err = typed("run", "birthday.yaml", "-a", "nop", "-a", "wrong", "--out", "o/oracle", "-n", "2")
    assert (code, err.count("\n")) == (2, 1) and "the folder itself holds a run" in err
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["oracle"]


def test_resume_plays_what_is_missing_of_each_and_may_add_an_agent(typed: Typed, tmp_path: Path) -> None:
    typed(*TWO, "--out", "o")
    part = next((tmp_path / "o" / "wrong").glob("trajectories-*"))
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[:7]))
    code, out, _ = typed(*TWO, "--agent", "nop", "--out", "o", "--resume", "--json")
    found = [(one["agent"], one["played"], one["skipped"]) for one in json.loads(out)["runs"]]
    assert (code, found) == (0, [("oracle", 0, 12), ("wrong", 5, 7), ("nop", 12, 0)])


def test_a_run_that_fails_ends_with_1_and_the_next_agent_plays(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI(lambda _: Refuse(500), models=("a/b", "c")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("SIMTRAIN_LLM_BACKOFF", "0")
        code, out, err = typed(
            "run", "birthday.yaml", "-a", "chat:a/b", "-a", "chat:c", "-w", "attempts=1", "-n", "2", "--json"
        )
    assert code == 1, err
    found = json.loads(out)
    assert [(one["run"], one["failed"]) for one in found["runs"]] == [
        ("runs/birthday/chat-a-b", 2),
        ("runs/birthday/chat-c", 2),
    ]


def test_show_prints_a_trajectory_of_each(typed: Typed) -> None:
    code, out, _ = typed("run", "birthday.yaml", "-a", "oracle", "-a", "nop", "-n", "2", "--out", "o", "--show")
    assert code == 0 and out.count("reward: ") == 2


def test_an_interrupt_stops_the_agents_that_would_follow(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    process = bench.start("o", "--agent", "steady", "--json", agent="gated")
    until(bench.begun, running=process)
    process.send_signal(signal.SIGINT)
    (tmp_path / "open").touch()
    out, _ = process.communicate(timeout=60)
    found = json.loads(out)
    assert process.returncode == 1
    assert [one["agent"] for one in found["runs"]] == ["gated"]
    assert found["not_played"] == ["steady"]
    assert not (tmp_path / "o" / "steady").exists()
    assert rows(tmp_path / "o" / "gated")
    code, said = ended(bench.start("o", "--agent", "steady", "--resume", agent="gated"))
    assert code == 0, said
    assert len(rows(tmp_path / "o" / "gated")) == len(rows(tmp_path / "o" / "steady")) == 12


@pytest.mark.parametrize("order", [1, -1])
def test_agents_never_share_a_folder(order: int, tmp_path: Path) -> None:
    names = [
        "chat:a/b",
        "chat:a-b",
        "chat:A-B",
        "my.agents:graph",
        "../up",
        "..",
        "chat:" + "x" * 300,
        "chat:" + "x" * 301,
        "𠮷" * 90,
    ]
    found = agent_folders(names[::order], tmp_path)
    assert [*found] == names[::order]
    folders = [folder.name for folder in found.values()]
    assert len({name.casefold() for name in folders}) == len(names)
    assert all(folder.parent == tmp_path and not folder.name.startswith(".") for folder in found.values())
    assert all(len(os.fsencode(name)) <= 255 for name in folders)
    assert found["my.agents:graph"].name == "my.agents-graph"
    assert found == agent_folders(names, tmp_path)

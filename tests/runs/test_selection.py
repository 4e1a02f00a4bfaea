"""Selections choose trajectories, and exports write them whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from samples import cut_short, refund, refused

from simtrain.contracts.trajectory import Reward, Stop, Trajectory
from simtrain.runs.export import ExportTally, Selection, export, export_rows, spoilt, write_lines
from simtrain.runs.exporters.steps import Steps
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

ALL = [refund(), refused(), cut_short()]


def chosen(**filters: object) -> list[str]:
    return [trajectory.episode for trajectory in ALL if Selection(**filters).fits(trajectory)]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["case-3", "case-0", "case-9"]),
        ({"minimum": 1.0}, ["case-3"]),
        ({"minimum": 0.5}, ["case-3", "case-0"]),
        ({"maximum": 0.5}, ["case-0", "case-9"]),
        ({"minimum": 0.1, "maximum": 0.9}, ["case-0"]),
        ({"scenario": "helpdesk/*"}, ["case-3", "case-9"]),
        ({"agent": "res*"}, ["case-0"]),
        ({"stop": ("answered", "abstained")}, ["case-3", "case-0"]),
        ({"fired": "bu*"}, ["case-3", "case-9"]),
        ({"not_fired": "busy"}, ["case-0"]),
        ({"fired": "busy", "minimum": 1.0}, ["case-3"]),
        ({"fired": "latency"}, []),
    ],
)
def test_a_selection_keeps_what_fits_all_of_it(filters: JsonObject, expected: list[str]) -> None:
    assert chosen(**filters) == expected


def test_an_ungraded_trajectory_fits_no_bound_but_is_not_spoilt() -> None:
    ungraded = replace(refund(), reward=None, rewards=())
    assert Selection().fits(ungraded)
    assert not Selection(minimum=0.0).fits(ungraded)
    assert not Selection(maximum=1.0).fits(ungraded)
    assert not spoilt(ungraded)


@pytest.mark.parametrize(
    "trajectory",
    [
        replace(refund(), stop=Stop("failed", "simulator", "no answer")),
        replace(refund(), stop=Stop("failed", "agent", "crashed")),
        replace(
            refund(), reward=None, rewards=(Reward("judge", None, error="unreadable verdict"), Reward("answer", 1.0))
        ),
    ],
)
def test_spoilt_trajectories_are_passed_over_and_counted(trajectory: Trajectory) -> None:
    tally = ExportTally()
    rows = list(export_rows([trajectory, refund()], Steps(), Selection(), tally=tally))
    assert len(rows) == 4
    assert tally == ExportTally(read=2, spoilt=1, unfit=0, exported=1, rows=4)


def test_an_export_writes_lines_of_json_and_says_what_became_of_the_trajectories(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "rows.jsonl"
    tally = export(iter(ALL), exporter="openai", out=out, selection=Selection(minimum=0.5))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert tally == ExportTally(read=3, spoilt=0, unfit=1, exported=2, rows=2)
    assert [row["messages"][-1]["content"] for row in rows] == ["Refunded 12.50.", "That cannot be done."]
    assert [path.name for path in out.parent.iterdir()] == ["rows.jsonl"]


def test_knobs_reach_the_exporter(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    export([refund()], exporter="openai", out=out, knobs={"weight": "answer"})
    assert json.loads(out.read_text())["messages"][-1]["weight"] == 1


@pytest.mark.parametrize(
    ("name", "knobs", "line"),
    [
        ("openia", {}, "unknown exporter 'openia'; did you mean 'openai'?"),
        ("openai", {"wieght": "answer"}, "exporter openai: unknown key 'wieght'; did you mean 'weight'?"),
        ("openai", {"weight": "some"}, "exporter openai: input should be"),
    ],
)
def test_a_wrong_exporter_or_knob_is_one_clear_line_and_no_file(
    name: str, knobs: JsonObject, line: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        export(ALL, exporter=name, out=tmp_path / "rows.jsonl", knobs=knobs)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_on_the_way_leaves_the_former_file_as_it_was(tmp_path: Path) -> None:
    def torn() -> Iterator[JsonObject]:
        yield {"row": 1}
        raise RuntimeError("the source broke")

    out = tmp_path / "rows.jsonl"
    write_lines(out, [{"row": 0}])
    with pytest.raises(RuntimeError, match="the source broke"):
        write_lines(out, torn())
    assert out.read_text() == '{"row":0}\n'
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("out", ["file/rows.jsonl", "folder"])
def test_a_file_that_cannot_be_written_is_one_clear_line(out: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="the file cannot be written: "):
        export([refund()], exporter="steps", out=tmp_path / out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]

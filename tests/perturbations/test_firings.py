"""Each firing that is logged is a difference, and each difference is logged: by plays that know nothing of the log."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from catalogue import ROWS, Walker, write_row
from second_play import Checked, check

from simtrain import load_scenario, run
from simtrain.contracts.trajectory import Changed
from simtrain.episodes.firing import PerturbedCall
from simtrain.values.types import Observation

pytestmark = pytest.mark.slow

FULL = bool(os.environ.get("SIMTRAIN_FULL"))
FEW = (
    "unit_drift",
    "forced_pagination",
    "stale_read",
    "false_success",
    "timeout_after",
    "latency",
    "delayed_visibility",
)


def test_what_is_logged_is_what_is_there() -> None:
    found = check("helpdesk/merge_tickets")
    assert found.wrong == []
    assert sum(found.firings.values()) > 60 and found.quiet > 60
    assert all(found.firings[label] == 0 for label in ("unit_drift", "forced_pagination"))


@pytest.mark.full
@pytest.mark.parametrize(
    ("family", "one_in"),
    [
        ("helpdesk/refund", 2),
        ("shop/best_voucher", 4),
        ("forge/merge_blocked", 3),
        ("messenger/correct_figure", 2),
        ("office/book_hour", 9),
    ],
)
def test_what_is_logged_is_what_is_there_in_other_services(family: str, one_in: int) -> None:
    """A share of the catalogue in each; all of it in `make proof`."""
    found = check(family, part=slice(0, None, 1 if FULL else one_in))
    assert found.wrong == [] and sum(found.firings.values()) > (40 if FULL else 5)


def planted(monkeypatch: pytest.MonkeyPatch, close: Any) -> Checked:
    monkeypatch.setattr(PerturbedCall, "close", close)
    return check("helpdesk/refund", labels=FEW)


def test_a_proxy_that_logs_what_is_not_there_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    close = PerturbedCall.close
    assert len(planted(monkeypatch, lambda self, observation: close(self, observation) or ("reply",)).wrong) > 3


@pytest.mark.parametrize("overlooked", ["clock", "reply", "rows"])
def test_a_proxy_that_overlooks_a_change_is_found_out(overlooked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    close = PerturbedCall.close

    def blind(self: PerturbedCall, observation: Observation) -> tuple[Changed, ...]:
        return tuple(name for name in close(self, observation) if name != overlooked)

    assert planted(monkeypatch, blind).wrong


def played(folder: Path, name: str, frame: str) -> dict[str, Any]:
    """The one line of a run folder, as plain JSON, in which the walker met the perturbation of that name, or none."""
    armed = [ROWS[name].written(name)] if name in ROWS else []
    place = folder / f"{frame}_{name}"
    place.mkdir()
    run([load_scenario(write_row(place, "walk", armed, cases=1, frame=frame))], Walker(), out=place / "run")  # type: ignore[arg-type]
    (part,) = (place / "run").glob("trajectories-*.jsonl")
    return json.loads(part.read_text())


def told(step: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step["observation"].items() if key != "provenance"}


@pytest.mark.full
def test_a_run_folder_tells_in_itself_where_the_first_difference_is(tmp_path: Path) -> None:
    """Up to the first event all steps are those of the clean run; at its step or, where only rows were changed, later on they are not."""
    rows = list(ROWS.items())[:: 1 if FULL else 3]
    clean = {frame: played(tmp_path, "clean", frame) for frame in {row.frame for _, row in rows}}
    fired = 0
    for name, row in rows:
        bent, twin = played(tmp_path, name, row.frame), clean[row.frame]
        ours, theirs = ([step for turn in one["turns"] for step in turn["steps"]] for one in (bent, twin))
        assert (bent["tools"] != twin["tools"] or bent["prompt"] != twin["prompt"]) is bool(bent["bent"]), name
        differing = [
            index
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True))
            if told(one) != told(other)
            or (ours[index + 1 : index + 2] and ours[index + 1]["clock"] != theirs[index + 1]["clock"])
        ]
        events = [(step["index"], event["changed"]) for step in ours for event in step["events"]]
        fired += bool(events)
        if bent["bent"] and not events:
            # Renamed and dropped tools are not found; distractors and warnings change no call.
            assert all("Unknown tool" in ours[index]["observation"]["text"] for index in differing), name
            continue
        assert [changed for _, changed in events if not changed] == []
        first = events[0][0] if events else len(ours)
        assert not differing or differing[0] >= first, name
        if events and set(events[0][1]) & {"reply", "clock"}:
            assert differing[0] == first, name
        elif events:
            assert differing or bent["changes"] != twin["changes"], name
    assert fired > len(rows) / 2

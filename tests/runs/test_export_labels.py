"""No row of an export contradicts its label, by a reader that shares no code with what wrote it; and that reader finds planted lies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from label_checking import Row, Runs, check, lines_behind, read_rows, read_runs

from simtrain.cli import main

pytestmark = pytest.mark.slow

OPTIONS = ("--arms", "pack", "--allow-unfired")
AGENTS = ("resilient", "naive", "abstain", "claims_done")
WHOLE = {
    "trl": ["--min-reward", "1"], "openai": ["--min-reward", "1"], "sharegpt": ["--min-reward", "1"],
    "recovery": [], "preference": [], "hard_negatives": ["--with", "positives=true"], "steps": [], "atif": [],
}  # fmt: skip


def typed(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code in (0, None), words


def exported(
    folder: Path, families: tuple[str, ...], packs: tuple[str, ...], cases: int
) -> tuple[Runs, dict[str, list[Row]]]:
    """Drills with every agent, and every export of them."""
    named = [word for pack in packs for word in ("--pack", pack)]
    for agent in AGENTS:
        # The stored proofs of one drill are those of all: what goes wrong in an episode does not depend on the agent.
        more = ("--out", str(folder / agent), *(["--prove"] if agent == AGENTS[-1] else []))
        typed("drill", *families, *named, "-n", str(cases), "--agent", agent, *OPTIONS, *more)
    runs = [folder / agent for agent in AGENTS]
    exports: dict[str, list[Row]] = {}
    for name, more in WHOLE.items():
        out = folder / f"{name}.jsonl"
        typed("export", *map(str, runs), "--format", name, "--out", str(out), *more)
        exports[name] = read_rows(out)
    return read_runs(runs), exports


@pytest.fixture(scope="module")
def drilled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runs, dict[str, list[Row]]]:
    packs = ("flaky_network", "silent_lies", "impossible")
    return exported(tmp_path_factory.mktemp("drilled"), ("helpdesk/merge_tickets", "shop/return_item"), packs, 2)


def test_no_row_contradicts_its_label(drilled: tuple[Runs, dict[str, list[Row]]]) -> None:
    runs, exports = drilled
    assert check(runs, exports) == []
    assert all(exports[name] for name in WHOLE)
    assert {line["solvability"] for line in runs.lines} >= {"solvable", "unsolvable"}
    assert {row["why"] for row in exports["hard_negatives"]} >= {None, "claimed"}


@pytest.mark.full
def test_no_row_contradicts_its_label_over_more_families_and_packs(tmp_path: Path) -> None:
    families = (
        "helpdesk/refund",
        "helpdesk/write_off",
        "office/correct_contact",
        "tracker/ship_issue",
        "messenger/correct_figure",
    )
    packs = ("unreliable_backend", "uncertain_writes", "dirty_data", "permissions", "impossible")
    runs, exports = exported(tmp_path, families, packs, 1)
    assert check(runs, exports) == []


def _flip(row: Row) -> None:
    row["label"] = not row["label"]


def _swap(row: Row) -> None:
    row["chosen"], row["rejected"] = row["rejected"], row["chosen"]


def _reward(row: Row) -> None:
    row["reward"] = 1.0 - row["reward"]


def _solvability(row: Row) -> None:
    row["solvability"] = "unsolvable" if row["solvability"] == "solvable" else "solvable"


def _mask(row: Row) -> None:
    row["mask"][-2] = 1


def _first(row: Row) -> None:
    mark = row["turns"][0]
    mark["weight"] = row["messages"][mark["message"]]["weight"] = 1


def _kept(row: Row) -> None:
    row["extra"]["simtrain"]["noticeable"] = 77


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("hard_negatives", _flip), ("preference", _swap), ("hard_negatives", _reward), ("steps", _reward), ("steps", _solvability),
        ("trl", _mask), ("recovery", _first), ("atif", _kept),
    ],
)  # fmt: skip
def test_a_lie_in_a_row_is_found(
    name: str, lie: Callable[[Row], None], drilled: tuple[Runs, dict[str, list[Row]]]
) -> None:
    runs, exports = drilled
    rows = copy.deepcopy(exports[name])
    lie(next(row for row in rows if name != "trl" or len(row["mask"]) > 4))
    assert any(line.startswith(f"{name}[") for line in check(runs, {name: rows}))


def test_a_row_of_what_was_not_earned_or_not_seen_is_found(drilled: tuple[Runs, dict[str, list[Row]]]) -> None:
    runs, exports = drilled
    negative = next(row for row in exports["hard_negatives"] if not row["label"])
    lost = {"messages": [*negative["prompt"], *negative["completion"]], "tools": negative["tools"]}
    assert check(runs, {"openai": [lost]}) == ["openai[0]: chosen for its reward, which is 0.0"]
    (first, *_) = exports["openai"]
    strange = first | {"messages": [*first["messages"], {"role": "assistant", "content": "I never said that."}]}
    assert check(runs, {"openai": [strange]}) == ["openai[0]: no line behind it"]
    clean = next(line for line in runs.lines if line["arm"] == "clean" and line["reward"] == 1)
    behind = {place: lines_behind(runs, row, row["messages"]) for place, row in enumerate(exports["openai"])}
    unseen = next(
        exports["openai"][place]
        for place, lines in behind.items()
        if {line["arm"] for line in lines} == {"clean"} and lines[0]["scenario"] == clean["scenario"]
    )
    told = "recovery[0]: its agent was told nothing else than its clean twin"
    assert check(runs, {"recovery": [unseen | {"turns": []}]}) == [told]
    (first, *_) = exports["recovery"]
    idle = {
        key: [part | {"weight": 0} if "weight" in part else part for part in first[key]]
        for key in ("messages", "turns")
    }
    assert check(runs, {"recovery": [first | idle]}) == ["recovery[0]: no turn weighs anything"]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("arm", "impossible", "arm impossible"),
        ("reward", 0.5, "reward 0.5"),
        ("noticeable", 77, "noticeable 77"),
        ("solvability", "unsolvable", "unsolvable, but"),
    ],
)
def test_a_lie_in_a_line_is_found(key: str, value: Any, told: str, drilled: tuple[Runs, dict[str, list[Row]]]) -> None:
    runs, _ = drilled
    lines = copy.deepcopy(list(runs.lines))
    at = next(place for place, line in enumerate(lines) if line["arm"] == "flaky_network" and line["reward"] == 1)
    lines[at][key] = value
    assert any(told in found for found in check(Runs(tuple(lines), runs.arms, runs.proofs), {}))


def test_who_declines_without_a_look_earns_nothing(drilled: tuple[Runs, dict[str, list[Row]]]) -> None:
    runs, _ = drilled
    lines = copy.deepcopy(list(runs.lines))
    ended = [line for line in lines if line["stop"]["reason"] == "abstained" and line["solvability"] == "unsolvable"]
    assert {(line["agent"]["name"], line["reward"]) for line in ended} == {("abstain", 0.0), ("resilient", 1.0)}
    blind = [line for line in ended if line["agent"]["name"] == "abstain"]
    for line in blind:
        line["reward"] = 1.0
    found = check(Runs(tuple(lines), runs.arms, runs.proofs), {})
    assert sum("reward 1.0, recomputed 0.0" in line for line in found) == len(blind) > 0

"""Filters over everything that a trajectory records, held to the recorded lines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from simtrain.public import run
from simtrain.scenarios.load import load_scenario_file
from simtrain.view.app import viewing
from simtrain.view.shelf import RunShelf
from tests.support.viewer_pages import Page, lines

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run under a pack, by an agent with a knob that does half of its episodes wrong."""
    folder = tmp_path_factory.mktemp("filtered") / "half"
    file = ROOT / "scenarios/helpdesk/refund.yaml"
    scenario = load_scenario_file(file, "helpdesk/refund", packs=("flaky_network",))
    run([scenario], "naive", out=folder, episodes=24)
    return folder


@pytest.fixture
async def client(folder: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with viewing(RunShelf([folder])) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def shown(client: httpx.AsyncClient, q: str, sort: str = "") -> tuple[list[list[str]], Page]:
    page = Page((await client.get("/run/half", params={"q": q, "sort": sort})).text)
    return [row for row in page.rows if row], page


def grade(row: Row, name: str) -> float:
    return next(one["value"] for one in row["rewards"] if one["grader"] == name)


def called(row: Row) -> set[str]:
    return {step["action"]["tool"] for turn in row["turns"] for step in turn["steps"]}


FILTERS: dict[str, Callable[[Row], bool]] = {
    "grader.answer=1": lambda row: grade(row, "answer") == 1,
    "grader.answer<1": lambda row: grade(row, "answer") < 1,
    "grader.answer!=1": lambda row: grade(row, "answer") != 1,
    "grader.nosuch=none": lambda row: True,
    "agent.name=naive": lambda row: row["agent"]["name"] == "naive",
    "agent.name~AIV": lambda row: True,
    "called=billing.refund": lambda row: "billing.refund" in called(row),
    "called!=billing.refund": lambda row: "billing.refund" not in called(row),
    "called=nosuch.*": lambda row: False,
    "armed=transient_error": lambda row: "transient_error" in row["perturbations"],
    "changed=refunds": lambda row: "refunds" in row["changes"],
    "changed=none": lambda row: not row["changes"],
    "changed!=none": lambda row: bool(row["changes"]),
    "started>=2031": lambda row: row["timing"]["started"] >= "2031",
    "started<2031": lambda row: row["timing"]["started"] < "2031",
    "paradigm=impersonation": lambda row: row["paradigm"] == "impersonation",
    "case.customer=A*": lambda row: row["case"]["customer"].startswith("A"),
    "case.customer!=none": lambda row: True,
    "detail=none": lambda row: row["stop"]["detail"] is None,
    "errors>0 turns<=5": lambda row: (
        len(row["turns"]) <= 5
        and any(step["observation"]["is_error"] for turn in row["turns"] for step in turn["steps"])
    ),
}


@pytest.mark.parametrize("q", FILTERS)
async def test_what_is_recorded_can_be_filtered_by(client: httpx.AsyncClient, folder: Path, q: str) -> None:
    rows, _ = await shown(client, q)
    assert sorted(row[0] for row in rows) == sorted(row["episode"] for row in lines(folder) if FILTERS[q](row))


def test_these_filters_keep_some_and_drop_some(folder: Path) -> None:
    kept = {q: sum(map(fits, lines(folder))) for q, fits in FILTERS.items()}
    parted = {q for q, count in kept.items() if 0 < count < 24}
    assert {
        "grader.answer=1",
        "grader.answer<1",
        "called=billing.refund",
        "changed=refunds",
        "errors>0 turns<=5",
    } <= parted


async def test_what_a_filter_names_becomes_a_column_that_sorts(client: httpx.AsyncClient, folder: Path) -> None:
    rows, page = await shown(client, "case.customer~", "-case.customer")
    assert "case.customer" in page.text
    names = sorted((row["case"]["customer"] for row in lines(folder)), reverse=True)
    assert [row[-2] for row in rows] == names
    assert any("sort=case.customer" in link for link in page.links)
    rows, _ = await shown(client, "", "started")
    assert [row[-2] for row in rows] == sorted(row["timing"]["started"] for row in lines(folder))


@pytest.mark.parametrize(
    ("q", "said"),
    [
        ("calld=x", "did you mean 'called'"),
        ("called<3", "called is a name, not a number"),
        ("grader.=1", "there is no 'grader.' to filter by"),
        ("grader.answer<much", "which is not a number"),
    ],
)
async def test_a_filter_that_makes_no_sense_says_why(client: httpx.AsyncClient, q: str, said: str) -> None:
    rows, page = await shown(client, q)
    assert rows == [] and said in page.text


async def test_hostile_names_are_names(client: httpx.AsyncClient) -> None:
    for q in ("case.x');drop=1", "'case.a\"b=1'", "case.a.b.c=1", "grader.x]=1"):
        _, page = await shown(client, q)
        assert "Internal" not in page.text

"""Runs compared: every figure of the page is computed anew from the recorded lines, the interval with a printed table of Student's t."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from math import sqrt
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from bakery import scenario

from simtrain.public import run
from simtrain.view.app import viewing
from simtrain.view.shelf import RunShelf
from tests.support.viewer_pages import Page, lines

FAULTS = """\
perturbations:
  - {use: transient_error, when: {tools: "*", probability: 0.3, max_times: 2}}
"""
AGENTS = ("resilient", "naive", "nop")
CASES = 12
T_13 = 2.160
"""The 97.5 % quantile of Student's t for 13 degrees of freedom: 12 pairs and two pseudo-clusters, less one."""


def rewarded(folder: Path) -> dict[str, float]:
    return {row["episode"]: row["reward"] for row in lines(folder)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    made = scenario(folder, more=FAULTS)
    for agent in AGENTS:
        run([made], agent, out=folder / agent, episodes=CASES)
    return folder


@pytest.fixture
async def client(folder: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with viewing(RunShelf([folder])) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def compared(client: httpx.AsyncClient, *names: str) -> Page:
    reply = await client.get("/runs?" + urlencode([("r", name) for name in names]))
    assert reply.status_code == 200, reply.text
    return Page(reply.text)


async def test_the_list_of_runs_sends_what_is_checked(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/")).text
    assert '<form action="/runs">' in shown
    assert all(f'name="r" value="{agent}"' in shown for agent in AGENTS)


async def test_success_and_paired_differences_are_those_of_the_lines(client: httpx.AsyncClient, folder: Path) -> None:
    rewards = {agent: rewarded(folder / agent) for agent in AGENTS}
    found = await compared(client, *AGENTS)
    rows = {row[0]: row[1:] for row in found.rows if row}
    for place, agent in enumerate(AGENTS):
        share = sum(value == 1 for value in rewards[agent].values()) / CASES
        assert rows["all"][place].startswith(f"{100 * share:.1f} %")
        assert rows["birthday"][place].startswith(f"{100 * share:.1f} %")
        assert rows["episodes"][place] == str(CASES)
    first = rewards["resilient"]
    for agent in AGENTS[1:]:
        better = sum(rewards[agent][case] == 1 and first[case] < 1 for case in first)
        worse = sum(rewards[agent][case] < 1 and first[case] == 1 for case in first)
        assert worse, "the runs differ"
        middle = (better - worse) / (CASES + 2)
        half = T_13 * sqrt(((better + worse + 1) / (CASES + 2) - middle**2) / (CASES + 2))
        mean = (better - worse) / CASES
        low, high = max(-1, min(mean, middle - half)), min(1, max(mean, middle + half))
        told = [
            str(CASES),
            str(better),
            str(worse),
            f"{100 * mean:+.1f} points",
            f"{100 * low:+.0f} to {100 * high:+.0f}",
        ]
        assert rows[agent] == told


async def test_what_they_disagree_on_leads_to_the_episodes_side_by_side(
    client: httpx.AsyncClient, folder: Path
) -> None:
    one, other = rewarded(folder / "resilient"), rewarded(folder / "naive")
    apart = sorted(case for case in one if (one[case] == 1) != (other[case] == 1))
    assert 0 < len(apart) < CASES
    found = await compared(client, "resilient", "naive")
    shown = [row for row in found.rows if row and row[0] in one]
    assert [row[0] for row in shown] == apart
    assert [row[-2:] for row in shown] == [[f"{one[case]:g}", f"{other[case]:g}"] for case in apart]
    links = [link for link in found.links if link.startswith("/compare?")]
    assert len(links) == len(apart)
    side = await client.get(links[0])
    assert side.status_code == 200
    assert apart[0] in side.text


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Two runs of a scenario that was changed in between."""
    for place, more in enumerate(("", FAULTS.replace("transient_error", "latency").replace(", max_times: 2", ""))):
        run([scenario(tmp_path, more=more)], "oracle", out=tmp_path / f"run{place}", episodes=2)
    return tmp_path


async def test_scenarios_that_were_changed_between_runs_are_named(changed: Path) -> None:
    async with viewing(RunShelf([changed])) as url, httpx.AsyncClient(base_url=url) as client:
        found = await compared(client, "run0", "run1")
        assert "Not the same in all of them, so read with care: birthday." in found.text
        assert "Nowhere." in found.text


@pytest.mark.parametrize(
    ("names", "said"),
    [(["naive"], "two runs at least"), (["naive", "naive"], "two runs"), (["naive", "<b>"], "no run")],
)
async def test_what_cannot_be_compared_is_said(client: httpx.AsyncClient, names: list[str], said: str) -> None:
    reply = await client.get("/runs?" + urlencode([("r", name) for name in names]))
    assert reply.status_code == 400
    assert said in Page(reply.text).text
    assert "<b>" not in reply.text

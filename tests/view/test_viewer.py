"""The viewer over real run folders, read over HTTP: lists, filters, figures, episodes, comparisons, triage, notes, search."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from simtrain.public import load_scenarios, run
from simtrain.scenarios.load import load_scenario_file
from simtrain.view.app import viewing
from simtrain.view.shelf import RunShelf
from tests.support.viewer_pages import Page, lines

ROOT = Path(__file__).parents[2]
FAMILIES = ("helpdesk/refund", "helpdesk/refund_not_due")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: the plan carried out, and a plausible mistake."""
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("oracle", "wrong"):
        run(load_scenarios(*FAMILIES), agent, out=folder / agent, episodes=24)
    return folder


@pytest.fixture
async def client(runs: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with viewing(RunShelf([runs])) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def page(client: httpx.AsyncClient, path: str, **query: str) -> Page:
    reply = await client.get(path, params=query or None)
    assert reply.status_code == 200, reply.text
    return Page(reply.text)


def episodes(found: Page) -> list[str]:
    return [row[0] for row in found.rows if row]


async def test_the_first_page_has_all_runs_with_their_success(client: httpx.AsyncClient) -> None:
    found = await page(client, "/")
    assert [row[1] for row in found.rows if len(row) > 1] == ["oracle", "wrong"]
    assert found.rows[1][3].startswith("100.0 %")
    assert found.rows[2][3].startswith("0.0 %")


@pytest.mark.parametrize(
    ("q", "fits"),
    [
        ("", lambda row: True),
        ("reward<1", lambda row: row["reward"] < 1),
        ("scenario=helpdesk/refund", lambda row: row["scenario"] == "helpdesk/refund"),
        ("scenario=*_not_due", lambda row: row["scenario"].endswith("_not_due")),
        (
            "scenario!=helpdesk/refund turns>=4",
            lambda row: row["scenario"] != "helpdesk/refund" and len(row["turns"]) >= 4,
        ),
        ("stop=abstained", lambda row: row["stop"]["reason"] == "abstained"),
        ("case.customer~AN", lambda row: "an" in row["case"]["customer"].lower()),
        ("solved=no", lambda row: row["reward"] < 1),
        ("blame=none", lambda row: row["stop"]["blame"] is None),
    ],
)
async def test_a_filter_keeps_what_fits(client: httpx.AsyncClient, runs: Path, q: str, fits: object) -> None:
    assert callable(fits)
    found = await page(client, "/run/wrong", q=q)
    expected = [str(row["episode"]) for row in lines(runs / "wrong") if fits(row)]
    assert sorted(episodes(found)) == sorted(expected)


async def test_lists_are_sorted_by_any_column(client: httpx.AsyncClient, runs: Path) -> None:
    counts = [len(row["turns"]) for row in lines(runs / "wrong")]  # type: ignore[arg-type]
    for sort, expected in (("turns", sorted(counts)), ("-turns", sorted(counts, reverse=True))):
        found = await page(client, "/run/wrong", sort=sort)
        assert [int(row[6]) for row in found.rows if row] == expected


@pytest.mark.parametrize("q", ["colour=red", 'say "hello', "reward<much", "seed=x"])
async def test_a_filter_that_makes_no_sense_is_one_line_on_the_page(client: httpx.AsyncClient, q: str) -> None:
    found = await page(client, "/run/wrong", q=q)
    assert episodes(found) == []
    assert any(words in found.text for words in ("no 'colour'", "quotation mark", "is not a number"))


async def test_an_episode_shows_calls_replies_rewards_and_the_reference(client: httpx.AsyncClient, runs: Path) -> None:
    listed = await page(client, "/run/wrong", q="scenario=helpdesk/refund reward<1")
    address = next(link for link in listed.links if "/episode/" in link)
    found = await page(client, address)
    row = next(
        row
        for row in lines(runs / "wrong")
        if f"episode={row['episode']}&" in address and row["scenario"] == "helpdesk/refund"
    )
    for turn in row["turns"]:  # type: ignore[attr-defined]
        for step in turn["steps"]:
            assert step["action"]["tool"] in found.text
            for value in step["action"]["arguments"].values():
                assert str(value) in found.text
    assert "This episode called billing.refund with another charge_id" in found.text
    due = next(
        row2
        for row2 in lines(runs / "oracle")
        if row2["episode"] == row["episode"] and row2["scenario"] == row["scenario"]
    )
    assert str(due["answer"]) in found.text


async def test_arrows_lead_through_the_list_that_an_episode_was_opened_from(
    client: httpx.AsyncClient, runs: Path
) -> None:
    listed = await page(client, "/run/wrong", q="reward<1", sort="-turns")
    addresses = [link for link in listed.links if "/episode/" in link]
    first, second, third = [await page(client, address) for address in addresses[:3]]
    assert addresses[1] in first.links
    assert {addresses[0], addresses[2]} <= set(second.links)
    assert addresses[1] in third.links


async def test_episodes_of_a_case_are_put_side_by_side_with_the_first_difference(client: httpx.AsyncClient) -> None:
    listed = await page(client, "/run/wrong", q="scenario=helpdesk/refund reward<1")
    query = next(link for link in listed.links if "/episode/" in link).partition("?")[2].partition("&q=")[0]
    reply = await client.get("/compare", params={"e": [f"wrong?{query}", f"oracle?{query}"]})
    assert reply.status_code == 200
    assert reply.text.count("the calls differ first") == 1
    before, _, after = reply.text.partition("the calls differ first")
    assert "billing.refund" not in before
    assert after.count("billing.refund") >= 2


async def test_failures_are_grouped_by_what_went_wrong_first(client: httpx.AsyncClient, runs: Path) -> None:
    found = await page(client, "/failures/wrong")
    assert "called billing.refund with another charge_id" in found.text
    failed = sum(row["reward"] < 1 for row in lines(runs / "wrong"))  # type: ignore[operator]
    assert f"{failed} episodes failed" in found.text
    assert "Nothing failed" in (await page(client, "/failures/oracle")).text


async def test_a_note_is_kept_beside_the_run(client: httpx.AsyncClient, runs: Path) -> None:
    listed = await page(client, "/run/wrong")
    address = next(link for link in listed.links if "/episode/" in link)
    reply = await client.post(address.replace("/episode/", "/note/"), data={"mark": "look", "note": "why <b>this</b>?"})
    assert reply.status_code == 303
    text = (await client.get(address)).text
    assert "why &lt;b&gt;this&lt;/b&gt;?" in text
    kept = json.loads((runs / "wrong" / "notes.jsonl").read_text().splitlines()[-1])
    assert (kept["mark"], kept["note"]) == ("look", "why <b>this</b>?")
    assert "look" in {cell for row in (await page(client, "/run/wrong")).rows for cell in row}
    refused = await client.post(address.replace("/episode/", "/note/"), data={"mark": "odd", "note": ""})
    assert refused.status_code == 400


async def test_only_this_machine_may_open_it(client: httpx.AsyncClient) -> None:
    assert (await client.get("/run/wrong", headers={"host": "evil.example"})).status_code == 421
    foreign = await client.post("/words/wrong", headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403


async def test_a_page_loads_scripts_and_a_style_of_this_server_and_little(client: httpx.AsyncClient) -> None:
    pages = ["/", "/run/wrong", "/figures/wrong", "/failures/wrong"]
    loaded = {
        path
        for page in pages
        for path in re.findall(r'(?:src|href)="([^"]+\.(?:js|css))"', (await client.get(page)).text)
    }
    assert loaded == {"/kept.js", "/style.css", "/view.js"}
    replies = [await client.get(path) for path in sorted(loaded)]
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    assert sum(len(reply.content) for reply in replies if "script" in reply.headers["content-type"]) < 60_000


async def test_what_is_not_there_is_said(client: httpx.AsyncClient) -> None:
    for path in ("/run/none", "/episode/wrong?scenario=x&episode=y", "/compare?e=wrong%3Fa", "/compare?e=a&e=b"):
        reply = await client.get(path)
        assert reply.status_code == 400
        assert "This cannot be shown" in reply.text
    assert (await client.post("/words/wrong", content=b"x" * 200_000)).status_code == 413


async def test_a_run_fills_in_while_it_is_played(client: httpx.AsyncClient, runs: Path) -> None:
    part = next((runs / "wrong").glob("trajectories-*"))
    before = int((await client.get("/count/wrong")).text)
    last = json.loads(part.read_text().splitlines()[-1])
    with part.open("a") as file:
        file.write(json.dumps({**last, "attempt": 7}) + "\n")
    assert int((await client.get("/count/wrong")).text) == before + 1


def test_the_command_tells_where_it_serves_and_ends_on_a_signal(runs: Path) -> None:
    command = [sys.executable, "-m", "simtrain", "view", str(runs), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert httpx.get(told["url"]).status_code == 200
        assert set(told["runs"]) == {"oracle", "wrong"}
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_a_folder_without_a_run_is_refused_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simtrain", "view", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "there is no run in this folder" in found.stderr


def mark(folder: Path, row: dict[str, object], word: str, note: str = "") -> None:
    """Write a mark as a line of the notes' file, without the package."""
    place = {name: row[name] for name in ("scenario", "episode", "arm", "attempt")}
    with (folder / "notes.jsonl").open("a") as file:
        file.write(json.dumps({**place, "mark": word, "note": note}) + "\n")


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six episodes, four of which have notes."""
    folder = tmp_path_factory.mktemp("noted") / "marked"
    run(load_scenarios("helpdesk/refund"), "oracle", out=folder, episodes=6)
    rows = lines(folder)
    for place, word in ((0, "good"), (1, "bad"), (2, "look"), (2, "good"), (3, "")):
        mark(folder, rows[place], word, "seen")
    return folder


@pytest.mark.parametrize(
    ("q", "places"),
    [("mark=good", [0, 2]), ("mark=bad", [1]), ("mark=none", [3, 4, 5]), ("mark!=good", [1, 3, 4, 5])],
)
async def test_marks_are_filtered_by(marked: Path, q: str, places: list[int]) -> None:
    rows = lines(marked)
    async with viewing(RunShelf([marked])) as url, httpx.AsyncClient(base_url=url) as client:
        found = await page(client, "/run/marked", q=q)
        assert sorted(episodes(found)) == sorted(str(rows[place]["episode"]) for place in places)
        assert "there is no mark" in (await page(client, "/run/marked", q="mark=odd")).text


def labels(row: dict[str, object]) -> set[str]:
    """What took effect in an episode, from its line."""
    fired = {
        event["label"]
        for turn in row["turns"]  # type: ignore[attr-defined]
        for step in turn["steps"]
        for event in step.get("events", ())
    }
    return fired | set(row.get("bent", ()))  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run under a pack that leaves some episodes alone."""
    folder = tmp_path_factory.mktemp("faulty") / "half"
    refund = load_scenario_file(ROOT / "scenarios/helpdesk/refund.yaml", "helpdesk/refund", packs=("flaky_network",))
    run([refund], "resilient", out=folder, episodes=12)
    return folder


async def test_perturbations_are_filtered_by_and_have_figures(faulty: Path) -> None:
    rows = lines(faulty)
    some = sorted({label for row in rows for label in labels(row)})
    assert some, "something took effect"
    async with viewing(RunShelf([faulty])) as url, httpx.AsyncClient(base_url=url) as client:
        for label in some:
            found = await page(client, "/run/half", q=f'"fired={label}"')
            assert sorted(episodes(found)) == sorted(str(row["episode"]) for row in rows if label in labels(row))
            rest = await page(client, "/run/half", q=f'"fired!={label}"')
            assert sorted(episodes(rest)) == sorted(str(row["episode"]) for row in rows if label not in labels(row))
        spared = await page(client, "/run/half", q="fired=none")
        assert sorted(episodes(spared)) == sorted(str(row["episode"]) for row in rows if not labels(row))
        shown = [row for row in (await page(client, "/figures/half")).rows if row and row[0] in some]
        counts = {label: sum(label in labels(row) for row in rows) for label in some}
        assert {row[0]: int(row[1]) for row in shown} == counts


async def test_a_run_that_was_played_anew_is_shown_anew_and_one_that_was_removed_is_gone(tmp_path: Path) -> None:
    async def played(agent: str) -> None:
        shutil.rmtree(tmp_path / "mine", ignore_errors=True)
        await asyncio.to_thread(run, load_scenarios("helpdesk/refund"), agent, out=tmp_path / "mine", episodes=3)

    await played("wrong")
    await asyncio.to_thread(run, load_scenarios("helpdesk/refund"), "oracle", out=tmp_path / "other", episodes=2)
    async with viewing(RunShelf([tmp_path])) as url, httpx.AsyncClient(base_url=url) as client:
        assert len(episodes(await page(client, "/run/mine", q="solved=no"))) == 3
        await played("oracle")
        assert len(episodes(await page(client, "/run/mine", q="solved=yes"))) == 3
        assert episodes(await page(client, "/run/mine", q="solved=no")) == []
        shutil.rmtree(tmp_path / "mine")
        gone = await client.get("/run/mine")
        assert (gone.status_code, "there is no run" in gone.text) == (400, True)
        assert (await client.get("/")).status_code in (200, 307)

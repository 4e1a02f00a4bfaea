"""Search in messages, calls and replies: the index of words is made on request, in the background, and survives what happens to a run."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from simtrain.public import load_scenarios, run
from simtrain.runs.run_index import RunIndex
from simtrain.view.app import viewing
from simtrain.view.shelf import RunShelf
from simtrain.view.text_search import WordIndex
from simtrain.view.word_indexing import WordIndexing
from tests.support.viewer_pages import Page, lines


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played") / "oracle"
    run(load_scenarios("helpdesk/refund"), "oracle", out=folder, episodes=12)
    return folder


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    """A copy of a run of 12 episodes, one of which says something in Chinese."""
    copy = tmp_path / "oracle"
    copy.mkdir()
    (copy / "run.json").write_bytes((played / "run.json").read_bytes())
    rows = lines(played)
    rows[5]["turns"][0]["text"] = "第一步：查找城区的户数。"
    write(copy, rows)
    return copy


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "trajectories-000.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
async def client(folder: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with viewing(RunShelf([folder])) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def found(client: httpx.AsyncClient, q: str) -> list[str]:
    reply = await client.get("/run/oracle", params={"q": q})
    assert reply.status_code == 200, reply.text
    return sorted(row[0] for row in Page(reply.text).rows if row)


async def indexed(client: httpx.AsyncClient) -> dict[str, Any]:
    """Ask for the index, and wait until it is there, as the script of the page does."""
    reply = await client.post("/words/oracle", data={"q": "refund"})
    assert reply.status_code == 303
    return await finished(client)


async def finished(client: httpx.AsyncClient) -> dict[str, Any]:
    for _ in range(10_000):
        told = (await client.get("/words/oracle")).json()
        if not told["running"]:
            return told
    raise AssertionError("it never ends")


def said(row: dict[str, Any], word: str) -> bool:
    return word in json.dumps([row["prompt"], row["turns"]], ensure_ascii=False)


async def test_words_are_found_once_they_are_indexed(client: httpx.AsyncClient, folder: Path) -> None:
    rows = lines(folder)
    name = str(rows[3]["case"]["customer"])
    expected = sorted(row["episode"] for row in rows if said(row, name))
    assert "The words of 12 episodes are not indexed yet" in (await client.get("/run/oracle", params={"q": name})).text
    told = await indexed(client)
    assert (told["done"], told["total"]) == (12, 12)
    assert await found(client, f'"{name}"') == expected
    assert await found(client, f'"{name[:-2]}*"') == expected, "a star stands for the rest of a word"
    assert await found(client, "nosuchword") == []
    assert await found(client, f'"{name}" reward<1') == []


@pytest.mark.parametrize("word", ["城区", "户数", "查找城区的户数"])
async def test_words_of_scripts_without_spaces_are_found(client: httpx.AsyncClient, folder: Path, word: str) -> None:
    await indexed(client)
    assert await found(client, word) == [lines(folder)[5]["episode"]]
    assert await found(client, "户城") == []


async def test_a_run_that_is_graded_again_is_searched_anew(client: httpx.AsyncClient, folder: Path) -> None:
    await indexed(client)
    rows = lines(folder)
    name = f'"{rows[3]["case"]["customer"]}"'
    expected = await found(client, name)
    # The same episodes in another order: what was indexed belongs to other places now.
    (folder / "trajectories-000.jsonl").rename(folder / "old")
    write(folder, rows[::-1])
    assert await found(client, name) == expected


async def test_episodes_that_are_played_meanwhile_are_found_too(client: httpx.AsyncClient, folder: Path) -> None:
    await indexed(client)
    rows = lines(folder)
    rows[0]["turns"][0]["text"] = "quokka"
    with (folder / "trajectories-000.jsonl").open("a") as file:
        file.write(json.dumps({**rows[0], "attempt": 1}) + "\n")
    assert await found(client, "quokka") == [rows[0]["episode"]]


async def test_a_damaged_index_of_words_is_made_anew(client: httpx.AsyncClient, folder: Path) -> None:
    (folder / "text.sqlite").write_bytes(b"no database at all" * 100)
    await indexed(client)
    assert len(await found(client, "refund*")) == 12


async def test_a_folder_that_cannot_hold_the_index_is_said_on_the_page(client: httpx.AsyncClient, folder: Path) -> None:
    (folder / "text.sqlite").mkdir()
    await client.post("/words/oracle")
    await finished(client)
    text = Page((await client.get("/run/oracle", params={"q": "refund"})).text).text
    assert "the words of this run cannot be indexed" in text


def test_work_that_is_ended_leaves_what_was_indexed_and_goes_on_later(folder: Path) -> None:
    rows = lines(folder)
    write(folder, [{**row, "attempt": attempt} for attempt in range(80) for row in rows])
    with RunIndex(folder) as index:
        index.refresh()
        work = WordIndexing(folder, 960)
        while work.done < 300:
            pass
        work.end()
        assert not work.running
        with closing(sqlite3.connect(folder / "text.sqlite")) as connection:
            (kept,) = connection.execute("select count(*) from places").fetchone()
        assert 200 <= kept < 960 and kept % 200 == 0, "whole transactions"
        assert WordIndex(index).add() == 960 - kept

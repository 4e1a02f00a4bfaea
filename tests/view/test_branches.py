"""Forks of an episode as a tree on its page: what two leaves share is what the recorded lines say they share."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from bakery import scenario

from simtrain.public import run
from simtrain.view.app import viewing
from simtrain.view.shelf import RunShelf
from tests.support.viewer_pages import lines

FAULTS = """\
perturbations:
  - {use: transient_error, when: {tools: "*", probability: 0.4, max_times: 4}}
"""

Row = dict[str, Any]


class Tree(HTMLParser):
    """The tree of a page: for each leaf its episode's address ("" for the page's own), and the stretches above it, as places in `words`."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.leaves: dict[str, tuple[int, ...]] = {}
        self.words: list[str] = []
        self._above: list[int] = []
        self._open = -1
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "ul" and named.get("class") == "tree":
            self._open = 0
        if self._open < 0:
            return
        if tag == "li":
            self._open += 1
            self._above = [*self._above[: self._open - 1], len(self.words)]
            self.words.append("")
        if tag == "a" and named["href"]:
            self.leaves[named["href"]] = tuple(self._above[:-1])
        if tag == "b":
            self.leaves[""] = tuple(self._above[:-1])

    def handle_endtag(self, tag: str) -> None:
        if self._open >= 0 and tag == "li":
            self._open -= 1
        if tag == "aside":
            self._open = -1

    def handle_data(self, data: str) -> None:
        if self._open > 0:
            self.words[self._above[self._open - 1]] += data


def recorded(folder: Path) -> list[Row]:
    return sorted(lines(folder), key=lambda row: (row["episode"], row["attempt"]))


def said(turn: Row) -> tuple[object, ...]:
    calls = [
        (step["action"]["tool"], json.dumps(step["action"]["arguments"], sort_keys=True)) for step in turn["steps"]
    ]
    return turn.get("text"), turn.get("reasoning"), calls


def heard(turn: Row) -> list[tuple[object, object]]:
    return [(s["observation"]["text"], s["observation"].get("is_error", False)) for s in turn["steps"]]


def shared(one: Row, other: Row) -> int:
    """Return how many turns two recorded episodes have in common, the last of them whatever it was answered."""
    count = 0
    for mine, its in zip(one["turns"], other["turns"], strict=False):
        if said(mine) != said(its):
            break
        count += 1
        if heard(mine) != heard(its):
            break
    return count


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forked")
    run([scenario(folder, more=FAULTS)], "resilient", out=folder / "trunk", episodes=2)
    trunk = recorded(folder / "trunk")[0]
    case = f"{trunk['scenario']}:{trunk['episode']}"
    command = [sys.executable, "-m", "simtrain", "fork", folder / "trunk", case, "--out", folder / "forks"]
    more = ["--at", "0", "--at", "1", "--at", "3", "--branches", "5", "--seed", "3"]
    subprocess.run([*command, *more], check=True, capture_output=True)
    return folder


def address(run_name: str, row: Row) -> str:
    place = {name: row[name] for name in ("scenario", "episode", "arm", "attempt")}
    return f"/episode/{run_name}?{urlencode(place)}"


async def test_two_leaves_share_as_many_turns_as_their_lines_do(folder: Path) -> None:
    trunk, forks = recorded(folder / "trunk")[0], recorded(folder / "forks")
    rows = {"": trunk, **{address("forks", row): row for row in forks}}
    async with viewing(RunShelf([folder])) as url, httpx.AsyncClient(base_url=url) as client:
        reply = await client.get(address("trunk", trunk))
        tree = Tree(reply.text)
        assert len({key for key in tree.leaves if key}) == len(forks) >= 12
        found = {key: tree.leaves[key] for key in rows}
        depths = set[int]()
        for one, other in combinations(rows, 2):
            common = set(found[one]) & set(found[other])
            last = max((int(re.findall(r"turns? (?:\d+ to )?(\d+)", tree.words[li])[0]) for li in common), default=0)
            assert last == shared(rows[one], rows[other]), (one, other)
            depths.add(last)
        assert len(depths) > 2, "they part in several places"
        # The stretches above a leaf name all of its calls, in order.
        for key, row in rows.items():
            tools = [step["action"]["tool"] for turn in row["turns"] for step in turn["steps"]]
            shown = " ".join(tree.words[li] for li in found[key]).split()
            assert [word for word in shown if word in set(tools)] == tools
        # From a leaf, the trunk is a leaf too.
        back = Tree((await client.get(address("forks", forks[0]))).text)
        assert address("trunk", trunk) in back.leaves


async def test_episodes_that_share_no_turn_have_no_tree(folder: Path) -> None:
    alone = recorded(folder / "trunk")[1]
    async with viewing(RunShelf([folder])) as url, httpx.AsyncClient(base_url=url) as client:
        assert 'class="tree"' not in (await client.get(address("trunk", alone))).text


def test_an_address_is_read_back() -> None:
    """The addresses that this file computes are those of the pages' queries."""
    row: Row = {"scenario": "a/b", "episode": "c 1", "arm": "", "attempt": 2}
    query = parse_qs(urlsplit(address("x", row)).query, keep_blank_values=True)
    assert query == {"scenario": ["a/b"], "episode": ["c 1"], "arm": [""], "attempt": ["2"]}

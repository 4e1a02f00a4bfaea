"""The report in one file: what it holds, what it refuses, and how it behaves in a browser that has no network."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browsers import chromium, need_chromium
from payloads import PAYLOADS
from playwright.async_api import expect

from simtrain.public import load_scenarios, run
from simtrain.values.errors import InputError
from simtrain.view import report
from simtrain.view.report import write_report
from simtrain.view.shelf import RunShelf


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("oracle", "wrong"):
        run(load_scenarios("helpdesk/refund"), agent, out=folder / agent, episodes=6)
    return folder


def pages(text: str) -> list[str]:
    """The pages of episodes in a report, unpacked without the package."""
    packs = re.findall(r'<script type="text/plain" id="pack-\d+">([A-Za-z0-9+/=]+)</script>', text)
    return [page for pack in packs for page in json.loads(gzip.decompress(base64.b64decode(pack)))]


def test_it_holds_every_episode_and_loads_nothing(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert write_report(RunShelf([runs]), file) == 12
    text = file.read_text()
    found = pages(text)
    lines = [
        json.loads(line) for part in sorted(runs.glob("*/trajectories-*")) for line in part.read_text().splitlines()
    ]
    assert len(found) == 12
    for line, page in zip(lines, found, strict=True):
        assert all(step["action"]["tool"] in page for turn in line["turns"] for step in turn["steps"])
        assert line["case"]["customer"] in page
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"", text) == []
    assert "called billing.refund with another charge_id" in text


def test_the_same_runs_give_the_same_file(runs: Path, tmp_path: Path) -> None:
    for name in ("one.html", "other.html"):
        write_report(RunShelf([runs]), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_a_filter_chooses_episodes(runs: Path, tmp_path: Path) -> None:
    assert write_report(RunShelf([runs]), tmp_path / "report.html", chosen="reward<1 agent=wrong") == 6


@pytest.mark.parametrize(
    ("chosen", "words"),
    [("reward<0", "no episode is left"), ("colour=red", "no 'colour'"), ("refund", "not filtered by words")],
)
def test_what_cannot_be_reported_is_one_line_and_writes_nothing(
    runs: Path, tmp_path: Path, chosen: str, words: str
) -> None:
    out = tmp_path / "report.html"
    command = [sys.executable, "-m", "simtrain", "report", str(runs), "--filter", chosen, "--out", str(out)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 2
    assert words in found.stderr and found.stderr.count("\n") == 1
    assert not out.exists()


def test_too_many_episodes_are_refused(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST", 11)
    with pytest.raises(InputError, match="at most 11 episodes, and these are 12"):
        write_report(RunShelf([runs]), tmp_path / "report.html")


@pytest.mark.full
async def test_a_browser_opens_episodes_from_the_file_alone(runs: Path, tmp_path: Path) -> None:
    program = await asyncio.to_thread(need_chromium)
    row = json.loads(next((runs / "wrong").glob("trajectories-*")).read_text().splitlines()[0])
    hostile = tmp_path / "hostile"
    shutil.copytree(runs / "wrong", hostile, ignore=shutil.ignore_patterns("*.sqlite*", "trajectories-*"))
    rows = [{**row, "episode": f"p{number}", "prompt": one, "answer": one} for number, one in enumerate(PAYLOADS)]
    (hostile / "trajectories-000.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    file = tmp_path / "report.html"
    await asyncio.to_thread(write_report, RunShelf([hostile]), file, title=PAYLOADS[0])
    asked, wrong = list[str](), list[str]()
    async with chromium(program) as browser:
        tab = await browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        await tab.goto(file.as_uri())
        assert await tab.locator("tbody tr:visible").count() == 100
        await tab.locator("tbody a").first.click()
        for number in range(len(PAYLOADS)):
            await expect(tab.locator("#episode h1")).to_have_text(f"helpdesk/refund p{number}")
            assert await tab.evaluate("window.pwned") is None
            await tab.keyboard.press("ArrowRight")
        await tab.keyboard.press("u")
        await tab.get_by_label("Filter").fill("p42")
        assert await tab.locator("tbody tr:visible").count() == 1
    assert asked == [file.as_uri()]
    assert wrong == []

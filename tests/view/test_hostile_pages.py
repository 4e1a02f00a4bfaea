"""A hundred payloads in everything that a run records, on every kind of page and in the mailed report: none runs or loads anything."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from browsers import chromium, need_chromium
from payloads import ELSEWHERE, PAYLOADS
from playwright.async_api import Browser, Page

from simtrain.public import load_scenarios, run
from simtrain.view.app import viewing
from simtrain.view.report import write_report
from simtrain.view.shelf import RunShelf

pytestmark = pytest.mark.full

KEPT = {"scenario_digest", "format", "reason", "blame", "solvability", "layer", "changed", "clock", "started", "ended"}
"""Fields that only take certain words, which a reader would refuse."""

NAMES = {"case", "arguments", "detail", "changes", "before", "after", "content", "agent"}
"""Fields whose members have names that an author or an agent chooses."""


def spoilt(value: Any, payload: str, *, named: bool = False) -> Any:
    """Return JSON with a payload in place of every text, and in place of one name where names are free."""
    if isinstance(value, dict):
        found = {
            key: one if key in KEPT and not named else spoilt(one, payload, named=key in NAMES)
            for key, one in value.items()
        }
        return {payload if named and place == 0 else key: one for place, (key, one) in enumerate(found.items())}
    if isinstance(value, list):
        return [spoilt(one, payload, named=named) for one in value]
    return payload if isinstance(value, str) else value


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a hundred episodes, each with one payload everywhere; their folders and notes are hostile as well."""
    folder = tmp_path_factory.mktemp("runs")
    run(load_scenarios("helpdesk/refund"), "wrong", out=folder / "played", episodes=1)
    row = json.loads(next((folder / "played").glob("trajectories-*")).read_text().splitlines()[0])
    event = {"label": "x", "use": "x", "layer": "reply", "matching": 0, "changed": ["reply"]}
    step = row["turns"][0]["steps"][0]
    step["events"] = [{**event, "clean": {**step["observation"], "text": "it was"}, "perturbed": step["observation"]}]
    row["turns"][0]["reasoning"] = "why"
    row["stop"]["detail"] = "how"
    facts = json.loads((folder / "played" / "run.json").read_text())
    for name in ("<img src=x onerror=window.pwned=1>", "\"'><svg onload=window.pwned=1>"):
        made = folder / name
        made.mkdir()
        (made / "run.json").write_text(json.dumps({**facts, "agent": {**facts["agent"], "name": name}}))
        rows = [{**spoilt(row, payload), "attempt": place} for place, payload in enumerate(PAYLOADS)]
        (made / "trajectories-000.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
        (made / "failures.jsonl").write_text(json.dumps({**spoilt(row, PAYLOADS[0]), "attempt": 500}) + "\n")
        place = {name: rows[0][name] for name in ("scenario", "episode", "arm", "attempt")}
        (made / "notes.jsonl").write_text(json.dumps({**place, "mark": "look", "note": PAYLOADS[0]}) + "\n")
    shutil.rmtree(folder / "played")
    return folder


async def watched(browser: Browser) -> tuple[Page, list[str]]:
    """A tab, and all that it asks for, or says in a dialog."""
    tab, asked = await browser.new_page(), list[str]()
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
    return tab, asked


def places(folder: Path) -> list[dict[str, Any]]:
    lines = (next(folder.iterdir()) / "trajectories-000.jsonl").read_text().splitlines()
    return [{name: row[name] for name in ("scenario", "episode", "arm", "attempt")} for row in map(json.loads, lines)]


async def test_no_payload_runs_or_loads_anything_in_the_viewer(hostile: Path) -> None:
    program = await asyncio.to_thread(need_chromium)
    names = sorted(one.name for one in hostile.iterdir())
    keys = [urlencode(place) for place in places(hostile)]
    assert len(keys) == len(PAYLOADS) == len(set(PAYLOADS)) == 100
    async with chromium(program) as browser, viewing(RunShelf([hostile])) as url:
        tab, asked = await watched(browser)
        one = quote(names[0])
        lists = [
            "", f"run/{one}", f"run/{one}?q=case.x~", f"figures/{one}", f"failures/{one}",
            "runs?" + urlencode([("r", name) for name in names]),
            *(f"run/{one}?{urlencode({'q': payload, 'sort': payload})}" for payload in PAYLOADS[::9]),
        ]  # fmt: skip
        episodes = [f"episode/{one}?{key}" for key in keys]
        sides = ["compare?" + urlencode([("e", f"{quote(name)}?{key}") for name in names]) for key in keys]
        wrong = [f"run/{quote(payload)}" for payload in PAYLOADS[::9]]
        for path in (*lists, *episodes, *sides, *wrong):
            reply = await tab.goto(url + path)
            assert reply is not None and (reply.status == 200) == (path not in wrong), path
            assert await tab.evaluate("window.pwned") is None, path
            assert await tab.locator("h1").count() >= 1, path
    assert [one for one in asked if not one.startswith(url)] == []


async def test_no_payload_runs_or_loads_anything_in_the_report(hostile: Path, tmp_path: Path) -> None:
    program = await asyncio.to_thread(need_chromium)
    file = tmp_path / "report.html"
    assert await asyncio.to_thread(write_report, RunShelf([hostile]), file, title=PAYLOADS[0]) == 200
    async with chromium(program) as browser:
        tab, asked = await watched(browser)
        await tab.goto(file.as_uri())
        assert await tab.locator("tbody tr").count() >= 200
        for number in range(1, 201):
            await tab.evaluate(f"location.hash = '{number}'")
            await tab.locator(f"#episode[data-shown='{number}'] h1").wait_for()
            assert await tab.evaluate("window.pwned") is None, number
    assert asked == [file.as_uri()]
    assert ELSEWHERE not in asked

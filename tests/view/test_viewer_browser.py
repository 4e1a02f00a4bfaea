"""The viewer in a real browser: keys, toggles, hostile text, and what a checker of accessibility finds."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from browsers import chromium, need_chromium
from payloads import ELSEWHERE, PAYLOADS
from playwright.async_api import Browser, Page

from simtrain.public import load_scenarios, run
from simtrain.view.app import viewing
from simtrain.view.shelf import RunShelf

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for agent in ("oracle", "wrong"):
        run(load_scenarios("helpdesk/refund"), agent, out=folder / agent, episodes=8)
    return folder


@pytest.fixture(scope="module")
def program() -> str:
    return need_chromium()


@pytest.fixture
async def browser(program: str) -> AsyncIterator[Browser]:
    async with chromium(program) as browser:
        yield browser


@pytest.fixture
async def url(runs: Path) -> AsyncIterator[str]:
    async with viewing(RunShelf([runs])) as url:
        yield url.rstrip("/")


@pytest.fixture
async def tab(browser: Browser) -> AsyncIterator[Page]:
    """A page on which every error of a script and every refusal of the content security policy fails the test."""
    page = await browser.new_page(viewport={"width": 1280, "height": 900})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda said: wrong.append(said.text) if said.type == "error" and "400" not in said.text else None
    )
    yield page
    await page.close()
    assert wrong == []


async def test_keys_lead_from_the_runs_to_an_episode_and_on(tab: Page, url: str) -> None:
    await tab.goto(url)
    await tab.keyboard.press("ArrowDown")
    await tab.keyboard.press("ArrowDown")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url("**/run/wrong")
    await tab.keyboard.press("ArrowDown")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url("**/episode/**")
    first = tab.url
    await tab.keyboard.press("ArrowRight")
    await tab.wait_for_url(lambda now: now != first and "/episode/" in now)
    await tab.keyboard.press("ArrowLeft")
    await tab.wait_for_url(first)
    await tab.keyboard.press("ArrowDown")
    assert await tab.locator(".step[aria-current=true]").get_attribute("id") == "step-1"
    await tab.keyboard.press("u")
    await tab.wait_for_url("**/run/wrong?**")
    await tab.keyboard.press("/")
    await tab.keyboard.type("reward<1 stop=answered")
    await tab.keyboard.press("Enter")
    await tab.wait_for_url("**q=reward**")
    assert await tab.locator("tbody tr").count() == 8
    await tab.keyboard.press("Escape")
    await tab.locator("h1").click()
    await tab.keyboard.press("?")
    assert await tab.locator("dialog").is_visible()


async def test_calls_are_hidden_and_stay_hidden_on_the_next_episode(tab: Page, url: str) -> None:
    await tab.goto(f"{url}/run/oracle")
    await tab.locator("tbody a").first.click()
    assert await tab.locator(".step").first.is_visible()
    await tab.get_by_label("calls").uncheck()
    assert not await tab.locator(".step").first.is_visible()
    await tab.keyboard.press("ArrowRight")
    await tab.locator("h1").wait_for()
    assert not await tab.locator(".step").first.is_visible()


async def test_the_theme_is_turned_and_kept(tab: Page, url: str) -> None:
    await tab.goto(f"{url}/run/oracle")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await tab.evaluate(ground)
    await tab.keyboard.press("t")
    dark = await tab.evaluate(ground)
    assert dark != light
    await tab.reload()
    assert await tab.evaluate(ground) == dark


async def test_a_list_fills_in_while_a_run_is_played(tab: Page, url: str, runs: Path) -> None:
    await tab.goto(f"{url}/run/oracle")
    assert await tab.locator("tbody tr").count() == 8
    part = next((runs / "oracle").glob("trajectories-*"))
    last = json.loads(part.read_text().splitlines()[-1])
    with part.open("a") as file:
        file.write(json.dumps({**last, "attempt": 5}) + "\n")
    await tab.locator("tbody tr").nth(8).wait_for(timeout=15_000)


def spoilt(row: Any, payload: str) -> Any:
    """Return a trajectory with a payload in every text of it that an agent, a tool or a world writes."""
    if isinstance(row, dict):
        return {key: value if key in KEPT else spoilt(value, payload) for key, value in row.items()}
    if isinstance(row, list):
        return [spoilt(value, payload) for value in row]
    return payload if isinstance(row, str) and not row.startswith("2031-") else row


KEPT = (
    "scenario",
    "scenario_digest",
    "format",
    "version",
    "reason",
    "blame",
    "paradigm",
    "solvability",
    "layer",
    "changed",
    "tools",
    "episode",
)


async def test_no_payload_runs_or_loads_anything(browser: Browser, runs: Path, tmp_path: Path) -> None:
    row = json.loads(next((runs / "wrong").glob("trajectories-*")).read_text().splitlines()[0])
    hostile = tmp_path / "hostile"
    shutil.copytree(runs / "wrong", hostile, ignore=shutil.ignore_patterns("*.sqlite*", "trajectories-*"))
    rows = [{**spoilt(row, payload), "episode": f"p{number}"} for number, payload in enumerate(PAYLOADS)]
    (hostile / "trajectories-000.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    tab = await browser.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
    async with viewing(RunShelf([hostile])) as whole:
        url = whole.rstrip("/")
        await tab.goto(f"{url}/run/hostile")
        addresses = await tab.eval_on_selector_all("tbody a", "links => links.map(link => link.href)")
        assert len(addresses) == len(PAYLOADS) == 100
        for address in (f"{url}/failures/hostile", f"{url}/figures/hostile", *addresses):
            await tab.goto(address)
            assert await tab.evaluate("window.pwned") is None, address
            assert tab.url == address
    await tab.close()
    assert [one for one in asked if not one.startswith(url)] == []
    assert ELSEWHERE not in asked


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_checker_of_accessibility_finds_nothing_serious(tab: Page, url: str, scheme: str) -> None:
    await tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    await tab.goto(f"{url}/run/wrong")
    episode = await tab.locator("tbody a").first.get_attribute("href")
    for path in ("/", "/run/wrong", "/figures/wrong", "/failures/wrong", str(episode), "/run/none"):
        reply = await tab.goto(url + path)
        assert reply is not None
        found = (await Axe().run(tab)).response["violations"]
        serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert serious == [], path

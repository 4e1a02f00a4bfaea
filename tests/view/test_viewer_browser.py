"""The viewer in a real browser: keys, toggles, hostile text, and what a checker of accessibility finds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browsers import accessibility_faults, chromium, need_chromium
from playwright.async_api import Browser, Page, Route, expect

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
def drilled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a drill, with its page."""
    folder = tmp_path_factory.mktemp("drilled") / "drill"
    command = [
        "drill",
        "helpdesk/refund",
        "--pack",
        "flaky_network",
        "--agent",
        "naive",
        "-n",
        "4",
        "--out",
        str(folder),
    ]
    subprocess.run([sys.executable, "-m", "simtrain", *command], check=True, capture_output=True)
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
async def tab(browser: Browser, url: str) -> AsyncIterator[Page]:
    """A page on which every error of a script and every refusal of the content security policy fails the test.

    It is closed before the server of `url` ends: a page that asks how far a run is would be refused.
    """
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
    await tab.wait_for_url("**/run/wrong")
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
    """The script of each page comes late: a choice made before it counts, and nothing is hidden only after it was shown."""
    goes_on = asyncio.Event()

    async def late(route: Route) -> None:
        await goes_on.wait()
        await route.continue_()

    await tab.goto(f"{url}/run/oracle")
    await tab.route("**/view.js", late)
    await tab.locator("tbody a").first.click()
    await expect(tab.locator(".step").first).to_be_visible()
    await tab.get_by_label("calls").uncheck()
    await expect(tab.locator(".step").first).to_be_hidden()
    goes_on.set()
    await tab.wait_for_load_state()
    await expect(tab.locator(".step").first).to_be_hidden()
    first = tab.url
    goes_on.clear()
    await tab.keyboard.press("ArrowRight")
    await tab.wait_for_url(lambda now: now != first and "/episode/" in now, wait_until="commit")
    await tab.locator(".step").first.wait_for(state="attached")
    assert not await tab.locator(".step").first.is_visible()
    goes_on.set()
    await tab.wait_for_load_state()
    assert not await tab.get_by_label("calls").is_checked()
    await tab.get_by_label("calls").check()
    await expect(tab.locator(".step").first).to_be_visible()


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_checker_of_accessibility_finds_nothing_serious(
    tab: Page, url: str, drilled: Path, scheme: str
) -> None:
    await tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    await tab.goto(f"{url}/run/wrong")
    episode = str(await tab.locator("tbody a").first.get_attribute("href"))
    keys = [("e", f"{name}?{episode.partition('?')[2]}") for name in ("wrong", "oracle", "drill")]
    pages = (
        "/",
        "/run/wrong",
        "/run/wrong?q=reward<2+grader.answer<1&sort=-turns",
        "/run/wrong?q=colour=red",
        "/run/wrong?q=refund",
        "/figures/wrong",
        "/failures/wrong",
        episode,
        "/compare?" + urlencode(keys[:2]),
        "/runs?r=wrong&r=oracle",
        "/run/none",
    )
    for path in pages:
        reply = await tab.goto(url + path)
        assert reply is not None
        assert await accessibility_faults(tab) == [], path
        await tab.keyboard.press("?")
        assert await accessibility_faults(tab) == [], f"{path}, with the list of keys"
    async with viewing(RunShelf([drilled])) as other:
        for path in ("figures/drill", "failures/drill"):
            await tab.goto(other + path)
            assert await accessibility_faults(tab) == [], path
        await tab.goto(f"{other}run/drill?q=fired=*")
        for number in range(3):
            await tab.locator("tbody a").nth(number).click()
            await tab.locator(".step.fault").first.wait_for()
            assert await accessibility_faults(tab) == [], "a perturbed episode"
            await tab.go_back()
        await tab.goto((drilled / "drill.html").as_uri())
        assert await accessibility_faults(tab) == [], "the page of a drill"


@pytest.mark.parametrize("width", [360, 820, 1600])
async def test_no_page_is_wider_than_its_window(tab: Page, url: str, width: int) -> None:
    await tab.set_viewport_size({"width": width, "height": 800})
    await tab.goto(f"{url}/run/wrong")
    episode = str(await tab.locator("tbody a").first.get_attribute("href"))
    keys = urlencode([("e", f"{name}?{episode.partition('?')[2]}") for name in ("wrong", "oracle")])
    for path in (
        "/",
        "/run/wrong",
        "/figures/wrong",
        "/failures/wrong",
        episode,
        f"/compare?{keys}",
        "/runs?r=wrong&r=oracle",
    ):
        await tab.goto(url + path)
        assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


async def test_words_are_indexed_while_a_bar_fills_and_are_found_then(tab: Page, url: str, runs: Path) -> None:
    await tab.goto(f"{url}/run/oracle")
    await tab.keyboard.press("/")
    await tab.keyboard.type("refund")
    await tab.keyboard.press("Enter")
    await tab.get_by_role("button", name="Index them").click()
    await tab.locator("tbody tr").nth(7).wait_for(timeout=15_000)
    assert (runs / "oracle" / "text.sqlite").is_file()


async def test_what_was_opened_stays_open_while_a_run_is_played(tab: Page, url: str, runs: Path) -> None:
    await tab.goto(f"{url}/figures/wrong")
    await tab.locator("details[data-key=scenario] summary").click()
    part = next((runs / "wrong").glob("trajectories-*"))
    last = json.loads(part.read_text().splitlines()[-1])
    with part.open("a") as file:
        file.write(json.dumps({**last, "attempt": 9, "arm": "later"}) + "\n")
    await tab.get_by_role("heading", name="By arm").wait_for(timeout=15_000)
    assert await tab.locator("details[data-key=scenario]").get_attribute("open") is not None

"""Make the pictures of README and docs from what they show: `make pictures`, or `docs/make_pictures.py FOLDER` to put them elsewhere.

Runs are played, pages are opened in Chromium, and each becomes a PNG file. Nothing in a picture depends on the clock of the machine, so
that the same version makes the same pictures where the fonts are the same.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.async_api import Browser, Page, async_playwright  # noqa: E402

from simtrain.view.app import viewing  # noqa: E402
from simtrain.view.search_site.site import browsing  # noqa: E402
from simtrain.view.shelf import RunShelf  # noqa: E402
from simtrain.worlds.search.built import built_world  # noqa: E402

DRILL = "drill helpdesk shop --pack flaky_network --agent resilient --agent naive --cases 2 --out runs/drill"
"""As README has it."""

AGENTS = "run helpdesk shop --agent resilient --agent naive --agent oracle --episodes 150 --out runs/agents"

FAULT = "flaky_network/timeout_after"
"""Of the episodes that are shown side by side."""

PICTURES = (
    "browse.png", "drill-report.png", "orchard-page.png", "view-episode.png", "view-failures.png", "view-figures.png", "view-runs.png",
    "view-side-by-side.png",
)  # fmt: skip
MOST_BYTES = 1_000_000
"""Of all pictures together."""

TILE = (880, 512)
"""Width and height of a page that becomes a quarter of a picture."""


def main() -> None:
    """Make all pictures."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs"
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for command in (DRILL, AGENTS):
            _simtrain(work, command)
        asyncio.run(_pictures(work, folder))
    size = sum((folder / name).stat().st_size for name in PICTURES)
    if size > MOST_BYTES:
        sys.exit(f"the pictures have {size:,} bytes, more than {MOST_BYTES:,}")
    print(f"{len(PICTURES)} pictures, {size:,} bytes, are in {folder}")


def _simtrain(work: Path, command: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "simtrain", *command.split()], cwd=work, check=True, stdout=subprocess.DEVNULL
    )


async def _pictures(work: Path, folder: Path) -> None:
    async with _chromium() as browser:
        await _of_drill(browser, work, folder)
        await _of_viewer(browser, work, folder)
        await _of_webs(browser, work, folder)


@asynccontextmanager
async def _chromium() -> AsyncIterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    # None: the one that playwright has installed.
    program = next((found for name in names if (found := shutil.which(name))), None)
    async with async_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none", "--disable-lcd-text"]
        browser = await playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        await browser.close()


@asynccontextmanager
async def _tab(browser: Browser, width: int, height: int, **options: Any) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": width, "height": height}, **options)
    # References are played for some pages, which takes a while on a busy machine.
    context.set_default_timeout(300_000)
    # What was measured by the clock of the machine is no part of a picture.
    await context.add_init_script("try { localStorage.setItem('no-metadata', '1') } catch {}")
    yield await context.new_page()
    await context.close()


async def _of_drill(browser: Browser, work: Path, folder: Path) -> None:
    async with _tab(browser, 1100, 598) as tab:
        await tab.goto((work / "runs/drill/drill.html").as_uri())
        await tab.screenshot(path=folder / "drill-report.png")


async def _of_viewer(browser: Browser, work: Path, folder: Path) -> None:
    async with viewing(RunShelf([work / "runs"])) as url:
        async with _tab(browser, 1200, 400) as tab:
            await tab.goto(url)
            await tab.screenshot(path=folder / "view-runs.png")
        async with _tab(browser, 1200, 560) as tab:
            await tab.goto(f"{url}failures/drill/naive")
            await tab.screenshot(path=folder / "view-failures.png")
        async with _tab(browser, 1200, 640, color_scheme="dark") as tab:
            await tab.goto(f"{url}figures/drill/resilient")
            await tab.screenshot(path=folder / "view-figures.png")
        async with _tab(browser, 1280, 860) as tab:
            await tab.goto(f"{url}run/drill/naive?q={quote('fired=timeout_after reward<1 scenario=helpdesk/*')}")
            await tab.locator("tbody a").first.click()
            await tab.locator(".pair").first.evaluate("one => one.closest('.turn').scrollIntoView()")
            await tab.screenshot(path=folder / "view-episode.png")
        async with _tab(browser, 1280, 860) as tab:
            place = {"scenario": "helpdesk/refund", "episode": "c0000", "attempt": "0"}
            query = "&".join(f"{name}={quote(value, safe='')}" for name, value in place.items())
            keys = [
                quote(f"drill/{agent}?{query}&arm={quote(arm, safe='')}", safe="")
                for agent, arm in (("resilient", "clean"), ("resilient", FAULT), ("naive", FAULT))
            ]
            await tab.goto(f"{url}compare?" + "&".join(f"e={key}" for key in keys))
            await tab.locator(".row.differs").first.evaluate("one => one.scrollIntoView()")
            await tab.screenshot(path=folder / "view-side-by-side.png")


async def _of_webs(browser: Browser, work: Path, folder: Path) -> None:
    found = re.search(
        r"^```yaml file=(worlds/orchards\.yaml)\n(.*?)^```", (ROOT / "docs/fiction.md").read_text(), re.M | re.S
    )
    assert found is not None
    (work / "worlds").mkdir()
    (work / found[1]).write_text(found[2])
    for name in ("orchards", "korvessia_league"):
        _simtrain(work, f"world build {name} --out {name}.sqlite")
    async with browsing(built_world(work / "orchards.sqlite")) as url, _tab(browser, 900, 560) as tab:
        await tab.goto(url)
        await tab.get_by_role("link", name="The Orchard Guild").first.click()
        await tab.get_by_role("link", name="All orchards").first.click()
        await tab.locator("main table a").first.click()
        await tab.screenshot(path=folder / "orchard-page.png")
    async with browsing(built_world(work / "korvessia_league.sqlite")) as url:
        quarters = [
            await _quarter(browser, url, path)
            for path in ("", "touchline.korvessia.test/", "-/search?q=stadium+hybrid+turf+city")
        ]
        quarters.append(await _quarter(browser, url, "-/search?q=park+what+to+expect", link=": what to expect"))
        await _tiled(browser, quarters, folder / "browse.png")


async def _quarter(browser: Browser, url: str, path: str, link: str = "") -> bytes:
    async with _tab(browser, *TILE, device_scale_factor=0.75) as tab:
        await tab.goto(url + path)
        if link:
            await tab.get_by_role("link", name=link).first.click()
            await tab.wait_for_load_state()
        return await tab.screenshot()


async def _tiled(browser: Browser, quarters: list[bytes], file: Path) -> None:
    async with _tab(browser, 1327, 775) as tab:
        pictures = "".join(f'<img src="data:image/png;base64,{b64encode(one).decode()}">' for one in quarters)
        style = (
            "body{margin:0;display:grid;grid-template-columns:1fr 1fr;gap:7px;background:#7a828a} img{display:block}"
        )
        await tab.set_content(f"<style>{style}</style>{pictures}")
        await tab.screenshot(path=file)


if __name__ == "__main__":
    main()

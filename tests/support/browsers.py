"""Chromium for the tests of pages: the one on this machine. Without it tests skip and say so; where CI is set they fail instead."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright
from playwright.sync_api import sync_playwright

_PIXELS: Final = """async pictures => {
  const [one, other] = await Promise.all(pictures.map(async picture => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
    const drawing = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    drawing.drawImage(bitmap, 0, 0);
    return drawing.getImageData(0, 0, bitmap.width, bitmap.height);
  }));
  if (one.width !== other.width || one.height !== other.height) return 255;
  return one.data.reduce((most, value, place) => Math.max(most, Math.abs(value - other.data[place])), 0);
}"""


def need_chromium() -> str:
    """The program of a browser: that of the system, or the one that playwright has installed."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        with sync_playwright() as playwright:
            found = playwright.chromium.executable_path
    if not Path(found).exists():
        reason = "NO BROWSER LOOKED AT A PAGE: install Chromium, or `.venv/bin/playwright install --with-deps chromium`"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return found


@asynccontextmanager
async def chromium(program: str) -> AsyncIterator[Browser]:
    """A browser without a window, closed with the block."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        await browser.close()


async def accessibility_faults(tab: Page) -> list[tuple[str, str]]:
    """What axe-core finds on a page that is serious or critical: the rule, and the first element."""
    found = (await Axe().run(tab)).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


async def pixel_difference(browser: Browser, one: bytes, other: bytes) -> int:
    """Compare two pictures (PNG): the largest difference of a channel, 0 to 255; 255 where their sizes differ.

    Chromium rounds the edge of a button to one of two neighbouring greys, by chance, so equal pages may differ by 1.
    """
    tab = await browser.new_page()
    return await tab.evaluate(_PIXELS, [base64.b64encode(picture).decode() for picture in (one, other)])

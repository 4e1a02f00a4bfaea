"""Chromium for the tests of pages: the one on this machine. Without it tests skip and say so; where CI is set they fail instead."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright
from playwright.sync_api import sync_playwright


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

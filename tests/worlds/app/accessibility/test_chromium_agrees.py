"""Pages as Playwright reads them in a real Chromium, beside what the mapper makes of the same files."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from accessible_pages import FOREIGN, OWN, Agreement, SavedPage, agreement, without_refs
from axtrees import axtree_lines
from browsers import chromium, need_chromium
from playwright.async_api import Browser, Page

from simtrain.worlds.app.accessibility.browsergym_form import write_axtree
from simtrain.worlds.app.accessibility.chromium_tree import chromium_tree
from simtrain.worlds.app.accessibility.playwright_form import write_snapshot
from simtrain.worlds.app.accessibility.tree import read_tree

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def program() -> str:
    return need_chromium()


@pytest.fixture
async def browser(program: str) -> AsyncIterator[Browser]:
    async with chromium(program) as browser:
        yield browser


async def opened(browser: Browser, saved: SavedPage) -> Page:
    tab = await browser.new_page(viewport={"width": 1280, "height": 720})
    await tab.route("http*://**", lambda route: route.abort())
    await tab.goto(saved.file.as_uri())
    return tab


async def axtree_agreements(browser: Browser, pages: list[SavedPage]) -> dict[str, Agreement]:
    found: dict[str, Agreement] = {}
    for saved in pages:
        tab = await opened(browser, saved)
        expected = await axtree_lines(tab)
        await tab.close()
        tree = read_tree(saved.html, stylesheets=saved.stylesheets)
        ours = write_axtree(chromium_tree(tree, url=saved.file.as_uri()))
        found[saved.name] = agreement(expected, ours.split("\n"))
    return found


async def snapshot_agreements(browser: Browser, pages: list[SavedPage]) -> dict[str, Agreement]:
    found: dict[str, Agreement] = {}
    for saved in pages:
        tab = await opened(browser, saved)
        expected = await tab.aria_snapshot(mode="ai")
        await tab.close()
        ours, _ = write_snapshot(read_tree(saved.html, stylesheets=saved.stylesheets))
        found[saved.name] = agreement(without_refs(expected), without_refs(ours))
    return found


def say(what: str, found: dict[str, Agreement]) -> Agreement:
    """Print the figures, and return them added up."""
    total = sum(found.values(), start=Agreement(0, 0))
    print(f"\n{what}: {total}")
    for name, each in found.items():
        print(f"  {name}: {each}")
    return total


async def test_snapshot_lines_of_our_own_pages_equal_those_of_playwright(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await snapshot_agreements(browser, OWN)
    with capsys.disabled():
        total = say("lines equal to Playwright's, our own pages", found)
    assert total.of > 800
    assert total.share >= 0.99


async def test_snapshot_lines_of_pages_that_others_wrote_equal_those_of_playwright(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await snapshot_agreements(browser, FOREIGN)
    with capsys.disabled():
        say("lines equal to Playwright's, pages that others wrote", found)
    assert len(found) == 5
    assert min(each.share for each in found.values()) >= 0.95


async def test_nodes_of_our_own_pages_equal_those_of_chromium(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await axtree_agreements(browser, OWN)
    with capsys.disabled():
        total = say("nodes of the BrowserGym form equal to Chromium's, our own pages", found)
    assert total.of > 1000
    assert total.share >= 0.97


async def test_nodes_of_pages_that_others_wrote_equal_those_of_chromium(
    browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await axtree_agreements(browser, FOREIGN)
    with capsys.disabled():
        total = say("nodes of the BrowserGym form equal to Chromium's, pages that others wrote", found)
    assert total.share >= 0.95


ROLES = (
    "article button cell checkbox dialog generic group heading link list listitem menuitem none note option region row tab "
    "treeitem"
)
DETAILS = (
    '<details role="{0}"{1}><summary>Sum</summary>inner <b>bold</b><a href="/x">link</a></details>',
    '<details role="{0}"{1}>only text</details>',
    '<details role="{0}"{1} aria-label="Lab"><summary>Sum</summary>text</details>',
    '<button>go <details role="{0}"{1}><summary>Sum</summary>text</details></button>',
)


async def test_details_that_are_called_something_else_read_as_in_playwright_closed_and_open(browser: Browser) -> None:
    tab = await browser.new_page()
    for role in ROLES.split():
        for state in ("", " open"):
            html = "<!doctype html><title>x</title>" + "".join(part.format(role, state) for part in DETAILS)
            await tab.set_content(html)
            ours, _ = write_snapshot(read_tree(html))
            assert without_refs(ours) == without_refs(await tab.aria_snapshot(mode="ai")), (role, state)

"""An app as a site: real browsers see the same pages as the agent's browser in the process, over the same state, safely."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import httpx
import pytest
from accessible_pages import Agreement, agreement
from axtrees import axtree_lines
from browsers import chromium, need_chromium
from library_app import TEMPLATES, Agent, library
from playwright.async_api import Browser, Error, Page
from selectolax.lexbor import LexborNode
from shipped_apps import APPS, ShippedApp, reached, signed_in, unreached

from simtrain.contracts.request import Request
from simtrain.values.seeding import Stream, derive
from simtrain.view.app_site import browsing_app
from simtrain.worlds.app.accessibility.browsergym_form import write_axtree
from simtrain.worlds.app.accessibility.chromium_tree import MARKED, chromium_tree
from simtrain.worlds.app.actions.acting import Acting
from simtrain.worlds.app.actions.seen import SeenPage
from simtrain.worlds.app.browser.browser import AppBrowser
from simtrain.worlds.app.web.site import STYLE
from simtrain.worlds.app.world import AppState, AppWorld

MARKS = re.compile(r" \[(?:ref=\w+|active|cursor=pointer)\]")


@pytest.fixture(scope="module")
def program() -> str:
    return need_chromium()


@pytest.fixture
async def browser(program: str) -> AsyncIterator[Browser]:
    async with chromium(program) as browser:
        yield browser


def lines(snapshot: str) -> list[str]:
    return MARKS.sub("", snapshot).split("\n")


def ours(state: AppState, own: AppBrowser) -> list[str]:
    return lines(SeenPage(own.page, {STYLE: state.world.style}).snapshot())


async def theirs(page: Page) -> list[str]:
    return lines(await page.locator("body").aria_snapshot(mode="ai"))


@pytest.mark.slow
async def test_pages_are_served_with_a_policy_that_runs_no_script_of_others(tmp_path: Path) -> None:
    state = library(tmp_path).open()
    async with browsing_app(state) as url, httpx.AsyncClient(base_url=url) as client:
        page = await client.get("/books/2")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        assert "&lt;script&gt;" in page.text and "<script>alert" not in page.text
        assert (await client.get("/list.txt")).headers["content-disposition"] == 'attachment; filename="list.txt"'
        assert (await client.get("/books/%00")).status_code == 404
        assert (await client.post("/books/1/lend", headers={"origin": "http://evil.example"})).status_code == 403
        assert (await client.get("/", headers={"host": "evil.example"})).status_code == 421
        assert (await client.put("/")).status_code == 405
        # Of files the page itself says what is wrong.
        large = await client.post("/desk/report", data={"report": "x" * 5_000_000})
        assert large.status_code == 413 and large.text == "The form is larger than 4194304 bytes"
        assert (
            await client.post("/desk/report", content=b"x", headers={"content-type": "text/plain"})
        ).status_code == 400
    assert state.changes() == {}


@pytest.mark.slow
async def test_a_file_of_a_gigabyte_is_answered_by_the_page_and_kept_nowhere(tmp_path: Path) -> None:
    async def sent() -> AsyncIterator[bytes]:
        yield b'--B\r\nContent-Disposition: form-data; name="report"; filename="<b>.txt"\r\n\r\n'
        for _ in range(1 << 10):
            yield bytes(1 << 20)
        yield b"\r\n--B--\r\n"

    state = library(tmp_path).open()
    async with browsing_app(state) as url, httpx.AsyncClient(base_url=url, timeout=120) as client:
        await client.post("/login", data={"id": "cle", "password": "two"})
        before = getrusage(RUSAGE_SELF).ru_maxrss
        headers = {"content-type": "multipart/form-data; boundary=B", "referer": f"{url}desk"}
        answered = await client.post("/desk/report", content=sent(), headers=headers, follow_redirects=True)
        assert "Report is too large: at most 1 MB." in answered.text
        assert getrusage(RUSAGE_SELF).ru_maxrss - before < 100_000
        files = {"report": ("a.txt", b"x" * 900_000)}
        filed = await client.post("/desk/report", files=files, headers={"referer": f"{url}desk"}, follow_redirects=True)
        assert "Filed." in filed.text and "x" * 900_000 in filed.text
    assert list(state.changes()) == ["reports"]


@pytest.mark.slow
async def test_a_served_page_and_the_agents_browser_have_one_state(tmp_path: Path) -> None:
    state = library(tmp_path).open()
    agent = Agent(state)
    async with browsing_app(state) as url, httpx.AsyncClient(base_url=url, follow_redirects=True) as client:
        await client.post("/login", data={"id": "ann", "password": "one"})
        await client.post("/books/1/lend", headers={"referer": f"{url}books/1"})
        agent.ask("navigate", url="https://library.example/books/1")
        assert "Copies: 1" in agent.page()
        # A visitor has a session of its own.
        assert "Ann" not in agent.page() and "Ann" in (await client.get("/")).text


@pytest.mark.full
async def test_what_is_injected_runs_nothing_in_a_real_browser(browser: Browser, tmp_path: Path) -> None:
    corpus = [
        "<img src=x onerror=alert(1)>",
        '"><script>alert(1)</script>',
        "javascript:alert(1)",
        "'-alert(1)-'",
        "{{ 7 * 7 }}",
        "<svg/onload=alert(1)>",
        "</title><script>alert(1)</script>",
        "<a href=javascript:alert(1)>x</a>",
    ]
    state = library(tmp_path).open()
    async with browsing_app(state) as url:
        page = await browser.new_page()
        ran: list[str] = []
        page.on("dialog", lambda dialog: ran.append(dialog.message))
        for text in corpus:
            state.execute("update books set title = :text where id = 1", {"text": text})
            for path in ("", "books/1"):
                await page.goto(url + path)
                assert text in (await page.locator("main").inner_text())
        assert ran == []


@pytest.mark.full
async def test_components_play_alike_in_the_process_and_in_a_real_browser(browser: Browser, tmp_path: Path) -> None:
    world = library(tmp_path, knobs={"signed_in": "cle", "start": "/books/1"})
    state = world.open()
    own = state.browser
    async with browsing_app(state) as url:
        page = await browser.new_page()
        await page.goto(url)
        acting = Acting(own, {STYLE: world.style})
        for name in ("Rename", "B", "Cancel", "A"):
            await page.get_by_text(name, exact=True).click()
            seen = acting.seen()
            node = next(one for one in seen.nodes if one.name == name and one.role in ("button", "tab"))
            acting.click(seen, seen.elements[node.element.position])
            assert ours(state, own) == await theirs(page), name


@pytest.mark.full
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
async def test_every_screen_of_every_app_reads_as_in_a_real_browser(
    browser: Browser, app: ShippedApp, capsys: pytest.CaptureFixture[str]
) -> None:
    world = app.built()
    snapshots = axtrees = Agreement(0, 0)
    for user in (None, *app.visitors):
        state = world.open()
        own = state.browser
        context = await browser.new_context()
        async with browsing_app(state) as url:
            base = "/".join(url.split("/")[:3])
            token = signed_in(state, user)
            await context.add_cookies([{"name": "simtrain-session", "value": token, "url": base}])
            page = await context.new_page()
            for address in reached(app, world, state):
                own.goto(own.origin + address)
                await page.goto(base + address)
                snapshots += agreement(await theirs(page), ours(state, own))
                tree = SeenPage(own.page, {STYLE: world.style}).tree
                axtree = write_axtree(chromium_tree(tree, url=page.url))
                axtrees += agreement(await axtree_lines(page), axtree.split("\n"))
        await context.close()
    with capsys.disabled():
        print(f"\n{app.name}: lines equal to Playwright's {snapshots}, nodes equal to Chromium's {axtrees}")
    assert snapshots.share >= 0.99
    assert axtrees.share >= 0.97


@pytest.mark.full
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_every_screen_is_reached_by_links(app: ShippedApp) -> None:
    assert unreached(app) == []


async def settled(page: Page, base: str, state: AppState) -> tuple[str, list[str]]:
    """Wait until a page and its address are those of the agent's browser, and return both, alike or not."""
    own, found = state.browser, ("", list[str]())
    expected = own.page.url.removeprefix(own.origin), ours(state, own)
    for _ in range(400):
        try:
            found = address(page, base), await theirs(page)
            if found == expected:
                # What the page does by script comes with its last file.
                await page.wait_for_load_state()
                break
        except Error:
            # The page is just being replaced by the next.
            pass
        await page.wait_for_timeout(30)
    return found


def address(page: Page, base: str) -> str:
    return page.url.removeprefix(base)


LONG = "plain words that are long enough"
DAYS = ["2032-04-02", "2031-01-31", ""]


def typed_into(field: LexborNode, words: tuple[str, ...]) -> list[str]:
    """What may be typed into a field; Playwright refuses what is no number or no day."""
    kind = field.attributes.get("type")
    return ["1", "2", "7"] if kind == "number" else DAYS if kind == "date" else [*words, LONG, ""]


async def played(browser: Browser, world: AppWorld, seed: int, steps: int, words: tuple[str, ...]) -> None:
    """Play random actions in both browsers, each over its own state, and compare rows and last page."""
    stream = Stream(derive(seed, "sequence"))
    mirror, served = world.open(), world.open()
    own = mirror.browser
    context = await browser.new_context()
    async with browsing_app(served) as url:
        base = "/".join(url.split("/")[:3])
        page = await context.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        await page.goto(url)
        acting = Acting(own, {STYLE: world.style})
        done: list[str] = []
        for _ in range(steps):
            seen = acting.seen()
            seen.snapshot()
            choices = [
                node
                for node in seen.nodes
                if node.role in _ACTS and node.reachable and "[disabled]" not in node.states and node.name
            ]
            alike = [
                node for node in choices if sum(one.role == node.role and one.name == node.name for one in choices) == 1
            ]
            node = stream.choose(alike)
            done.append(f"{node.role} {node.name}")
            element = seen.elements[node.element.position]
            target = page.get_by_role(node.role, name=node.name, exact=True)
            if node.role in ("textbox", "searchbox", "spinbutton"):
                text = stream.choose(typed_into(element, words))
                acting.fill(seen, element, text)
                await target.fill(text)
            elif node.role == "combobox" and element.tag == "select":
                labels = [" ".join(option.text(deep=True).split()) for option in element.css("option")]
                label = stream.choose(labels)
                acting.select(seen, element, [label])
                await target.select_option(label=label)
            elif node.role != "combobox":
                acting.click(seen, element)
                if own.dialog is not None:
                    own.answer(True)
                await target.click()
            where, shown = await settled(page, base, mirror)
            assert where == own.page.url.removeprefix(own.origin), done
            assert shown == ours(mirror, own), done
    # What a real browser downloads lies on its own disk, not in the world's file store.
    rows = {table: changes for table, changes in mirror.changes().items() if table != "files"}
    assert rows == served.changes(), done
    await context.close()


def dealt(sequences: int) -> list[Any]:
    """Return so many sequences, dealt over the apps: the app, and a seed that counts from 0 for each."""
    found = [(APPS[number % len(APPS)], number // len(APPS)) for number in range(sequences)]
    return [pytest.param(app, seed, id=f"{app.name}-{seed}") for app, seed in found]


_ACTS = frozenset(
    {"link", "button", "checkbox", "radio", "textbox", "searchbox", "spinbutton", "combobox", "tab", "menuitem"}
)


@pytest.mark.full
@pytest.mark.parametrize(("app", "seed"), dealt(300 if os.environ.get("SIMTRAIN_FULL") else 6))
async def test_random_actions_end_in_the_same_rows_and_the_same_page(
    browser: Browser, app: ShippedApp, seed: int
) -> None:
    user, start = app.players[seed % len(app.players)]
    await played(browser, app.built(signed_in=user, start=start), seed, 30, app.words)


MARK = """tags => {
  window.marked ??= 0;
  for (const one of document.querySelectorAll("*"))
    if (tags.includes(one.localName) && !one.dataset.bid) one.dataset.bid = window.marked++;
}"""
"""Marks elements as browsergym-core does: numbers in document order, which stay; new elements get the next ones."""


@pytest.mark.full
@pytest.mark.parametrize(("app", "seed"), dealt(60 if os.environ.get("SIMTRAIN_FULL") else 6))
async def test_random_actions_by_bid_end_in_the_same_rows_and_the_same_page(
    browser: Browser, app: ShippedApp, seed: int
) -> None:
    user, start = app.players[seed % len(app.players)]
    world = app.built(signed_in=user, start=start, actions="browsergym")
    tools = {tool.name: tool for tool in world.tools}
    stream, mirror, served = Stream(derive(seed, "bids")), world.open(), world.open()
    done: list[tuple[str, dict[str, str]]] = []

    def act(action: str, **arguments: str) -> str:
        done.append((action, arguments))
        reply = mirror.answer(Request(tools[action], arguments, 0, 0))
        assert not reply.is_error, done
        return reply.text

    text = act("noop")
    async with browsing_app(served) as url:
        base = "/".join(url.split("/")[:3])
        page = await browser.new_page()
        # Nobody listens to dialogs: Playwright dismisses them.
        await page.goto(url)
        for _ in range(25):
            await page.evaluate(MARK, sorted(MARKED))
            bid, role = stream.choose(
                re.findall(r"\[(\d+)\] (link|button|checkbox|radio|textbox|combobox|searchbox) '[^']", text)
            )
            target = page.locator(f'[data-bid="{bid}"]')
            tag = await target.evaluate("one => one.localName")
            if role in ("textbox", "searchbox") or (role == "combobox" and tag == "input"):
                typed = stream.choose(DAYS if await target.get_attribute("type") == "date" else [*app.words, LONG, ""])
                text = act("fill", bid=bid, value=typed)
                await target.fill(typed)
            elif role == "combobox":
                labels = await target.locator("option").all_inner_texts()
                label = stream.choose([" ".join(one.split()) for one in labels])
                text = act("select_option", bid=bid, options=label)
                await target.select_option(label=label)
            elif await target.is_enabled():
                text = act("click", bid=bid)
                await target.click()
            where, shown = await settled(page, base, mirror)
            assert where == mirror.browser.page.url.removeprefix(mirror.browser.origin), done
            assert shown == ours(mirror, mirror.browser), done
        await page.close()
    rows = {table: changes for table, changes in mirror.changes().items() if table != "files"}
    assert rows == served.changes(), done


def test_the_script_and_the_engine_know_the_same_components() -> None:
    from simtrain.mcp.serve.app_pages import component_script

    names = {
        "tabs",
        "opens",
        "dialog",
        "close",
        "edit",
        "cancel",
        "suggest",
        "counter",
        "check-all",
        "dismiss",
        "confirm",
        "submit",
    }
    script = component_script()
    for name in names:
        camel = re.sub(r"-(\w)", lambda found: found[1].upper(), name)
        assert f"data-{name}" in script or f"dataset.{camel}" in script, name
    assert "data-suggest" in TEMPLATES["home.html"]

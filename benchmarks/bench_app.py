"""Cost of app worlds: a step with LangGraph in the loop, opening an episode, memory of many, Chromium beside it in the same run."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from unittest.mock import patch

from depot import freeze
from playwright.async_api import async_playwright
from report import Figure, apart, arguments, cpu_of_children, cpu_of_making, resident, show

from simtrain import load_scenario, rollout
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.request import Request
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world, paradigm_of
from simtrain.values.types import Action, Message
from simtrain.view.app_site import browsing_app
from simtrain.worlds.app.accessibility.tree import read_tree
from simtrain.worlds.app.actions.fresh_pages import forget_pages
from simtrain.worlds.app.world import AppState, AppWorld

OPEN, MADE, TURNS, EPISODES = 1000, 200, 10, 3
ROWS = 21
"""Orders in a list of the shop, in place of 15: its page then has some 300 nodes."""
MIB = 1024 * 1024
LIST = "https://fernhollow.example/admin/orders?page=2"
NEXT, PREVIOUS = "Next", "Previous"


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    with TemporaryDirectory() as folder:
        scenario = write_shop(Path(folder))
        measure(scenario, options.rounds, as_json=options.json)


def measure(scenario: Path, rounds: int, *, as_json: bool) -> None:
    """Measure and print; `scenario` is the file of a family over the shop."""
    world = shop(scenario)
    freeze()
    played = asyncio.run(beside_chromium(world, rounds))
    figures = [
        nodes(world),
        step(scenario, rounds),
        step(scenario, rounds, anew=True),
        Figure("opening an episode", 1000 * cpu_of_making(world.open, count=MADE, rounds=rounds), "ms", 1.0),
        Figure(
            "  and its first page, which all episodes share",
            1000 * cpu_of_making(lambda: begun(world), count=MADE, rounds=rounds),
            "ms",
            1.0,
        ),
        Figure(
            "  and its first page, the first time",
            1000 * cpu_of_making(lambda: begun(world, anew=True), count=MADE // 4, rounds=rounds),
            "ms",
        ),
        Figure(
            "  opening one and making three calls, of which the last packs an order",
            1000 * cpu_of_making(lambda: touched(world), count=MADE // 4, rounds=rounds),
            "ms",
        ),
        apart(partial(memory, scenario)),
        *played,
    ]
    show("apps: steps, episodes and memory", figures, as_json=as_json)


def write_shop(folder: Path) -> Path:
    """Copy the shop and a family over it, with longer lists; returns the family's file."""
    worlds = find("worlds", "shop_site").parent
    shutil.copytree(worlds / "shop_site", folder / "worlds" / "shop_site")
    shutil.copy(worlds / "shop.yaml", folder / "worlds")
    written(worlds / "shop_site.yaml", folder / "worlds", "pages: {orders: 15}", f"pages: {{orders: {ROWS}}}")
    return written(find("scenarios", "shop_site/pack_orders"), folder, "use: shop_site", "use: worlds/shop_site.yaml")


def written(file: Path, folder: Path, before: str, after: str) -> Path:
    """Copy a file with one text of it replaced."""
    text = file.read_text()
    assert text.count(before) == 1, f"{file.name} no longer says {before}"
    copy = folder / file.name
    copy.write_text(text.replace(before, after))
    return copy


def shop(scenario: Path) -> AppWorld:
    """The shop, with a clerk signed in at its list of orders."""
    source = load_world(scenario.parent / "worlds" / "shop_site.yaml")
    world = source.configured(source.document, {"signed_in": "S02", "start": "/admin/orders"}, ()).build()
    assert isinstance(world, AppWorld)
    return world


def begun(world: AppWorld, *, anew: bool = False) -> AppState:
    """Open an episode at its first page, and read it; `anew` as if nobody had seen it before."""
    if anew:
        world.kept_pages.forget()
        forget_pages()
    state = world.open()
    act(state, "browser_snapshot")
    return state


def touched(world: AppWorld) -> AppState:
    """Open an episode whose page has been read and whose rows have been written."""
    state = world.open()
    act(state, "browser_navigate", url="https://fernhollow.example/admin/orders?status=paid")
    act(state, "browser_click", target="getByRole('checkbox', { name: 'Select' }).first()")
    act(state, "browser_click", target="getByRole('button', { name: 'Mark as packed' })")
    assert state.changes()
    return state


def act(state: AppState, tool: str, **arguments: str) -> None:
    """Make one call, which must succeed."""
    found = next(one for one in state.world.tools if one.name == tool)
    reply = state.answer(Request(found, arguments, 0, 0))
    assert not reply.is_error, reply.text


def memory(scenario: Path) -> Figure:
    """Resident memory of many open episodes, each with a page and rows of its own."""
    world = shop(scenario)
    touched(world).close()
    before = resident()
    states = [touched(world) for _ in range(OPEN)]
    grown = (resident() - before) / MIB
    for state in states:
        state.close()
    return Figure(f"{OPEN:,} open episodes of the shop, each with a page and a write", grown, "MiB", 1536.0)


class Turner(Policy):
    """Turns the pages of a list and reads each, without thinking. `anew` has each page rendered and read as if it were new."""

    anew: bool = False

    def player(self, briefing: Briefing) -> Player:
        """One that has its messages ready."""
        return _Turning(anew=self.anew)


class _Turning:
    def __init__(self, *, anew: bool) -> None:
        self._anew = anew
        calls = [("browser_navigate", {"url": LIST})]
        for turn in range(TURNS):
            calls += [("browser_click", {"target": link(turn)}), ("browser_snapshot", {})]
        self._calls = iter(enumerate(calls))

    async def think(self, journal: Journal) -> Message:
        if self._anew:
            forget_pages()
        number, call = next(self._calls, (0, None))
        if call is None:
            return Message("ANSWER: done", answer="done")
        return Message(calls=(Action(f"call_{number}", call[0], call[1]),))


def link(turn: int) -> str:
    """The link that a turn clicks."""
    return f"getByRole('link', {{ name: '{PREVIOUS if turn % 2 else NEXT}', exact: true }})"


def step(file: Path, rounds: int, *, anew: bool = False) -> Figure:
    """CPU of a step with LangGraph in the loop: half of them clicks that lead to another page, half snapshots of it.

    `anew` has every page rendered and read as in an episode that has rows of its own, at pages that nobody has seen.
    """
    scenario = load_scenario(file)
    episodes = list(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1))[:EPISODES]

    async def played() -> int:
        return sum([len((await rollout(episode, agent=Turner(anew=anew))).steps) for episode in episodes])

    best = float("inf")
    for _ in range(rounds):
        before = _cpu()
        with patch.object(AppState, "kept_pages", None) if anew else nullcontext():
            steps = asyncio.run(played())
        best = min(best, (_cpu() - before) / steps)
    which = "pages that nobody has seen before" if anew else "pages that some episode has seen before"
    return Figure(f"step with LangGraph, a click or a snapshot: {which}", 1000 * best, "ms", 5.0)


def nodes(world: AppWorld) -> Figure:
    """The size of the pages that are turned."""
    state = world.open()
    act(state, "browser_navigate", url=LIST)
    return Figure("nodes of the page", len(read_tree(state.browser.page.html).build()[1]), "")


async def beside_chromium(world: AppWorld, rounds: int) -> list[Figure]:
    """Steps for each second of CPU: the same clicks and snapshots in the process, and in Chromium over the served shop."""
    ours = theirs = float("inf")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    async with async_playwright() as playwright, browsing_app(world.open()) as url:
        browser = await playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        tab = await browser.new_page(viewport={"width": 1280, "height": 720})
        await tab.goto(f"{url}?page=2")
        for _ in range(rounds):
            before = cpu_of_children()
            for turn in range(TURNS):
                await tab.get_by_role("link", name=PREVIOUS if turn % 2 else NEXT, exact=True).click()
                await tab.wait_for_load_state()
                await tab.locator("body").aria_snapshot(mode="ai")
            # What this process spends on serving and on the client is not counted.
            theirs = min(theirs, (cpu_of_children() - before) / (2 * TURNS))
        await browser.close()
    state = world.open()
    act(state, "browser_navigate", url=LIST)
    for _ in range(rounds):
        before = _cpu()
        for turn in range(TURNS):
            act(state, "browser_click", target=link(turn))
            act(state, "browser_snapshot")
        ours = min(ours, (_cpu() - before) / (2 * TURNS))
    return [
        Figure("steps a second for each core, in the process", 1 / ours, "/s"),
        Figure("  in Chromium through Playwright", 1 / theirs, "/s"),
        Figure("steps for each that Chromium makes, by CPU", theirs / ours, "x", 25, more=True),
    ]


def _cpu() -> float:
    """CPU seconds of this process with all its threads."""
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

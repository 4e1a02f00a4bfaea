"""Reading a page of 300 nodes: from HTML to what an agent reads, in both forms, beside Chromium through Playwright in the same run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time

from playwright.sync_api import Page, sync_playwright
from report import Figure, arguments, cpu, cpu_of_children, show

from simtrain.worlds.app.accessibility.browsergym_form import write_axtree
from simtrain.worlds.app.accessibility.chromium_tree import chromium_tree
from simtrain.worlds.app.accessibility.playwright_form import write_snapshot
from simtrain.worlds.app.accessibility.tree import read_tree

FORMS = 30
STYLE = """body { font: 14px sans-serif; color: #222 } .hidden { display: none } nav ul { list-style: none } .row { display: flex }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden } .btn { cursor: pointer; padding: 4px 8px }"""
CARD = """<li class="card"><h3><a href="/item/{0}">Item {0}</a></h3><p>Price <strong>EUR {0}.50</strong></p>
<form action="/cart" method="post" class="row"><label for="q{0}">Quantity</label> <input id="q{0}" name="q" type="number" value="1">
<button class="btn">Add to cart</button></form></li>"""
READS = 20


def page() -> str:
    """A catalogue with 30 forms, 9 KB of HTML."""
    cards = "".join(CARD.format(number) for number in range(FORMS))
    return f"""<!doctype html><html lang="en"><head><title>Shop</title><style>{STYLE}</style></head><body><header>
<nav aria-label="Main"><ul><li><a href="/">Home</a></li><li><a href="/cart">Cart</a></li></ul></nav></header>
<main><h1>Catalogue</h1><ul>{cards}</ul></main><footer><p>End</p></footer></body></html>"""


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    html = page()
    nodes = len(read_tree(html).build()[1])
    ours = cpu(partial(_repeat, lambda: write_snapshot(read_tree(html))), rounds=options.rounds) / READS
    gym = cpu(partial(_repeat, lambda: _axtree(html)), rounds=options.rounds) / READS
    chromium, driver, wall = _chromium(html, options.rounds)
    figures = [
        Figure("nodes of the page", nodes, ""),
        Figure("a page in the form of Playwright", 1000 * ours, "ms", 2.0),
        Figure("a page in the form of BrowserGym", 1000 * gym, "ms"),
        Figure("Chromium: the same page and its snapshot, CPU of all its processes", 1000 * chromium, "ms"),
        Figure("  the client in Python with it", 1000 * driver, "ms"),
        Figure("  by the clock", 1000 * wall, "ms"),
        Figure("pages read for each that Chromium reads, by CPU", (chromium + driver) / ours, "x", 25, more=True),
    ]
    show("accessibility", figures, as_json=options.json)


def _repeat(read: Callable[[], object]) -> None:
    for _ in range(READS):
        read()


def _axtree(html: str) -> str:
    tree = read_tree(html)
    return write_axtree(chromium_tree(tree, url="https://shop.example/"))


def _chromium(html: str, rounds: int) -> tuple[float, float, float]:
    """The least CPU seconds of Chromium's processes, of this one, and the least seconds by the clock, of one page."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        _load(tab, html)
        best = [_timed(tab, html) for _ in range(rounds)]
        browser.close()
    return min(each[0] for each in best), min(each[1] for each in best), min(each[2] for each in best)


def _timed(tab: Page, html: str) -> tuple[float, float, float]:
    theirs, own, begun = cpu_of_children(), process_time(), perf_counter()
    for _ in range(READS):
        _load(tab, html)
    spent = (cpu_of_children() - theirs, process_time() - own, perf_counter() - begun)
    return spent[0] / READS, spent[1] / READS, spent[2] / READS


def _load(tab: Page, html: str) -> None:
    tab.set_content(html)
    tab.aria_snapshot(mode="ai")


if __name__ == "__main__":
    main()

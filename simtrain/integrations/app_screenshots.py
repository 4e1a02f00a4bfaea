"""Pictures of an app's page, each element to act on in a box with its ref or bid. Chromium draws them, through Playwright."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from simtrain.contracts.request import Request
from simtrain.worlds.app.actions.browsergym import BID
from simtrain.worlds.app.actions.seen import REF
from simtrain.worlds.app.web.site import STYLE
from simtrain.worlds.app.world import AppState

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

_LOOKS = ("browser_snapshot", "noop")
_POLICY: Final = "default-src 'none'; style-src 'self'"
_TARGETS: Final = (
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex], [role=button], [role=checkbox], "
    "[role=combobox], [role=link], [role=menuitem], [role=option], [role=radio], [role=switch], [role=tab]"
)
_FIND: Final = """([targets, ref, bid]) => {
  const found = [];
  for (const element of document.querySelectorAll(targets)) {
    const name = (element.getAttribute(ref) ?? '').split(' ')[0] || element.getAttribute(bid);
    const box = element.getBoundingClientRect();
    const shown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    if (name && shown && box.width > 0 && box.height > 0)
      found.push([name, box.x + scrollX, box.y + scrollY, box.width, box.height]);
  }
  return found;
}"""
_DRAW: Final = """marks => {
  const colours = ['#b3261e', '#1a56db', '#047857', '#7e22ce', '#b45309', '#0e7490'];
  marks.forEach(([name, x, y, width, height], index) => {
    const colour = colours[index % colours.length];
    const box = document.createElement('div'), label = document.createElement('div');
    Object.assign(box.style, { position: 'absolute', left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px`,
      outline: `2px solid ${colour}`, zIndex: 2147483646, pointerEvents: 'none' });
    Object.assign(label.style, { position: 'absolute', left: `${x}px`, top: `${Math.max(y - 15, 0)}px`, background: colour,
      color: 'white', font: '11px/14px monospace', padding: '0 3px', zIndex: 2147483647, pointerEvents: 'none' });
    label.textContent = name;
    document.documentElement.append(box, label);
  });
}"""


@dataclass(frozen=True, slots=True)
class Mark:
    """An element's ref or bid, and its box on the picture: the upper left corner, width and height in CSS pixels."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A picture of the whole page as PNG, and the marks on it in document order."""

    png: bytes
    marks: tuple[Mark, ...]


async def screenshot(state: AppState, tab: Page, *, marked: bool = True) -> Screenshot:
    """Draw the page in front of the agent's browser in a tab of Chromium; `marked` draws the boxes as well.

    Nothing is asked of the site, and neither page nor rows change. The refs are those of a snapshot taken now.
    """
    look = next(tool for tool in state.world.tools if tool.name in _LOOKS)
    state.answer(Request(look, {}, 0, 0))
    page, origin = state.browser.page, state.browser.origin
    html, style = page.html, state.world.style

    async def answer(route: Route) -> None:
        if route.request.is_navigation_request():
            await route.fulfill(body=html, content_type="text/html", headers={"content-security-policy": _POLICY})
        elif urlsplit(route.request.url).path == STYLE:
            await route.fulfill(body=style, content_type="text/css")
        else:
            await route.abort()

    await tab.route("**/*", answer)
    try:
        await tab.goto(page.url if page.url.startswith(origin) else f"{origin}/")
        found: list[tuple[str, float, float, float, float]] = []
        if marked:
            found = await tab.evaluate(_FIND, [_TARGETS, REF, BID])
        await tab.evaluate(_DRAW, found)
        png = await tab.screenshot(full_page=True)
    finally:
        await tab.unroute("**/*", answer)
    return Screenshot(png, tuple(Mark(*mark) for mark in found))

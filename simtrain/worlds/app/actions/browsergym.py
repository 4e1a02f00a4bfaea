"""The actions of BrowserGym (browsergym-core 0.14.3), one tool each, and the page as it writes it after every one."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from selectolax.lexbor import LexborNode

from simtrain.contracts.request import Request
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec
from simtrain.worlds.app.accessibility.browsergym_actions import ACTIONS, GymAction, bid_not_found
from simtrain.worlds.app.accessibility.browsergym_form import write_axtree
from simtrain.worlds.app.accessibility.chromium_tree import MARKED, chromium_tree
from simtrain.worlds.app.actions.acting import Acting, NotDone, opens_aside
from simtrain.worlds.app.actions.action_space import ActionSpace
from simtrain.worlds.app.actions.playwright_replies import hidden_reason, timed_out
from simtrain.worlds.app.actions.seen import SeenPage
from simtrain.worlds.app.browser.browser import AppBrowser
from simtrain.worlds.app.browser.nodes import attribute, put

BID = "simtrain-bid"
"""The attribute of an element with its bid, which stays with it while the page is open."""

PATIENCE = 500
"""Milliseconds for which BrowserGym waits until an element can be acted on."""

_LOOKS = frozenset({"noop", "scroll", "hover", "send_msg_to_user", "report_infeasible"})


class GymError(Exception):
    """An action that failed, with the text that BrowserGym shows as the error of the last action."""


def _spec(action: GymAction) -> ToolSpec:
    return ToolSpec(action.name, action.description, action.schema(), None, action.name not in _LOOKS)


class BrowserGymActions(ActionSpace):
    """What an action does in the browser; the reply is the open tabs, the tree of the page in front, and the error, if any."""

    tools: ClassVar[tuple[ToolSpec, ...]] = tuple(_spec(action) for action in ACTIONS.values())

    def answer(self, browser: AppBrowser, request: Request, *, now: str) -> Observation:
        played = _Played(browser, self.stylesheets, request.arguments)
        error = ""
        try:
            _ACTIONS[request.tool.name](played)
        except GymError as failed:
            error = str(failed)
        if browser.dialog is not None:
            # BrowserGym listens to no dialog, and Playwright then dismisses it.
            browser.answer(accept=False)
        if browser.choosing:
            browser.choose([])
        _, rules = browser.asked()
        text = "\n\n".join(
            ["# Open tabs", _tabs(browser), "# Page", _page(played.acting.seen())]
            + (["# Error of the last action", error] if error else [])
        )
        return Observation(
            text, is_error=bool(error), provenance=Provenance("embedded", rule=rules[-1] if rules else None)
        )


def _tabs(browser: AppBrowser) -> str:
    return "\n".join(
        f"Tab {number}{' (active)' if number == browser.current else ''}: {tab.page.title or 'Untitled'}, {tab.page.url}"
        for number, tab in enumerate(browser.tabs)
    )


def _page(seen: SeenPage) -> str:
    return write_axtree(chromium_tree(seen.tree, url=seen.page.url, bids=_bids(seen)))


def _bids(seen: SeenPage) -> dict[int, str]:
    """Return the bid of each element that BrowserGym marks, by position; elements that are new get the next ones."""
    page = seen.page
    found: dict[int, str] = {}
    for position, node in enumerate(seen.elements):
        if node.tag not in MARKED:
            continue
        bid = attribute(node, BID)
        if bid is None:
            bid = str(page.refs)
            page.refs += 1
            put(node, BID, bid)
            page.marked()
        found[position] = bid
    return found


class _Played:
    """One action on its way."""

    def __init__(self, browser: AppBrowser, stylesheets: Mapping[str, str], arguments: JsonObject) -> None:
        self.browser = browser
        self.acting = Acting(browser, stylesheets)
        self.arguments = arguments

    def element(self, seen: SeenPage, name: str = "bid") -> LexborNode:
        """Return the element that a bid names. Raises GymError."""
        bid: JsonValue = self.arguments[name]
        # Bids are given when a page is read, and a first action comes before anything was.
        _bids(seen)
        found = seen.marked_with(BID, bid) if isinstance(bid, str) else None
        if found is None:
            raise GymError(bid_not_found(bid))
        return found

    def act(self, method: str, work: Callable[[SeenPage, LexborNode], None], name: str = "bid") -> None:
        """Carry out an action on an element. Raises GymError, worded as Playwright does after it has waited."""
        seen = self.acting.seen()
        node = self.element(seen, name)
        try:
            work(seen, node)
        except NotDone as refused:
            shown = f'get_by_test_id("{self.arguments[name]}")'
            raise GymError(
                timed_out(method, shown, node, str(refused), caller=f"Locator.{method}", wait=PATIENCE).rstrip()
            ) from None

    # The actions

    def rest(self) -> None:
        """Do nothing: pages do not change by themselves, there is no part of a page out of sight, and messages go elsewhere."""

    def fill(self) -> None:
        self.act("fill", lambda seen, node: self.acting.fill(seen, node, str(self.arguments["value"])))

    def clear(self) -> None:
        self.act("clear", lambda seen, node: self.acting.fill(seen, node, ""))

    def select_option(self) -> None:
        wanted: str | list[str] = self.arguments["options"]
        values = [wanted] if isinstance(wanted, str) else wanted
        self.act("select_option", lambda seen, node: self.acting.select(seen, node, values))

    def click(self) -> None:
        held: list[str] = self.arguments.get("modifiers") or []
        button = self.arguments.get("button")
        if button == "right":
            # It opens the browser's own menu, which is no part of the page.
            self.hover()
            return
        self.act("click", lambda seen, node: self.acting.click(seen, node, new_tab=opens_aside(button, held)))

    def hover(self) -> None:
        self.act("hover", _must_be_shown)

    def drag_and_drop(self) -> None:
        # No app has anything to drag; elements that cannot be seen are refused as with any other.
        self.act("hover", _must_be_shown, "from_bid")
        self.act("hover", _must_be_shown, "to_bid")

    def focus(self) -> None:
        self.act("focus", lambda _, node: self.browser.page.focus(node))

    def press(self) -> None:
        self.focus()
        self.acting.press(str(self.arguments["key_comb"]))

    def keyboard_press(self) -> None:
        self.acting.press(str(self.arguments["key"]))

    def upload_file(self) -> None:
        given: str | list[str] = self.arguments["file"]
        paths = [given] if isinstance(given, str) else given
        self.act("click", self.acting.click)
        if not self.browser.choosing:
            raise GymError(f'TimeoutError: Timeout {PATIENCE}ms exceeded while waiting for event "filechooser"')
        try:
            self.browser.choose(paths)
        except KeyError as missing:
            raise GymError(f"FileNotFoundError: [Errno 2] No such file or directory: {missing.args[0]!r}") from None

    def goto(self) -> None:
        url = str(self.arguments["url"])
        if not url.startswith(("https://", "http://", "about:")):
            raise GymError(f"Error: Page.goto: Cannot navigate to invalid URL\nCall log:\n  - navigating to {url!r}")
        self.browser.goto(url)
        failed = self.browser.unreachable()
        if failed:
            raise GymError(f"Error: Page.goto: {failed[-1]}\nCall log:\n  - navigating to {url!r}")

    def go_back(self) -> None:
        self.browser.go(-1)

    def go_forward(self) -> None:
        self.browser.go(1)

    def new_tab(self) -> None:
        self.browser.open_tab()

    def tab_close(self) -> None:
        self.browser.close_tab(self.browser.current)

    def tab_focus(self) -> None:
        index = int(self.arguments["index"])
        if not -len(self.browser.tabs) <= index < len(self.browser.tabs):
            raise GymError("IndexError: list index out of range")
        self.browser.current = index % len(self.browser.tabs)


def _must_be_shown(seen: SeenPage, node: LexborNode) -> None:
    reason = hidden_reason(seen, node)
    if reason:
        raise NotDone(reason)


_ACTIONS: dict[str, Callable[[_Played], None]] = {
    "noop": _Played.rest,
    "send_msg_to_user": _Played.rest,
    "report_infeasible": _Played.rest,
    "scroll": _Played.rest,
    "fill": _Played.fill,
    "select_option": _Played.select_option,
    "click": _Played.click,
    # A second click on what a first one has done changes nothing in an app.
    "dblclick": _Played.click,
    "hover": _Played.hover,
    "press": _Played.press,
    "focus": _Played.focus,
    "clear": _Played.clear,
    "drag_and_drop": _Played.drag_and_drop,
    "upload_file": _Played.upload_file,
    "keyboard_press": _Played.keyboard_press,
    "go_back": _Played.go_back,
    "go_forward": _Played.go_forward,
    "goto": _Played.goto,
    "tab_close": _Played.tab_close,
    "tab_focus": _Played.tab_focus,
    "new_tab": _Played.new_tab,
}

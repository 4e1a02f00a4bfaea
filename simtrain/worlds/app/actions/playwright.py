"""The tools of @playwright/mcp, with the schemas and reply texts of its server (playwright-core 1.65.1, captured)."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

import orjson
from selectolax.lexbor import LexborNode

from simtrain.contracts.request import Request
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec
from simtrain.worlds.app.actions.acting import Acting, NotDone, opens_aside
from simtrain.worlds.app.actions.action_space import ActionSpace
from simtrain.worlds.app.actions.locators import REF, BadTarget, locate
from simtrain.worlds.app.actions.playwright_replies import (
    PlaywrightError,
    ServerReply,
    described,
    hidden_reason,
    locator_of,
    quoted,
    strict_violation,
    timed_out,
)
from simtrain.worlds.app.actions.seen import SeenPage
from simtrain.worlds.app.browser.browser import AppBrowser

UNSUPPORTED = "{tool} is not supported by this simulated server."
MOST_WAIT = 30
_WITHOUT_PAGE = frozenset({"browser_tabs", "browser_close", "browser_wait_for", "browser_console_messages"})


@cache
def captured_tools() -> tuple[JsonObject, ...]:
    """Return the descriptors of the real server's tools."""
    text = (Path(__file__).parent / "playwright_tools.json").read_bytes()
    return tuple(orjson.loads(text))


def _spec(tool: JsonObject) -> ToolSpec:
    reads = tool["annotations"]["readOnlyHint"] is True
    return ToolSpec(str(tool["name"]), str(tool["description"]), tool["inputSchema"], None, not reads)


class PlaywrightTools(ActionSpace):
    """What a call of a tool does in the browser, and what the server replies."""

    tools: ClassVar[tuple[ToolSpec, ...]] = tuple(_spec(tool) for tool in captured_tools())
    descriptors: ClassVar[Mapping[str, JsonObject]] = {
        str(tool["name"]): {"annotations": tool["annotations"]} for tool in captured_tools()
    }

    def answer(self, browser: AppBrowser, request: Request, *, now: str) -> Observation:
        played = _Played(browser, self.stylesheets, request.arguments, now)
        name = request.tool.name
        play = _TOOLS.get(name)
        if play is None:
            return Observation(UNSUPPORTED.format(tool=name), is_error=True, provenance=Provenance("embedded"))
        try:
            played.allow(name)
            play(played)
        except PlaywrightError as error:
            played.reply.error = str(error)
        _, rules = played.finish()
        return Observation(
            played.reply.text(),
            is_error=played.reply.error is not None,
            provenance=Provenance("embedded", rule=rules[-1] if rules else None),
        )


class _Played:
    """One call on its way."""

    def __init__(self, browser: AppBrowser, stylesheets: Mapping[str, str], arguments: JsonObject, now: str) -> None:
        self.browser = browser
        self.acting = Acting(browser, stylesheets)
        self.arguments = arguments
        self.reply = ServerReply(now)
        self.before = [(tab.page.url, tab.page.title) for tab in browser.tabs]

    def allow(self, name: str) -> None:
        """Raise PlaywrightError for a tool that a dialog or file chooser keeps from being used, or that needs one."""
        handled = {
            "browser_handle_dialog": self.browser.dialog is not None,
            "browser_file_upload": self.browser.choosing,
        }
        if name in handled:
            if not handled[name]:
                raise PlaywrightError(
                    f'Error: The tool "{name}" can only be used when there is related modal state present.'
                )
        elif (self.browser.dialog is not None or self.browser.choosing) and name not in _WITHOUT_PAGE:
            raise PlaywrightError(f'Error: Tool "{name}" does not handle the modal state.')

    def finish(self) -> tuple[list[str], list[str]]:
        """Add to the reply what follows from the state of the browser."""
        browser, reply = self.browser, self.reply
        now = [(tab.page.url, tab.page.title) for tab in browser.tabs]
        if reply.error is None and (reply.includes_page or now != self.before):
            reply.tabs = self.listed_tabs() if len(browser.tabs) != 1 else []
            reply.page = described(browser.page, quiet=browser.dialog is not None or browser.choosing)
        if browser.dialog is not None:
            reply.modal.append(
                f'["confirm" dialog with message {quoted(browser.dialog.message)}]: can be handled by browser_handle_dialog'
            )
        if browser.choosing:
            reply.modal.append("[File chooser]: can be handled by browser_file_upload")
        happened, rules = browser.asked()
        for one in happened:
            if one.kind == "download":
                name = one.text.rpartition("/")[2]
                reply.events += [f"- Downloading file {name} ...", f'- Downloaded file {name} to "{one.text}"']
        return reply.events, rules

    def listed_tabs(self) -> list[str]:
        """Return a line for each tab."""
        return [
            f"- {index}:{' (current)' if index == self.browser.current else ''} [{tab.page.title}]({tab.page.url})"
            for index, tab in enumerate(self.browser.tabs)
        ]

    def target(self, seen: SeenPage, given: JsonObject | None = None) -> tuple[LexborNode, str]:
        """Return the element that a call names, and its locator. Raises PlaywrightError."""
        target = str((given or self.arguments)["target"])
        if REF.fullmatch(target):
            node = seen.by_ref(target)
            if node is None:
                raise PlaywrightError(
                    f"Error: Ref {target} not found in the current page snapshot. Try capturing new snapshot."
                )
            return node, locator_of(seen, node)
        try:
            found = locate(seen, target)
        except BadTarget:
            raise PlaywrightError(
                f'Error: "{target}" is not a valid target. Use a ref from the page snapshot (e.g. "e5"), a CSS selector, or a locator'
                " (e.g. \"getByRole('button', { name: 'Submit' })\")."
            ) from None
        if not found:
            raise PlaywrightError(f'Error: "{target}" does not match any elements.')
        shown = target if target.startswith("getBy") else f"locator({quoted(target, single=True)})"
        if len(found) > 1:
            raise PlaywrightError(strict_violation(seen, shown, found))
        return found[0], shown

    def do(self, action: str, node: LexborNode, shown: str, work: Callable[[], None]) -> None:
        """Carry out an action on an element. Raises PlaywrightError, worded as the server does after it has waited."""
        try:
            work()
        except NotDone as refused:
            raise PlaywrightError(timed_out(action, shown, node, str(refused))) from None

    # The tools

    def navigate(self) -> None:
        url = str(self.arguments["url"])
        if "://" not in url and not url.startswith(("about:", "data:", "javascript:", "blob:")):
            url = f"https://{url}"
        if url.startswith(("data:", "javascript:", "blob:")):
            raise PlaywrightError(f"Error: Access to this address is blocked: {url[:200]}")
        self.browser.goto(url)
        failed = self.browser.unreachable()
        if failed:
            log = f'  - navigating to {quoted(url)}, waiting until "domcontentloaded"'
            raise PlaywrightError(f"Error: browserBackend.callTool: {failed[-1]}\nCall log:\n{log}\n")
        self.reply.code.append(f"await page.goto({quoted(url, single=True)});")
        self.reply.includes_snapshot()

    def navigate_back(self) -> None:
        self.browser.go(-1)
        self.reply.code.append("await page.goBack();")
        self.reply.includes_snapshot()

    def snapshot(self) -> None:
        seen = self.acting.seen()
        text = seen.snapshot()
        if self.arguments.get("target"):
            node, _ = self.target(seen)
            text = seen.snapshot_of(node)
        depth = self.arguments.get("depth")
        if isinstance(depth, int | float):
            text = "\n".join(line for line in text.split("\n") if (len(line) - len(line.lstrip())) // 2 <= depth)
        self.reply.snapshot = text
        self.reply.includes_page = True

    def click(self) -> None:
        seen = self.acting.seen()
        node, shown = self.target(seen)
        held: list[str] = self.arguments.get("modifiers") or []
        new_tab = opens_aside(self.arguments.get("button"), held)
        double = bool(self.arguments.get("doubleClick"))
        self.reply.code.append(f"await page.{shown}.{'dblclick' if double else 'click'}();")
        self.do("click", node, shown, lambda: self.acting.click(seen, node, new_tab=new_tab))
        self.reply.includes_snapshot()

    def hover(self) -> None:
        seen = self.acting.seen()
        node, shown = self.target(seen)
        reason = hidden_reason(seen, node)
        if reason:
            raise PlaywrightError(timed_out("hover", shown, node, reason))
        self.reply.code.append(f"await page.{shown}.hover();")
        self.reply.includes_snapshot()

    def type(self) -> None:
        seen = self.acting.seen()
        node, shown = self.target(seen)
        text = str(self.arguments["text"])
        slowly = bool(self.arguments.get("slowly"))
        work = self.acting.type if slowly else self.acting.fill
        self.do("fill", node, shown, lambda: work(seen, node, text))
        verb = "pressSequentially" if slowly else "fill"
        self.reply.code.append(f"await page.{shown}.{verb}({quoted(text, single=True)});")
        if slowly:
            self.reply.includes_snapshot()
        if self.arguments.get("submit"):
            self.acting.press("Enter")
            self.reply.code.append(f"await page.{shown}.press('Enter');")
            self.reply.includes_snapshot()

    def fill_form(self) -> None:
        fields: list[JsonObject] = self.arguments["fields"]
        for field in fields:
            seen = self.acting.seen()
            node, shown = self.target(seen, field)
            self._fill_one(seen, node, shown, str(field["type"]), str(field["value"]))

    def _fill_one(self, seen: SeenPage, node: LexborNode, shown: str, kind: str, value: str) -> None:
        if kind in ("textbox", "slider"):
            self.do("fill", node, shown, lambda: self.acting.fill(seen, node, value))
            self.reply.code.append(f"await page.{shown}.fill({quoted(value, single=True)});")
        elif kind in ("checkbox", "radio"):
            wanted = value == "true"
            self.do("check", node, shown, lambda: self.acting.check(seen, node, wanted))
            self.reply.code.append(f"await page.{shown}.{'check' if wanted else 'uncheck'}();")
        else:
            self.do("select option", node, shown, lambda: self.acting.select(seen, node, [value]))
            self.reply.code.append(f"await page.{shown}.selectOption({quoted(value, single=True)});")

    def select_option(self) -> None:
        seen = self.acting.seen()
        node, shown = self.target(seen)
        values = [str(value) for value in self.arguments["values"]]
        self.do("select option", node, shown, lambda: self.acting.select(seen, node, values))
        written = quoted(values[0], single=True) if len(values) == 1 else str(values)
        self.reply.code.append(f"await page.{shown}.selectOption({written});")
        self.reply.includes_snapshot()

    def press_key(self) -> None:
        key = str(self.arguments["key"])
        self.acting.press(key)
        self.reply.code += [f"// Press {key}", f"await page.keyboard.press({quoted(key, single=True)});"]
        if key == "Enter":
            self.reply.includes_snapshot()

    def handle_dialog(self) -> None:
        self.browser.answer(bool(self.arguments["accept"]))

    def file_upload(self) -> None:
        paths: list[str] = self.arguments.get("paths") or []
        try:
            self.browser.choose(paths)
        except KeyError as missing:
            raise PlaywrightError(
                f"Error: ENOENT: no such file or directory, stat {quoted(str(missing.args[0]), single=True)}"
            ) from None
        self.reply.code.append(f"await fileChooser.setFiles({orjson.dumps(paths).decode()})")
        self.reply.includes_snapshot()

    def manage_tabs(self) -> None:
        action, index = self.arguments["action"], self.arguments.get("index")
        browser = self.browser
        if action == "new":
            url: JsonValue = self.arguments.get("url")
            browser.open_tab(str(url) if url else None)
        elif action in ("select", "close"):
            place = browser.current if index is None and action == "close" else index
            if not isinstance(place, int | float):
                raise PlaywrightError("Error: Tab index is required")
            if not 0 <= place < len(browser.tabs):
                raise PlaywrightError(f"Error: Tab {int(place)} not found")
            if action == "select":
                browser.current = int(place)
            else:
                browser.close_tab(int(place))
        self.reply.result += self.listed_tabs()

    def wait_for(self) -> None:
        text, gone, time = (self.arguments.get(name) for name in ("text", "textGone", "time"))
        if not (text or gone or time):
            raise PlaywrightError("Error: Either time, text or textGone must be provided")
        shown = self.acting.seen()
        for wanted, present in ((text, True), (gone, False)):
            if wanted and (locate(shown, f"text={wanted}") != []) is not present:
                raise PlaywrightError("TimeoutError: browserBackend.callTool: Timeout 5000ms exceeded.")
        waited = f"{min(float(time or 0), MOST_WAIT):g} seconds"
        self.reply.result.append(f"Waited for {text or gone or waited}")
        self.reply.includes_snapshot()

    def close(self) -> None:
        self.browser.tabs = self.browser.tabs[:0]
        self.browser.open_tab()
        self.reply.result.append("No open tabs. Navigate to a URL to create one.")

    def console_messages(self) -> None:
        self.reply.result.append("Total messages: 0 (Errors: 0, Warnings: 0)")


_TOOLS: dict[str, Callable[[_Played], None]] = {
    "browser_navigate": _Played.navigate,
    "browser_navigate_back": _Played.navigate_back,
    "browser_snapshot": _Played.snapshot,
    "browser_click": _Played.click,
    "browser_hover": _Played.hover,
    "browser_type": _Played.type,
    "browser_fill_form": _Played.fill_form,
    "browser_select_option": _Played.select_option,
    "browser_press_key": _Played.press_key,
    "browser_handle_dialog": _Played.handle_dialog,
    "browser_file_upload": _Played.file_upload,
    "browser_tabs": _Played.manage_tabs,
    "browser_wait_for": _Played.wait_for,
    "browser_close": _Played.close,
    "browser_console_messages": _Played.console_messages,
}

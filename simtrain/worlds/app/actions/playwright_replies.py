"""How the server of @playwright/mcp words its replies and errors."""

from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from simtrain.worlds.app.accessibility.boxes import has_area
from simtrain.worlds.app.actions.seen import SeenPage
from simtrain.worlds.app.browser.page import OpenPage

_STATUS = {403: "Forbidden", 404: "Not Found", 409: "Conflict", 500: "Internal Server Error"}
_SHOWN = ("id", "name", "type", "value", "href", "class", "role", "aria-label", "for", "disabled", "checked", "hidden")


class PlaywrightError(Exception):
    """A call that the server refuses, with the text of its error section."""


@dataclass(slots=True)
class ServerReply:
    """The sections of a reply, in the server's order. `now` is virtual time."""

    now: str
    error: str | None = None
    result: list[str] = field(default_factory=list[str])
    code: list[str] = field(default_factory=list[str])
    tabs: list[str] = field(default_factory=list[str])
    page: list[str] = field(default_factory=list[str])
    modal: list[str] = field(default_factory=list[str])
    snapshot: str | None = None
    links_snapshot: bool = False
    includes_page: bool = False
    events: list[str] = field(default_factory=list[str])

    def includes_snapshot(self) -> None:
        """Name the page, and link a file with its snapshot."""
        self.links_snapshot = self.includes_page = True

    def text(self) -> str:
        """Return the whole reply."""
        parts: list[str] = []
        if self.error is not None:
            parts += ["### Error", self.error]
        else:
            parts += ["### Result", *self.result] if self.result else []
            parts += ["### Ran Playwright code", "```js", *self.code, "```"] if self.code else []
            parts += ["### Open tabs", *self.tabs] if self.tabs else []
            parts += ["### Page", *self.page] if self.page else []
        parts += ["### Modal state", *(f"- {line}" for line in self.modal)] if self.modal else []
        if self.error is None:
            if self.snapshot is not None:
                parts += ["### Snapshot", "```yaml", self.snapshot, "```"]
            elif self.links_snapshot:
                stamp = self.now.replace(":", "-").replace("Z", "-000Z")
                parts += ["### Snapshot", f"- [Snapshot](.playwright-mcp/page-{stamp}.yml)"]
            parts += ["### Events", *self.events] if self.events else []
        return "\n".join(parts)


def described(page: OpenPage, *, quiet: bool) -> list[str]:
    """Return the lines about a page; `quiet` leaves out what cannot be asked of a page that waits for a dialog."""
    lines = [f"- Page URL: {page.url}"]
    if page.title and not quiet:
        lines.append(f"- Page Title: {page.title}")
    if page.status and not 200 <= page.status < 300:
        lines.append(f"- HTTP status: {page.status} {_STATUS.get(page.status, '')}".rstrip())
    return lines


def quoted(text: str, *, single: bool = False) -> str:
    """Return a text as a literal of JavaScript."""
    mark = "'" if single else '"'
    inner = text.replace("\\", "\\\\").replace(mark, f"\\{mark}").replace("\n", "\\n").replace("\r", "\\r")
    return f"{mark}{inner}{mark}"


def locator_of(seen: SeenPage, node: LexborNode) -> str:
    """Return a locator that finds an element by role and name."""
    own = seen.node_of(node)
    if own is None or own.role == "generic":
        text = " ".join(node.text(deep=True).split())
        return f"getByText({quoted(text, single=True)})" if text else f"locator({quoted(node.tag or '', single=True)})"
    alike = [one for one in seen.nodes if one.role == own.role and own.name.lower() in one.name.lower()]
    same = [one for one in alike if one.name == own.name]
    options = f"name: {quoted(own.name, single=True)}" + (", exact: true" if len(alike) > 1 else "")
    written = f"getByRole('{own.role}', {{ {options} }})" if own.name else f"getByRole('{own.role}')"
    among = same if own.name else alike
    place = next((index for index, one in enumerate(among) if one is own), 0)
    if len(among) == 1:
        return written
    return f"{written}.first()" if place == 0 else f"{written}.nth({place})"


def strict_violation(seen: SeenPage, shown: str, found: list[LexborNode]) -> str:
    """Return the error for a locator that finds several elements."""
    lines = [f"    {number}) {outline(node)} aka {locator_of(seen, node)}" for number, node in enumerate(found[:10], 1)]
    more = ["    ..."] if len(found) > 10 else []
    head = f"Error: browserBackend.callTool: Error: strict mode violation: {shown} resolved to {len(found)} elements:"
    return "\n".join([head, *lines, *more, "", "Call log:", f"  - waiting for {shown}", ""])


def timed_out(
    action: str, shown: str, node: LexborNode, reason: str, *, caller: str = "browserBackend.callTool", wait: int = 5000
) -> str:
    """Return the error for an action that Playwright gave up waiting for after `wait` milliseconds, or refused at once."""
    log = [f"  - waiting for {shown}", f"    - locator resolved to {outline(node)}", f"  - attempting {action} action"]
    if reason.endswith("intercepts pointer events"):
        ready = "element is visible, enabled and stable"
        log += [f"    2 × waiting for {ready.replace(' is ', ' to be ')}", f"      - {ready}"]
        log += ["      - scrolling into view if needed", "      - done scrolling", f"      - {reason}"]
        log.append(f"    - retrying {action} action")
        head = f"TimeoutError: {caller}: Timeout {wait}ms exceeded."
    elif reason.startswith(("element is", "did not find")):
        states = {
            "fill": "visible, enabled and editable",
            "clear": "visible, enabled and editable",
            "select option": "visible and enabled",
            "select_option": "visible and enabled",
        }
        waits = states.get(action, "visible, enabled and stable")
        log += [f"    2 × waiting for element to be {waits}", f"      - {reason}", f"    - retrying {action} action"]
        head = f"TimeoutError: {caller}: Timeout {wait}ms exceeded."
    else:
        head = f"Error: {caller}: Error: {reason[:1].upper()}{reason[1:]}"
    return "\n".join([head, "Call log:", *log, ""])


def outline(node: LexborNode) -> str:
    """Return the tag of an element with its attributes, and its text."""
    given = node.attributes
    written = "".join(f' {name}="{given[name] or ""}"' for name in _SHOWN if name in given)
    if node.tag in ("input", "br", "img", "hr"):
        return f"<{node.tag}{written}/>"
    text = " ".join(node.text(deep=True).split())
    inner = "…" if node.css_first("*") is not None and len(node.css("*")) > 1 else text[:50]
    return f"<{node.tag}{written}>{inner}</{node.tag}>"


def hidden_reason(seen: SeenPage, node: LexborNode) -> str | None:
    """Return why an element cannot be seen; None if it can."""
    element = seen.element(node)
    return None if element is not None and has_area(element) else "element is not visible"

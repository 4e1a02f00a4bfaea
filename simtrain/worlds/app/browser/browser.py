"""The browser: it loads pages of one site, follows links, fills in and submits forms, and asks by dialogs."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urldefrag, urljoin, urlsplit

import orjson
from selectolax.lexbor import LexborNode

from simtrain.worlds.app.browser import components
from simtrain.worlds.app.browser.controls import entries, form_of, restore, select_options, set_checked, set_text
from simtrain.worlds.app.browser.nodes import (
    FILES,
    attribute,
    by_id,
    closest_with,
    has,
    input_type,
    is_disabled,
    is_focusable,
    is_text_field,
    put,
    upwards,
)
from simtrain.worlds.app.browser.page import OpenPage
from simtrain.worlds.app.browser.tabs import BLANK, EMPTY, Entry, Tab
from simtrain.worlds.app.browser.validity import first_invalid
from simtrain.worlds.app.fields import Upload
from simtrain.worlds.app.web.exchange import Entries, SiteAddress, SiteRequest, SiteResponse

MOST_REDIRECTS = 20
MOST_TABS = 20
MOST_URL = 2_000


class Outside(Protocol):
    """What the browser reaches: the site, and the file store."""

    def respond(self, request: SiteRequest) -> SiteResponse:
        """Return the site's response."""
        ...

    def file(self, path: str) -> Upload:
        """Return a file of the store. Raises KeyError for an unknown one."""
        ...

    def save(self, name: str, text: str) -> str:
        """Save a download and return its path."""
        ...


@dataclass(frozen=True, slots=True)
class Dialog:
    """An open dialog of the browser that waits for an answer."""

    kind: Literal["confirm"]
    message: str


@dataclass(frozen=True, slots=True)
class Happened:
    """What happened since it was last asked: a download with its path, or an address that could not be reached."""

    kind: Literal["download", "unreachable"]
    text: str


class AppBrowser:
    """A browser with its tabs. One dialog or file chooser may be open, and then waits before anything else can be done."""

    def __init__(self, outside: Outside, site: str, *, cookie: str | None = None) -> None:
        self.outside = outside
        self.origin = f"https://{site}"
        self.cookie = cookie
        self.tabs = [Tab()]
        self.current = 0
        self.dialog: Dialog | None = None
        self.choosing = False
        self.happened: list[Happened] = []
        self.rules: list[str] = []
        """The rules by which the site refused requests since it was last asked."""

    def copy(self, outside: Outside) -> AppBrowser:
        """Return an independent copy that reaches `outside`."""
        other = copy(self)
        other.outside = outside
        other.tabs = [tab.copy() for tab in self.tabs]
        other.happened, other.rules = list(self.happened), list(self.rules)
        return other

    @property
    def tab(self) -> Tab:
        """The tab in front."""
        return self.tabs[self.current]

    @property
    def page(self) -> OpenPage:
        """The page in front."""
        return self.tab.page

    # Navigation

    def goto(self, url: str) -> None:
        """Load an address, as if typed into the address bar."""
        self._load(self.tab, url)

    def go(self, steps: int) -> bool:
        """Go back (-1) or forward (1) in the history; False if there is nothing there."""
        tab = self.tab
        if not 0 <= tab.index + steps < len(tab.entries):
            return False
        before, after = tab.entries[tab.index], tab.entries[tab.index + steps]
        tab.index += steps
        if urldefrag(before.url)[0] == urldefrag(after.url)[0] and before.url != after.url:
            tab.page.url = after.url
            return True
        self._load(tab, after.url, moving=True, lost=after.posted)
        return True

    def reload(self) -> None:
        """Load the page again."""
        entry = self.tab.entries[self.tab.index]
        self._load(self.tab, entry.url, moving=True, lost=entry.posted)

    def open_tab(self, url: str | None = None) -> None:
        """Open a tab in front."""
        if len(self.tabs) < MOST_TABS:
            self.tabs.append(Tab())
            self.current = len(self.tabs) - 1
            if url is not None:
                self._load(self.tab, url)

    def close_tab(self, index: int) -> None:
        """Close a tab; a browser keeps at least one."""
        del self.tabs[index]
        if not self.tabs:
            self.tabs = [Tab()]
        self.current = min(self.current if index > self.current else max(self.current - 1, 0), len(self.tabs) - 1)

    def _load(
        self,
        tab: Tab,
        url: str,
        *,
        sent: Entries | None = None,
        moving: bool = False,
        referrer: str = "/",
        lost: bool = False,
    ) -> None:
        if url == BLANK:
            tab.loads += 1
            tab.show(OpenPage(BLANK, EMPTY, serial=tab.loads))
            return
        if lost or len(url) > MOST_URL or not self._is_ours(url):
            reason = "ERR_CACHE_MISS" if lost else "ERR_NAME_NOT_RESOLVED"
            self.happened.append(Happened("unreachable", f"net::{reason} at {url}"))
            self._show(tab, url, UNREACHED.format(reason), status=0, moving=moving, posted=lost)
            return
        posted = sent is not None
        for _ in range(MOST_REDIRECTS):
            request = SiteRequest(
                "POST" if posted else "GET",
                SiteAddress.parse(url.removeprefix(self.origin)),
                self.cookie,
                sent or (),
                referrer,
            )
            response = self.outside.respond(request)
            self.cookie = response.session
            if response.rule is not None:
                self.rules.append(response.rule)
            if response.location is None:
                break
            url, posted, sent = urljoin(url, response.location), False, None
        else:
            self._show(tab, url, UNREACHED.format("ERR_TOO_MANY_REDIRECTS"), status=0, moving=moving, posted=False)
            return
        if response.download is not None:
            path = self.outside.save(response.download.name, response.download.text)
            self.happened.append(Happened("download", path))
            return
        self._show(tab, url, response.html, status=response.status, moving=moving, posted=posted)

    def _show(self, tab: Tab, url: str, html: str, *, status: int, moving: bool, posted: bool) -> None:
        entry = Entry(url, posted)
        # Loading the address where one is already replaces the entry, as browsers do.
        if moving or (tab.page.url == url and not posted and tab.entries[tab.index].url == url):
            tab.entries[tab.index] = entry
        else:
            tab.push(entry)
        tab.loads += 1
        tab.show(OpenPage(url, html, status=status, serial=tab.loads))
        focused = tab.page.parsed.css_first("[autofocus]")
        if focused is not None:
            tab.page.focus(focused)
            tab.page.changed = False

    def _is_ours(self, url: str) -> bool:
        return url == self.origin or url.startswith((f"{self.origin}/", f"{self.origin}?", f"{self.origin}#"))

    @property
    def _referrer(self) -> str:
        parts = urlsplit(self.page.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    # What an agent does to elements

    def click(self, node: LexborNode, *, new_tab: bool = False) -> None:
        """Click an element: the focus moves, then the element does what it does."""
        page = self.page
        page.focus(next((one for one in upwards(node) if is_focusable(one)), None))
        page.touch()
        asked = closest_with(node, "data-confirm")
        if asked is not None and not is_disabled(asked):
            page.wait_for(node)
            self.dialog = Dialog("confirm", attribute(asked, "data-confirm") or "")
            return
        self._clicked(node, new_tab=new_tab)

    def answer(self, accept: bool) -> None:
        """Answer the open dialog."""
        self.dialog = None
        node = self.page.pending
        self.page.wait_for(None)
        if accept and node is not None:
            self._clicked(node, new_tab=False)

    def _clicked(self, node: LexborNode, *, new_tab: bool) -> None:
        gone = closest_with(node, "data-dismiss") is not None
        # Only what is dismissed leaves the page; the other components change attributes.
        document = self.page.document if gone else self.page.parsed
        self.page.touch()
        components.close_menus(document, node)
        holder = next((one for one in upwards(node) if one.tag in _ACTIVE), None)
        if holder is not None and is_disabled(holder):
            return
        components.clicked(document, node)
        if holder is not None and not gone:
            self._activate(holder, new_tab=new_tab)

    def _activate(self, node: LexborNode, *, new_tab: bool) -> None:
        """Do what an element does by itself when it is clicked."""
        document = self.page.parsed
        kind = input_type(node)
        if node.tag in ("a", "area"):
            self._follow(node, new_tab=new_tab)
        elif node.tag == "label":
            self._click_label(node)
        elif node.tag == "summary":
            details = node.parent
            if details is not None and details.tag == "details":
                put(details, "open", None if has(details, "open") else "")
        elif kind in ("submit", "image"):
            form = form_of(document, node)
            if form is not None:
                self.submit(form, node)
        elif kind == "reset":
            form = form_of(document, node)
            if form is not None:
                restore(document, OpenPage(self.page.url, self.page.source).document, form)
        elif kind in ("checkbox", "radio"):
            self.check(node, kind == "radio" or not has(node, "checked"))
        elif kind == "file":
            self.page.wait_for(node)
            self.choosing = True

    def _click_label(self, label: LexborNode) -> None:
        named = attribute(label, "for")
        inner = label.css_first("input:not([type=hidden]), select, textarea, button")
        control = by_id(self.page.document, named) if named is not None else inner
        if control is None or is_disabled(control):
            return
        self.page.focus(control)
        if not is_text_field(control) and control.tag != "select":
            self._activate(control, new_tab=False)

    def _follow(self, link: LexborNode, *, new_tab: bool) -> None:
        href = attribute(link, "href")
        if href is None:
            return
        page = self.page
        url = urljoin(page.url, href.strip())
        if urlsplit(url).scheme not in ("http", "https"):
            return
        referrer = self._referrer
        if new_tab or attribute(link, "target") == "_blank":
            if len(self.tabs) < MOST_TABS:
                self.tabs.append(Tab())
                # A link opens the tab in front; a click with a key held down leaves it behind.
                if not new_tab:
                    self.current = len(self.tabs) - 1
                self._load(self.tabs[-1], url, referrer=referrer)
            return
        plain, fragment = urldefrag(url)
        if "#" in href and plain == urldefrag(page.url)[0]:
            if url != page.url:
                self.tab.push(Entry(url, self.tab.entries[self.tab.index].posted))
                page.url = url
            target = by_id(page.document, fragment)
            if target is not None and is_focusable(target):
                page.focus(target)
            return
        self._load(self.tab, url, referrer=referrer)

    def submit(self, form: LexborNode, submitter: LexborNode | None) -> None:
        """Submit a form, unless one of its controls is invalid, which then gets the focus."""
        page, document = self.page, self.page.parsed
        skips = has(form, "novalidate") or (submitter is not None and has(submitter, "formnovalidate"))
        invalid = None if skips else first_invalid(document, form)
        if invalid is not None:
            page.focus(invalid)
            return
        if (attribute(form, "method") or "get").lower() == "dialog":
            return
        sent = entries(document, form, submitter, self._read)
        given = attribute(submitter, "formaction") if submitter is not None else None
        url = urljoin(page.url, given if given is not None else attribute(form, "action") or page.url)
        if (attribute(form, "method") or "get").lower() == "post":
            self._load(self.tab, url, sent=sent, referrer=self._referrer)
            return
        pairs = tuple((name, value if isinstance(value, str) else value.name) for name, value in sent)
        address = SiteAddress(SiteAddress.parse(url.removeprefix(self.origin)).path, pairs)
        # A form without fields still sends a question mark.
        question = "" if pairs else "?"
        self._load(self.tab, f"{self.origin}{address}{question}", referrer=self._referrer)

    def _read(self, path: str) -> Upload:
        try:
            return self.outside.file(path)
        except KeyError:
            return Upload("", "", 0)

    def fill(self, node: LexborNode, text: str) -> None:
        """Replace what a text field holds."""
        page = self.page
        page.focus(node)
        set_text(node, text)
        page.touch()
        components.typed(page.document, node, self._fetch)
        self._changed(node)

    def _fetch(self, address: str) -> str:
        url = urljoin(self.page.url, address)
        request = SiteRequest("GET", SiteAddress.parse(url.removeprefix(self.origin)), self.cookie, (), self._referrer)
        response = self.outside.respond(request)
        self.cookie = response.session
        return response.html

    def check(self, node: LexborNode, checked: bool) -> None:
        """Tick or clear a checkbox, or choose a radio button."""
        if has(node, "checked") is checked:
            return
        set_checked(self.page.document, node, checked)
        self.page.touch()
        self._changed(node)

    def select(self, node: LexborNode, wanted: list[LexborNode]) -> None:
        """Select options of a list."""
        self.page.focus(node)
        select_options(node, wanted)
        self.page.touch()
        self._changed(node)

    def _changed(self, node: LexborNode) -> None:
        form = components.changed(self.page.document, node)
        self.page.touch()
        if form is not None:
            self.submit(form, None)

    def choose(self, paths: list[str]) -> None:
        """Choose files in the open file chooser; none cancels it. Raises KeyError for an unknown path."""
        for path in paths:
            self.outside.file(path)
        node = self.page.pending
        self.choosing = False
        self.page.wait_for(None)
        if node is not None and paths:
            chosen = paths if has(node, "multiple") else paths[-1:]
            put(node, FILES, orjson.dumps(chosen).decode())
            self.page.touch()

    def unreachable(self) -> list[str]:
        """Return why addresses could not be reached since `asked` was last called."""
        return [one.text for one in self.happened if one.kind == "unreachable"]

    def asked(self) -> tuple[list[Happened], list[str]]:
        """Return what happened and which rules refused since this was last asked."""
        found = (self.happened, self.rules)
        self.happened, self.rules = [], []
        return found


_ACTIVE = frozenset({"a", "area", "button", "input", "label", "summary"})
UNREACHED = "<html><head><title>Error</title></head><body><h1>This site can’t be reached</h1><p>{}</p></body></html>"

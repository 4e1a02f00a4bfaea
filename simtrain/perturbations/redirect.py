"""A page has moved."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field

from simtrain.contracts.perturbation import Call, Probability, Traits
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.addresses import Address, home_of, key_of, opened_by
from simtrain.perturbations.pages import PageTrouble
from simtrain.perturbations.reply_edits import content_of, put, rewritten
from simtrain.values.types import JsonObject, JsonValue, Observation, is_list, is_object

MOST_HOPS = 4
_AREAS = ("en", "pages", "content", "site", "main", "web", "v2", "public")
"""Path prefixes of moved pages, one or several of which are put before a path."""

_REDIRECTS, _PLACES = "ways", "places"
"""The memory: URL -> its chain of redirects; later URL -> the page's true URL, and the number of redirects passed."""

_ADDRESSES = re.compile(r"https?://[^\s)\]>\"'|]*[^\s)\]>\"'|.,;:]")


class Redirect(PageTrouble):
    """A page has moved: its address answers 301 and names the next one. The tool does not follow by itself.

    Source: RFC 9110, 15.4. An agent should follow the redirect, if needed several times, and check that it reached the
    right page. If the old address leads to the home page or to another page, it should look for the content on other
    pages. Whether a page has moved is decided when it is first opened, and stays so. Pages opened before, addresses
    that lead nowhere anyway, and calls that open no page pass.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", recoverable_by=("fix-call", "switch", "abstain"), follows="always"
    )
    example: ClassVar[JsonObject] = {"with": {"share": 1}}

    share: Probability | None = Field(
        default=None,
        description="Share of the pages that have moved, of those first opened when this fires, drawn by the address; unset,"
        " half the severity.",
    )
    hops: int | None = Field(
        default=None, ge=1, le=MOST_HOPS, description="Redirects one after the other; unset, 1 to 3 by severity."
    )
    leads: Literal["page", "home", "other"] = Field(
        default="page",
        description="Where they lead: `page`, the requested one; `home`, the home page of its site; `other`, a page "
        "that it links to.",
    )

    async def visit(self, call: Call, proceed: Answer, *, share: float) -> Observation:
        """Redirect calls that open a moved page."""
        opened = opened_by(call.request)
        request = call.request
        for address in opened:
            origin = _origin(call, address)
            if origin != address.url:
                arguments = put(request.arguments, address.place, origin)
                request = replace(request, arguments=arguments)
        reply = await proceed(request)
        if reply.is_error:
            return reply if request is call.request else _error_of(call, opened, reply)
        # Drawn after the reply, since a page that does not exist has not moved.
        for address in opened:
            if not _is_known(call, address.key) and (address.is_single or address.key in _shown(reply)):
                moved = call.root.draw("moved", address.key) < share
                redirects = call.memory.setdefault(_REDIRECTS, {})
                redirects[address.key] = self._redirects(call, address, reply) if moved else []
        onward = {address.url: url for address in opened if (url := _next(call, address))}
        if not onward:
            return reply
        changed = None if any(address.is_single for address in opened) else self._without(call, reply, onward)
        if changed is not None:
            return changed
        detail = "It is now at" if len(onward) == 1 else "They are now at"
        return self.refusal(call, "moved", f"{detail} {', '.join(onward.values())}")

    def _redirects(self, call: Call, address: Address, reply: Observation) -> list[str]:
        """Return the chain of redirects of a URL; none for a home page that would lead to itself."""
        rng = call.root.stream("way", address.key)
        chain = [_under(area, address.url) for area in rng.sample(_AREAS, self._hops())]
        if self.leads != "page":
            others = [url for url in _linked(reply) if home_of(url) == home_of(address.url)]
            others = [url for url in others if key_of(url) != address.key]
            end = rng.choose(others) if self.leads == "other" and others else home_of(address.url)
            if key_of(end) == address.key:
                return []
            # The page at the end is there: redirecting it as well could lead in a circle.
            call.memory[_REDIRECTS].setdefault(key_of(end), [])
            chain = [*chain[:-1], end]
        places = call.memory.setdefault(_PLACES, {})
        for passed, url in enumerate(chain if self.leads == "page" else chain[:-1], 1):
            places[key_of(url)] = [address.url, passed]
        return chain

    def _without(self, call: Call, reply: Observation, onward: Mapping[str, str]) -> Observation | None:
        """Return the reply of a tool that opens several pages, with moved pages among its failures; None if it lists no failures."""
        content = content_of(reply)
        if not is_object(content):
            return None
        failures = next((name for name in content if _tells_failures(name) and is_list(content[name])), None)
        if failures is None:
            return None
        keys = {key_of(url) for url in onward}
        kept: JsonObject = {
            name: [item for item in value if _shown_in(item) not in keys] if is_list(value) else value
            for name, value in content.items()
        }
        failed = [{"url": url, "error": f"301 Moved Permanently: it is now at {to}"} for url, to in onward.items()]
        kept[failures] = [*kept[failures], *failed]
        # A call of several pages succeeds for the others, as fetching tools report it: page by page.
        return rewritten(reply, kept, tool=call.request.tool, world=call.world, source=self.source)

    def _hops(self) -> int:
        return 1 + round(2 * self.severity) if self.hops is None else self.hops


def _error_of(call: Call, opened: Sequence[Address], reply: Observation) -> Observation:
    """Return an error of the tool for moved pages, with the requested URLs in it."""
    text = reply.text
    for address in opened:
        # The error would name the page's true address, which the agent has not been told.
        text = text.replace(_origin(call, address), address.url)
    return reworded(reply, text, None)


def _is_known(call: Call, key: str) -> bool:
    return key in call.memory.get(_REDIRECTS, {}) or key in call.memory.get(_PLACES, {})


def _origin(call: Call, address: Address) -> str:
    """Return the true URL of the page that a URL leads to."""
    place = call.memory.get(_PLACES, {}).get(address.key)
    return address.url if place is None else place[0]


def _next(call: Call, address: Address) -> str | None:
    """Return the URL that a URL redirects to; None if the page is there."""
    place = call.memory.get(_PLACES, {}).get(address.key)
    origin, passed = place or (address.url, 0)
    redirects = call.memory.get(_REDIRECTS, {})
    chain = redirects.get(key_of(origin), [])
    return chain[passed] if passed < len(chain) else None


def _under(area: str, url: str) -> str:
    """Return the URL of the same page under a path prefix."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    return urlunsplit((parts.scheme, parts.netloc, f"/{area}{parts.path}", parts.query, ""))


def _linked(reply: Observation) -> list[str]:
    """Return the URLs in a reply, without repetition."""
    return list(dict.fromkeys(_ADDRESSES.findall(reply.text)))


def _shown(reply: Observation) -> set[str]:
    """Return the URLs of the pages that a reply shows, without those it could not open."""
    content = content_of(reply)
    members = content.items() if is_object(content) else ()
    lists = [value for name, value in members if is_list(value) and not _tells_failures(name)]
    return {_shown_in(item) for items in lists for item in items}


def _tells_failures(name: str) -> bool:
    return "fail" in name.lower()


def _shown_in(item: JsonValue) -> str:
    """Return the URL of the page that an item of a reply shows."""
    url = item.get("url") if is_object(item) else None
    return key_of(url) if isinstance(url, str) else ""

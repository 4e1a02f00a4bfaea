"""The apps that ship, who visits them in tests, and where their screens lie: found by following links, as a visitor finds them."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urljoin, urlsplit

from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.worlds.app.world import AppState, AppWorld

MOST_ALIKE = 3 if os.environ.get("SIMTRAIN_FULL") else 1
"""Addresses of one screen that are looked at for each visitor."""


@dataclass(frozen=True)
class ShippedApp:
    """An app: ids of users, one for each role at least; who plays random actions and from which page; texts that they type."""

    name: str
    visitors: tuple[str, ...]
    players: tuple[tuple[str, str], ...]
    words: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Addresses that no link leads to, such as those of lists that are filtered and sorted."""
    unlinked: tuple[str, ...] = field(default=())
    """Screens that a visitor meets only after an action; plans and random actions meet them."""

    def built(self, **knobs: str) -> AppWorld:
        source = load_world(find("worlds", self.name))
        world = source.configured(source.document, {**knobs}, ()).build()
        assert isinstance(world, AppWorld)
        return world


APPS = (
    ShippedApp(
        "shop_site",
        visitors=("S01", "S02", "C0001"),
        players=(("S01", "/admin/orders"), ("S02", "/admin/reviews"), ("C0001", "/products")),
        words=("kes", "SO-0012"),
        more=("/products?q=kes&sort=price", "/admin/orders?status=paid&page=2", "/checkout"),
    ),
    ShippedApp(
        "board",
        visitors=("USR-02", "USR-01", "USR-08"),
        players=(
            ("USR-01", "/teams/RTE/issues?state=open"),
            ("USR-01", "/issues/RTE-204"),
            ("USR-02", "/people/USR-16"),
            ("USR-01", "/teams/DRV/triage"),
        ),
        words=("RTE-2", "sync", "8"),
        more=("/teams/RTE/issues?state=open&sort=priority&page=2", "/search?q=list&closed=yes", "/login"),
    ),
    ShippedApp(
        "mail",
        visitors=("ines.okafor@fernwick.example", "paul.verne@fernwick.example"),
        players=(
            ("ines.okafor@fernwick.example", "/"),
            ("ines.okafor@fernwick.example", "/labels"),
            ("paul.verne@fernwick.example", "/search?q=lease"),
            ("ines.okafor@fernwick.example", "/invitations"),
        ),
        words=("lease", "ines.okafor@fernwick.example", "Leases/Old"),
        more=("/search?q=lease&place=inbox&attached=yes", "/calendar?calendar=cal-desk&from=2031-11-10", "/login"),
    ),
    ShippedApp(
        "bank",
        visitors=("S01", "S02", "P005"),
        players=(
            ("P005", "/transfer"),
            ("P004", "/cards"),
            ("S01", "/desk/payments"),
            ("P007", "/standing-orders"),
            ("S02", "/desk/requests"),
        ),
        words=("Marram", "12.50", "NB12 3456 7890", "Moving house"),
        more=("/accounts/A002?category=food&page=2", "/desk/requests?status=", "/desk/payments?sort=amount"),
        unlinked=("/transfer/{id}",),
    ),
    ShippedApp(
        "wiki",
        visitors=("A01", "R01", "E12"),
        players=(("E12", "/pages/P008"), ("R01", "/recent"), ("A01", "/admin"), ("E12", "/pages/P014/history")),
        words=("Harbour", "spelling", "survey-03.txt", "2"),
        more=("/search?q=red+line&page=2", "/talk/T001", "/pages?kind=bays&sort=versions"),
    ),
    ShippedApp(
        "booking",
        visitors=("O1", "S1", "M004"),
        players=(
            ("M004", "/places/L03/book"),
            ("O1", "/approvals"),
            ("M012", "/bookings"),
            ("S2", "/approvals"),
            ("O1", "/people/M009"),
        ),
        words=("Choir", "Was ill", "Granary"),
        more=(
            "/free?day=2032-09-20&begins=14&ends=16&guests=20",
            "/day?day=2032-09-14",
            "/places/L06/calendar?day=2032-09-21",
        ),
        unlinked=("/series/{id}",),
    ),
)


def signed_in(state: AppState, user: str | None) -> str:
    """The cookie of a new session of a user; the agent's browser has it as well."""
    token = state.sessions.begin(user)[0]
    state.browser.cookie = token
    return token


def pattern_at(world: AppWorld, path: str) -> str | None:
    """The pattern of the screen at a path; None for a file, a fragment, or nothing at all."""
    found = world.site.screens.find(path)
    if found is None or found[0].source.fragment or found[0].source.download is not None:
        return None
    return found[0].pattern


def reached(app: ShippedApp, world: AppWorld, state: AppState, *, most: int = MOST_ALIKE) -> list[str]:
    """The addresses that the visitor of the agent's browser reaches by links, at most `most` of each screen, and one of no screen."""
    browser = state.browser
    waiting, found, seen = deque([world.start_page, *app.more]), ["/nowhere"], set[str]()
    alike: dict[str, int] = {}
    while waiting:
        address = waiting.popleft()
        pattern = pattern_at(world, urlsplit(address).path)
        if pattern is None or address in seen or alike.get(pattern, 0) >= most:
            continue
        seen.add(address)
        browser.goto(browser.origin + address)
        # Who may not see a screen is sent elsewhere or gets an error page, which is looked at once.
        at = browser.page.url.removeprefix(browser.origin)
        alike[pattern] = alike.get(pattern, 0) + 1
        if at not in found:
            found.append(at)
        for link in browser.page.document.css("a[href]"):
            url = urldefrag(urljoin(browser.page.url, link.attributes["href"] or ""))[0]
            if url.startswith(browser.origin):
                waiting.append(url.removeprefix(browser.origin) or "/")
    return found


def unreached(app: ShippedApp) -> list[str]:
    """The screens that no visitor reaches."""
    world = app.built()
    known: set[str] = set()
    for user in (None, *app.visitors):
        state = world.open()
        signed_in(state, user)
        for address in reached(app, world, state, most=4):
            state.browser.goto(state.browser.origin + address)
            if state.browser.page.status == 200:
                known.add(pattern_at(world, urlsplit(address).path) or "")
    shown = {pattern for pattern in world.site.screens.patterns if pattern_at(world, _example(pattern)) == pattern}
    return sorted(shown - known - set(app.unlinked))


def _example(pattern: str) -> str:
    return pattern.replace("{", "").replace("}", "")

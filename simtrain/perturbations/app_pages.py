"""What perturbations of an app's pages share: which calls act on pages, what they ask of the site, and how pages are changed."""

from functools import cache
from typing import TypeGuard

from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.perturbations.catalogued import Catalogued
from simtrain.values.types import Observation, ToolSpec
from simtrain.worlds.app.actions.acting import OVERLAY
from simtrain.worlds.app.actions.browsergym import BrowserGymActions
from simtrain.worlds.app.actions.playwright import PlaywrightTools
from simtrain.worlds.app.browser.tabs import BLANK
from simtrain.worlds.app.web.exchange import SiteRequest, SiteResponse
from simtrain.worlds.app.world import AppState

_LOOKS = ("browser_snapshot", "noop")


@cache
def _names() -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(tool.name for tool in PlaywrightTools.tools), frozenset(
        tool.name for tool in BrowserGymActions.tools
    )


def acts_on_pages(tool: ToolSpec) -> bool:
    """True for a tool that acts in a browser: one of Playwright, or an action of BrowserGym."""
    playwright, browsergym = _names()
    return tool.name in playwright or tool.name in browsergym


def app_of(call: Call) -> AppState | None:
    """Return the app that a call acts on; None if something else answers it."""
    acts = call.in_world and isinstance(call.world, AppState) and acts_on_pages(call.request.tool)
    return call.world if acts and isinstance(call.world, AppState) else None


def shows_page(request: Request) -> bool:
    """True if the reply to a call holds the page: a snapshot, or any action of BrowserGym."""
    return request.tool.name == "browser_snapshot" or request.tool.name in _names()[1]


def look(app: AppState, request: Request) -> Observation:
    """Return the page in front as a call like this one shows it, without doing anything."""
    tool = next(tool for tool in app.world.tools if tool.name in _LOOKS)
    return app.answer(Request(tool, {}, request.index, request.turn))


def asked(app: AppState, request: Request) -> list[SiteRequest]:
    """Return what a call would ask of the site, without leaving a trace."""
    found: list[SiteRequest] = []

    def noting(one: SiteRequest) -> SiteResponse:
        found.append(one)
        return app.site_response(one)

    with app.savepoint(), app.answering(noting):
        app.answer(request)
    return found


def submitted(app: AppState, request: Request) -> SiteRequest | None:
    """Return the form that a call would send; None if it sends none."""
    return next((one for one in asked(app, request) if one.method == "POST"), None)


def cover(app: AppState, html: str) -> None:
    """Lay an element over the page in front: nothing else on it can be clicked until it is gone."""
    page = app.browser.page
    body = page.document.body
    if body is not None:
        body.inner_html = f'<div {OVERLAY} data-toast role="dialog" aria-modal="true" {html}</div>{body.inner_html}'
        page.touch()


def is_covered(app: AppState) -> bool:
    """True if an element lies over the page in front."""
    return app.browser.page.document.css_first(f"[{OVERLAY}]") is not None


def can_change(app: AppState, reply: Observation) -> bool:
    """True if a reply shows a page of the site that can be changed: no error, no dialog that waits, no empty tab."""
    browser = app.browser
    return not reply.is_error and browser.dialog is None and not browser.choosing and browser.page.url != BLANK


def can_be_covered(app: AppState | None, request: Request, reply: Observation) -> TypeGuard[AppState]:
    """True if a call has shown a page over which nothing lies yet, and that can be changed."""
    return app is not None and shows_page(request) and can_change(app, reply) and not is_covered(app)


def cover_with_question(app: AppState, title: str, text: str, choices: str) -> None:
    """Lay a question over the page in front: a heading, a sentence, and the elements to choose from as HTML."""
    cover(app, f'aria-label="{title}"><h2>{title}</h2><p>{text}</p>{choices}')


class OnPages(Catalogued):
    """Acts on the pages of an app."""

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a tool that acts in a browser."""
        return acts_on_pages(tool)

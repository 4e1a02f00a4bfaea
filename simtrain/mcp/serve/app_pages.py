"""Apps over HTTP, for people and browsers: the same site, and the same state, as the agent's browser has in the process."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from simtrain.mcp.serve.form_bodies import BodyTooLarge, read_form
from simtrain.mcp.serve.guard import same
from simtrain.mcp_wire.validation import ARRIVAL, MAX_BODY
from simtrain.runs.episode_host import EpisodeHost
from simtrain.runs.held_episode import HeldEpisode
from simtrain.values.errors import SimulatorFault
from simtrain.worlds.app.web.exchange import Entries, SiteAddress, SiteRequest, SiteResponse
from simtrain.worlds.app.web.site import SCRIPT, STYLE
from simtrain.worlds.app.world import AppState

SESSION: Final = "simtrain-session"
"""The cookie with the visitor's session in the app."""

EPISODE: Final = "simtrain-episode"
"""The cookie with the episode whose pages are shown, and its token."""

# Pages hold text of agents and worlds: only our own script and style sheet count.
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    # Going back fetches a page again, as the browser in the process does.
    "cache-control": "no-store",
}

Pages: TypeAlias = Callable[[Request], Awaitable[Response]]


@cache
def component_script() -> str:
    """Return the script that plays the components of pages."""
    return files("simtrain.worlds.app.web").joinpath("components.js").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Admission:
    """What of a request is read: most bytes of a form without its files, most seconds until all of it is there."""

    body: int = MAX_BODY
    arrival: float = ARRIVAL


async def show(request: Request, state: AppState, admission: Admission) -> Response:
    """Answer a request to the site of an open app. Raises ClientDisconnect if nobody waits any more."""
    path = request.url.path
    # Browsers ask for it unasked.
    if path == "/favicon.ico":
        return Response(status_code=204, headers=HEADERS)
    if path == STYLE:
        return Response(state.world.style, media_type="text/css", headers=HEADERS)
    if path == SCRIPT:
        return Response(component_script(), media_type="text/javascript", headers=HEADERS)
    try:
        async with asyncio.timeout(admission.arrival):
            asked = await _read(request, admission.body)
    except TimeoutError:
        return _refused(408, f"The request did not arrive within {admission.arrival:g} seconds")
    except BodyTooLarge:
        return _refused(413, f"The form is larger than {admission.body} bytes")
    except ValueError:
        return _refused(400, "The request cannot be read.")
    try:
        # In a thread, since the SQL of a page may take long and must not stop other episodes.
        answered = await asyncio.to_thread(state.respond, asked)
    except SimulatorFault as fault:
        return _refused(500, f"The app fails: {fault}")
    return _response(answered)


async def _read(request: Request, limit: int) -> SiteRequest:
    url = urlsplit(str(request.url))
    address = SiteAddress.parse(f"{url.path}?{url.query}" if url.query else url.path)
    entries: Entries = ()
    if request.method == "POST":
        entries = await read_form(request.headers.get("content-type", ""), request.stream(), limit=limit)
    return SiteRequest(
        "POST" if request.method == "POST" else "GET",
        address,
        request.cookies.get(SESSION),
        entries,
        _referrer(request),
    )


def _referrer(request: Request) -> str:
    """Return the address of the page that a request comes from; the start for a page of another site."""
    parts = urlsplit(request.headers.get("referer", ""))
    if parts.netloc != request.headers.get("host"):
        return "/"
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _response(answered: SiteResponse) -> Response:
    response: Response
    if answered.location is not None:
        response = Response(status_code=answered.status, headers={**HEADERS, "location": answered.location})
    elif answered.download is not None:
        response = Response(answered.download.text, media_type="text/plain; charset=utf-8", headers=HEADERS)
        name = "".join(sign if sign.isalnum() or sign in "-_. " else "_" for sign in answered.download.name)
        response.headers["content-disposition"] = f'attachment; filename="{name.encode("ascii", "replace").decode()}"'
    else:
        response = Response(answered.html, answered.status, media_type="text/html; charset=utf-8", headers=HEADERS)
    response.set_cookie(SESSION, answered.session, httponly=True, samesite="lax")
    return response


class OneApp:
    """The ASGI application of a single open app."""

    def __init__(self, state: AppState, admission: Admission) -> None:
        self._state = state
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _answered(Request(scope, receive), self._state, self._admission, scope, receive, send)


class AppPages:
    """The ASGI application that shows the apps of open episodes, and passes on what belongs to MCP.

    `/w/EPISODE/` chooses an episode, by a cookie; every other path is a page of it. Without a cookie the default episode is shown.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: EpisodeHost,
        opened: Callable[[], Awaitable[HeldEpisode]],
        *,
        token: str | None,
        admission: Admission,
    ) -> None:
        self._app = app
        self._host = host
        self._opened = opened
        self._token = token
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].rstrip("/").endswith("/mcp"):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        parts = scope["path"].split("/")
        if len(parts) == 4 and parts[1] == "w" and parts[3] == "":
            await self._chosen(parts[2], request.query_params.get("token"))(scope, receive, send)
            return
        name, _, token = request.cookies.get(EPISODE, "").partition(".")
        if not name and not self._admits(None, request.query_params.get("token") or token or None):
            await _refused(401, "A token is needed here: /w/EPISODE/?token=TOKEN")(scope, receive, send)
            return
        held = self._host.find(name) if name else await self._opened()
        if held is None or not self._admits(held, token or None):
            await _refused(404, "There is no such episode; open one first, at /w/EPISODE/")(scope, receive, send)
            return
        state = held.environment.finished().final
        if not isinstance(state, AppState):
            await _refused(404, "This episode has no pages: its world is no app")(scope, receive, send)
            return
        await _answered(request, state, self._admission, scope, receive, send)

    def _admits(self, held: HeldEpisode | None, given: str | None) -> bool:
        wanted = (held.token if held is not None else None) or self._token
        return wanted is None or same(given, wanted)

    def _chosen(self, name: str, token: str | None) -> Response:
        held = self._host.find(name)
        if held is None or not self._admits(held, token):
            return _refused(404, "There is no such episode; open one first")
        state = held.environment.finished().final
        start = state.world.start_page if isinstance(state, AppState) else "/"
        response = Response(status_code=303, headers={**HEADERS, "location": start})
        response.set_cookie(EPISODE, f"{name}.{token or ''}", httponly=True, samesite="lax")
        # Another episode: a session of the one before means nothing there.
        response.delete_cookie(SESSION)
        return response


async def _answered(
    request: Request, state: AppState, admission: Admission, scope: Scope, receive: Receive, send: Send
) -> None:
    if request.method not in ("GET", "POST"):
        await _refused(405, "Pages are fetched, and forms posted")(scope, receive, send)
        return
    with suppress(ClientDisconnect):
        await (await show(request, state, admission))(scope, receive, send)


def _refused(status: int, message: str) -> Response:
    return PlainTextResponse(message, status, headers=HEADERS)

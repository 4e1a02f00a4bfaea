"""An app as a site: every request is answered from the database of one episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from markupsafe import Markup, escape

from simtrain.values.types import JsonObject, JsonValue, is_object
from simtrain.worlds.app.forms import CompiledForm, Done, Flawed, Sent, Upload
from simtrain.worlds.app.routes import Routes
from simtrain.worlds.app.rules import Refused
from simtrain.worlds.app.screens import Pager, Screen, Shown
from simtrain.worlds.app.site_texts import SiteTexts
from simtrain.worlds.app.web.exchange import Download, SiteAddress, SiteRequest, SiteResponse
from simtrain.worlds.app.web.kept_pages import KeptPage, KeptPages
from simtrain.worlds.app.web.sessions import Flash, VisitorSession, VisitorSessions
from simtrain.worlds.app.web.templates import Callable, Templates
from simtrain.worlds.service.database import Database

STYLE, SCRIPT = "/-/style.css", "/-/components.js"
"""Where the served page finds our style sheet (with the app's own) and the script of the components."""

PAGE = frozenset(
    {
        "head",
        "user",
        "path",
        "link",
        "pager",
        "flashes",
        "flaws",
        "old",
        "refused",
        "dialog",
        "now",
        "today",
        "title",
        "look",
    }
)
"""What every template may name."""

ERROR = frozenset({"status", "text"})
"""What the template of error pages may name beside PAGE."""


class Desk(Protocol):
    """What a site needs of an episode: its database and sessions."""

    sessions: VisitorSessions
    statements_allowed: int | None
    first_user: JsonValue
    """The user that a visitor without a cookie is signed in as."""

    @property
    def kept_pages(self) -> KeptPages | None:
        """The pages of the world as it was built; None once this episode has rows of its own."""
        ...

    @property
    def look(self) -> Mapping[str, str]:
        """How this episode's pages look, by the names of `looks`."""
        ...

    def reading(self) -> Database:
        """Return the database to read."""
        ...

    def writing(self) -> Database:
        """Return the database to write to."""
        ...

    def undoing(self, database: Database) -> AbstractContextManager[None]:
        """Return a block whose writes are undone if it raises."""
        ...


class _Undone(Exception):
    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.text)
        self.refused = refused


class _Link(Callable):
    """`link(page=2)` in a template: this address with parameters changed."""

    __slots__ = ("_address",)

    def __init__(self, address: SiteAddress) -> None:
        self._address = address

    def __call__(self, **values: object) -> str:
        return str(self._address.changed(**values))


@dataclass(frozen=True)
class AppSite:
    """The screens, forms and templates of an app, ready to answer."""

    screens: Routes[Screen]
    forms: Routes[CompiledForm]
    templates: Templates
    users: str | None
    sign_in: str
    error_template: str
    texts: SiteTexts

    def respond(self, request: SiteRequest, desk: Desk) -> SiteResponse:
        """Answer a request. Raises SimulatorFault for mistakes of the app's author."""
        visit = self._visit(request, desk)
        return visit.post() if request.method == "POST" else visit.get()

    def error_page(self, request: SiteRequest, desk: Desk, status: int, text: str) -> SiteResponse:
        """Return an error page of the site, whatever was asked for."""
        return self._visit(request, desk).failed(status, text)

    def other_page(self, request: SiteRequest, desk: Desk, status: int, html: str) -> SiteResponse:
        """Return a page that is none of the site's, whatever was asked for. The visitor keeps the session."""
        return SiteResponse(status, self._visit(request, desk).token, html)

    def _visit(self, request: SiteRequest, desk: Desk) -> _Visit:
        token, session = request.session, desk.sessions.find(request.session)
        if session is None or token is None:
            token, session = desk.sessions.begin(desk.first_user if request.session is None else None)
        return _Visit(self, request, desk, token, session)


class _Visit:
    """One request on its way."""

    def __init__(self, site: AppSite, request: SiteRequest, desk: Desk, token: str, session: VisitorSession) -> None:
        self.site, self.request, self.desk, self.token, self.session = site, request, desk, token, session
        database = desk.reading()
        self.user = self._user(database)
        self.values: JsonObject = {
            "now": database.moment,
            "today": database.moment[:10],
            "user_id": self.user and self.user["id"],
            "role": self.user and self.user["role"],
            "look": dict(desk.look),
        }

    def _user(self, database: Database) -> JsonObject | None:
        if self.session.user is None or self.site.users is None:
            return None
        return next(iter(database.rows(self.site.users, {"id": self.session.user})), None)

    def get(self) -> SiteResponse:
        found = self.site.screens.find(self.request.address.path)
        if found is None:
            return self.failed(404, self._said("no_page"))
        screen, parameters = found
        barred = self._barred(screen.roles)
        if barred is not None:
            return barred
        kept = self.desk.kept_pages if not self.session.has_messages else None
        key = (str(self.values["now"]), self.request.address, self.values["user_id"])
        page = None if kept is None else kept.get(key)
        if page is None:
            shown = screen.show(self.desk.reading(), self.values, parameters, dict(self.request.address.query))
            if isinstance(shown, Refused):
                status = shown.shown if isinstance(shown.shown, int) else 403
                return self.failed(status, shown.text, shown.rule)
            page = self._rendered(screen, shown)
            if kept is not None:
                kept.keep(key, page)
        if page.file_name is not None:
            return SiteResponse(200, self.token, download=Download(page.file_name, page.html))
        if not page.fragment:
            self.session.shown()
        return SiteResponse(200, self.token, page.html)

    def _rendered(self, screen: Screen, shown: Shown) -> KeptPage:
        html = self.site.templates.render(
            screen.source.template, {**shown.values, **self._context(shown.title, shown.pager)}
        )
        return KeptPage(html, shown.file_name, screen.source.fragment)

    def post(self) -> SiteResponse:
        found = self.site.forms.find(self.request.address.path)
        if found is None:
            return self.failed(404, self._said("no_page"))
        form, parameters = found
        barred = self._barred(form.roles)
        if barred is not None:
            return barred
        sent = _grouped(self.request.entries)
        prepared = form.prepare(self.desk.reading(), self.values, parameters, sent)
        if isinstance(prepared, Flawed):
            return self._back(sent, form.pattern, flaws=prepared.flaws)
        if isinstance(prepared, Refused):
            return self._refused(prepared, form, sent)
        database = self.desk.writing()
        try:
            with self.desk.undoing(database):
                outcome = form.carry_out(
                    database, prepared, referrer=self.request.referrer, statements=self.desk.statements_allowed
                )
                if isinstance(outcome, Refused):
                    raise _Undone(outcome)
        except _Undone as undone:
            return self._refused(undone.refused, form, sent)
        return self._done(outcome)

    def _done(self, done: Done) -> SiteResponse:
        if done.signs:
            # A new token, as sites do against fixation.
            self.token, self.session = self.desk.sessions.begin(done.user)
        if done.toast:
            self.session.flashes.append(Flash("done", done.toast))
        then = done.then if done.then.startswith("/") and not done.then.startswith("//") else "/"
        return SiteResponse(303, self.token, location=then, statements=done.statements)

    def _barred(self, roles: list[str] | None) -> SiteResponse | None:
        """Return the response to a visitor who may not be here; None for one who may."""
        if roles is None or (self.user is not None and self.user["role"] in roles):
            return None
        if self.user is not None:
            return self.failed(403, self._said("not_allowed"), "role")
        wanted = str(self.request.address) if self.request.method == "GET" else self.request.referrer
        return SiteResponse(
            303, self.token, location=str(SiteAddress(self.site.sign_in, (("next", wanted),))), rule="sign_in"
        )

    def _refused(self, refused: Refused, form: CompiledForm, sent: Sent) -> SiteResponse:
        if isinstance(refused.shown, int):
            return self.failed(refused.shown, refused.text, refused.rule)
        if refused.shown == "inline":
            return self._back(sent, form.pattern, flaws={refused.field or "": refused.text}, rule=refused.rule)
        if refused.shown == "dialog":
            return self._back(sent, form.pattern, dialog=refused.text, rule=refused.rule)
        return self._back(sent, form.pattern, flash=refused.text, rule=refused.rule)

    def _back(
        self,
        sent: Sent,
        pattern: str,
        *,
        flaws: Mapping[str, str] | None = None,
        dialog: str = "",
        flash: str = "",
        rule: str | None = None,
    ) -> SiteResponse:
        """Redirect to the page of the form, which then shows what is wrong and what was typed."""
        session = self.session
        session.flaws, session.dialog, session.refused = flaws or {}, dialog, self.request.address.path
        session.old = {
            name: texts[0] if len(texts) == 1 else texts
            for name, values in sent.items()
            if (texts := [value for value in values if isinstance(value, str)])
        }
        if flash:
            session.flashes.append(Flash("error", flash))
        return SiteResponse(303, self.token, location=self.request.referrer, rule=rule or f"{pattern}.fields")

    def _said(self, name: str) -> str:
        return self.site.texts.say(name, self.values["look"])

    def failed(self, status: int, text: str, rule: str | None = None) -> SiteResponse:
        """Return an error page."""
        context = {**self._context(f"{status}", None), "status": status, "text": text}
        html = self.site.templates.render(self.site.error_template, context)
        self.session.shown()
        return SiteResponse(status, self.token, html, rule=rule)

    def _context(self, title: str, pager: Pager | None) -> dict[str, Any]:
        head = Markup(
            '<meta charset="utf-8"><title>{}</title><link rel="stylesheet" href="{}"><script src="{}" defer></script>'
        )
        link = _Link(self.request.address)
        return {
            **self.values,
            "head": head.format(escape(title), STYLE, SCRIPT),
            "title": title,
            "user": self.user,
            "path": self.request.address.path,
            "link": link,
            "pager": _pages(pager, link),
            "flashes": [{"kind": flash.kind, "text": flash.text} for flash in self.session.flashes],
            "flaws": self.session.flaws,
            "old": self.session.old,
            "refused": self.session.refused,
            "dialog": self.session.dialog,
        }


def _pages(pager: Pager | None, link: _Link) -> JsonObject | None:
    if pager is None:
        return None
    return {
        "page": pager.page,
        "pages": pager.pages,
        "total": pager.total,
        "previous": link(page=pager.page - 1) if pager.page > 1 else None,
        "next": link(page=pager.page + 1) if pager.page < pager.pages else None,
    }


def _grouped(entries: tuple[tuple[str, str | Upload], ...]) -> Sent:
    found: defaultdict[str, list[str | Upload]] = defaultdict(list)
    for name, value in entries:
        found[name].append(value)
    return found


def user_problem(row: JsonValue) -> str | None:
    """Return what is wrong with a row of users; None if nothing is."""
    if not is_object(row):
        return None
    missing = [name for name in ("id", "role") if name not in row]
    return f"the SQL of users gives no column {missing[0]!r}" if missing else None

"""A built app world, and its state in one episode: a database, the sessions of its visitors, and the agent's browser."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self

from simtrain.contracts.request import Request
from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import Document
from simtrain.values.clock import instant, seconds
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import Changes, JsonValue, Observation, ToolSpec
from simtrain.worlds.app.actions.action_space import ActionSpace
from simtrain.worlds.app.actions.browsergym import BrowserGymActions
from simtrain.worlds.app.actions.playwright import PlaywrightTools
from simtrain.worlds.app.browser.browser import AppBrowser
from simtrain.worlds.app.building import build_database, style_of
from simtrain.worlds.app.fields import Upload
from simtrain.worlds.app.spec import AppSpec, AppView
from simtrain.worlds.app.web.exchange import SiteRequest, SiteResponse
from simtrain.worlds.app.web.kept_pages import KeptPages
from simtrain.worlds.app.web.sessions import VisitorSessions
from simtrain.worlds.app.web.site import STYLE, AppSite
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.forking import restored
from simtrain.worlds.service.source import ServiceSource
from simtrain.worlds.service.spec import ServiceSpec
from simtrain.worlds.service.world import ServiceState, ServiceWorld

_SPACES: dict[str, type[ActionSpace]] = {"playwright": PlaywrightTools, "browsergym": BrowserGymActions}


class AppParts(Protocol):
    """What a world is built from: the parsed file, the folder of its templates, and the service world whose database it shares."""

    spec: AppSpec
    document: Document
    view: AppView
    folder: Path
    service: ServiceSource | None

    @cached_property
    def digest(self) -> str:
        """Return the digest of all that the world is built from."""
        ...

    def site_over(self, database: Database) -> AppSite:
        """Return the site over a database. Raises InputError with the place in the file."""
        ...


class AppWorld(ServiceWorld):
    """An app: a service world's database and tools (none, if it shares none), and the site over it."""

    kind = "app"

    def __init__(self, source: AppParts, variant: Variant) -> None:
        """Build the world, without a view. Raises InputError with the place in the file."""
        spec, document = source.spec, source.document
        seed = spec.seed if variant.seed is None else variant.seed
        base = build_database(spec, document, source.service, variant, seed=seed)
        shared = source.service
        service = shared.spec if shared is not None else _without_tools(source)
        super().__init__(service, shared.document if shared else document, source.digest, variant, base=base)
        self.name = spec.name
        self.seed = seed
        self.description = spec.description
        self.manifest = None
        self.site_name = spec.site
        self.downloads = spec.downloads
        self.site = source.site_over(base)
        if "clock" in spec.model_fields_set:
            self.start, self.per_step = instant(spec.clock.start), seconds(spec.clock.per_step)
        self.style = style_of(spec, source.folder)

    def viewed(self, source: AppParts) -> Self:
        """Return the world as a scenario meets it, over the same tables. Raises InputError, with the place in the scenario."""
        other = copy(self)
        other._view(source)
        return other

    def _view(self, source: AppParts) -> None:
        self.digest = source.digest
        self.view = source.view
        self.kept_pages = KeptPages()
        self.look = _look(source.spec, source.view.look)
        self.start_page = source.view.start or source.spec.start
        self.actions: ActionSpace = _SPACES[source.view.actions]({STYLE: self.style})
        self.descriptors = {**self.descriptors, **self.actions.descriptors}
        offered = self.tools if source.view.tools else ()
        self.tools: tuple[ToolSpec, ...] = (*self.actions.tools, *offered)
        if source.view.signed_in is not None:
            self._check_user(source)

    def _check_user(self, source: AppParts) -> None:
        users = source.spec.users
        if users is None:
            raise InputError("nobody can sign in here", place="signed_in")
        if not self.base.rows(users.read, {"id": source.view.signed_in}):
            raise InputError(f"there is no user {source.view.signed_in!r}", place="signed_in")

    def open(self, changes: Changes | None = None) -> AppState:
        return AppState(self, None if changes is None else restored(self.name, self.content, changes))

    def _over(self, base: Database) -> Self:
        other = super()._over(base)
        other.kept_pages = KeptPages()
        return other


def _look(spec: AppSpec, chosen: Mapping[str, str]) -> Mapping[str, str]:
    """Return a value for each of the app's looks, in dictionaries that templates read. Raises InputError."""
    for name, value in chosen.items():
        if name not in spec.looks:
            raise InputError(f"the app has no look {name!r}", remedy=nearest(name, spec.looks), place=f"look.{name}")
        if value not in spec.looks[name]:
            raise InputError(
                f"the look {name!r} cannot be {value!r}", remedy=nearest(value, spec.looks[name]), place=f"look.{name}"
            )
    return {name: chosen.get(name, values[0]) for name, values in spec.looks.items()}


def _without_tools(source: AppParts) -> ServiceSpec:
    spec = source.spec
    return ServiceSpec.model_construct(
        kind="service",
        name=spec.name,
        description=spec.description,
        seed=spec.seed,
        clock=spec.clock,
        tables=spec.tables,
        tools=[],
    )


class AppState(ServiceState):
    """An app open for one episode. The site answers from its database; the browser is the agent's."""

    __slots__ = ("_answering", "_browser", "sessions", "statements_allowed", "statements_run", "world")

    world: AppWorld

    def __init__(self, world: AppWorld, own: Database | None = None) -> None:
        super().__init__(world, own)
        self.sessions = VisitorSessions(world.seed)
        self.statements_allowed: int | None = None
        self.statements_run = 0
        self._answering: Callable[[SiteRequest], SiteResponse] | None = None
        # Made on first use: opening an episode makes no page.
        self._browser: AppBrowser | None = None

    @property
    def browser(self) -> AppBrowser:
        """The agent's browser, which begins at the first page of the app."""
        if self._browser is None:
            browser = self._browser = AppBrowser(self, self.world.site_name)
            browser.goto(browser.origin + self.world.start_page)
        return self._browser

    # What the site needs of an episode

    @property
    def kept_pages(self) -> KeptPages | None:
        """The pages of the world as it was built; None once this episode has rows of its own."""
        return self.world.kept_pages if self._own is None else None

    @property
    def look(self) -> Mapping[str, str]:
        """How the pages look, by the names of `looks`."""
        return self.world.look

    @property
    def first_user(self) -> JsonValue:
        """The user that a visitor without a cookie is signed in as."""
        return self.world.view.signed_in

    def reading(self) -> Database:
        """Return the database to read."""
        return self._present()

    def writing(self) -> Database:
        """Return the database to write to."""
        return self._forked()

    def undoing(self, database: Database) -> AbstractContextManager[None]:
        """Return a block whose writes are undone if it raises."""
        return database.savepoint("form", keep=True)

    def respond(self, request: SiteRequest) -> SiteResponse:
        """Answer a request to the site, from whoever it comes. Raises SimulatorFault."""
        with self._lock:
            return (self._answering or self.site_response)(request)

    def site_response(self, request: SiteRequest) -> SiteResponse:
        """Return what the site itself answers. Raises SimulatorFault."""
        response = self.world.site.respond(request, self)
        self.statements_run += response.statements
        return response

    @contextmanager
    def answering(self, respond: Callable[[SiteRequest], SiteResponse]) -> Generator[None]:
        """Let `respond` answer requests in place of the site while the block runs."""
        with self._lock:
            before, self._answering = self._answering, respond
            try:
                yield
            finally:
                self._answering = before

    # What the browser needs beside the site

    def file(self, path: str) -> Upload:
        """Return a file of the store. Raises KeyError for an unknown one."""
        row = self._present().first("select content from files where path = :path", {"path": path})
        if row is None:
            raise KeyError(path)
        text = str(row[0])
        return Upload(path.rpartition("/")[2], text, len(text.encode()))

    def save(self, name: str, text: str) -> str:
        """Save a download and return its path; a file of that name is kept, and the new one numbered."""
        database = self._forked()
        stem, dot, ending = name.partition(".")
        path, number = f"{self.world.downloads}/{name}", 0
        while database.first("select 1 from files where path = :path", {"path": path}) is not None:
            number += 1
            path = f"{self.world.downloads}/{stem} ({number}){dot}{ending}"
        database.run("insert into files values (:path, :text)", {"path": path, "text": text}, mode=Mode.WRITE)
        return path

    # What an environment needs

    def answer(self, request: Request) -> Observation:
        if request.tool.name in self.world.compiled:
            return super().answer(request)
        with self._lock:
            return self.world.actions.answer(self.browser, request, now=self.clock.now)

    def takes_time(self, request: Request) -> bool:
        return request.tool.name in self.world.compiled and super().takes_time(request)

    def partial(self, request: Request, statements: int) -> Observation:
        if request.tool.name in self.world.compiled:
            return super().partial(request, statements)
        with self._lock:
            with self.savepoint():
                whole = self.answer(request)
                after = self.browser.copy(self)
                sessions = self.sessions.copy()
            self.statements_allowed = statements
            try:
                self.answer(request)
            finally:
                self.statements_allowed = None
            # The page is that of the whole: the visitor does not see that half of it was lost.
            self._browser, self.sessions = after, sessions
            return whole

    def statements(self, request: Request) -> int:
        """Return how many writing statements an action carries out as things stand."""
        if request.tool.name in self.world.compiled:
            return super().statements(request)
        if not request.tool.writes:
            return 0
        with self._lock, self.savepoint():
            before = self.statements_run
            self.answer(request)
            return self.statements_run - before

    @contextmanager
    def savepoint(self) -> Generator[None]:
        with self._lock:
            browser = None if self._browser is None else self._browser.copy(self)
            sessions, run = self.sessions.copy(), self.statements_run
            try:
                with super().savepoint():
                    yield
            finally:
                self._browser, self.sessions, self.statements_run = browser, sessions, run

    def fork(self) -> Self:
        with self._lock:
            other = super().fork()
            other.sessions = self.sessions.copy()
            other._browser = None if self._browser is None else self._browser.copy(other)
            return other

    def close(self) -> None:
        super().close()
        self._browser = None

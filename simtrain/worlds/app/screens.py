"""A screen of an app: what it reads from the database, apart from how anything draws it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.app.routes import parameters_of
from simtrain.worlds.app.rules import TOLD, Refused, Rules, checked_sql, checked_text
from simtrain.worlds.app.site_texts import SiteTexts
from simtrain.worlds.app.spec import ScreenSource
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.queries import Query, ReplyQueries
from simtrain.worlds.service.tool import prepare_sql

VISIT = ("now", "today", "user_id", "role")
"""What every statement of an app may name beside its own parameters."""

_LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class Pager:
    """The page of a list that is shown; pages count from 1."""

    page: int
    pages: int
    total: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What a screen shows: its values by name, its title, and the pager of its list if it has one."""

    values: JsonObject = field(repr=False)
    title: str
    pager: Pager | None = None
    file_name: str | None = None


class Screen:
    """A compiled screen at the address `pattern`."""

    def __init__(
        self, pattern: str, source: ScreenSource, document: Document, database: Database, texts: SiteTexts
    ) -> None:
        """Raises InputError with the place in the file."""
        place: Place = ("screens", pattern)
        self.pattern = pattern
        self.source = source
        self.roles = source.roles
        self._texts = texts
        known = {*VISIT, *parameters_of(pattern), *source.query}
        for name, default in source.query.items():
            if not isinstance(default, str | int) or isinstance(default, bool):
                raise document.error((*place, "query", name), "a default is a text or a whole number")
        if source.pages:
            known.add("page")
        self._lets: list[tuple[str, str]] = []
        for name, sql in source.let.items():
            self._lets.append((name, checked_sql(document, (*place, "let", name), database, sql, known)))
            known.add(name)
        self._rules = Rules(source.refuse, document, (*place, "refuse"), database, known, pattern)
        self._queries: dict[str, Query] = {}
        self._paged: tuple[str, int] | None = next(iter(source.pages.items()), None)
        if self._paged and self._paged[0] not in source.read:
            raise document.error(
                (*place, "pages", self._paged[0]),
                "`pages` names a list of `read`",
                nearest(self._paged[0], source.read),
            )
        for name, query in source.read.items():
            compiled = self._compiled(name, query, document, (*place, "read", name), database, known)
            self._queries[name] = compiled
            # SQL takes single values only; lists and objects are for the template.
            if compiled.shape == "value":
                known.add(name)
        known |= set(source.read)
        self.names = frozenset(known)
        self.title = checked_text(document, (*place, "title"), source.title, known | TOLD)
        self.file_name: Text | None = (
            checked_text(document, (*place, "download"), source.download, known | TOLD) if source.download else None
        )

    def _compiled(
        self, name: str, source: str | JsonObject, document: Document, place: Place, database: Database, known: set[str]
    ) -> Query:
        page = self._paged[1] if self._paged and self._paged[0] == name else None
        paging = {"_limit", "_offset"} if page else set[str]()
        with document.locating(place):
            query = ReplyQueries({name: source}, page=page).parts[name]
            prepare_sql(database, query.sql, known | paging, Mode.READ, f"read.{name}")
            query.learn(database, {**dict.fromkeys(known), "_limit": 0, "_offset": 0})
            if query.missing is not None:
                for unknown in sorted(query.missing.names - known - TOLD):
                    raise InputError(f"the text names {unknown!r}, which nothing binds", remedy=nearest(unknown, known))
        return query

    def show(
        self,
        database: Database,
        visit: Mapping[str, JsonValue],
        parameters: Mapping[str, str],
        query: Mapping[str, str],
    ) -> Shown | Refused:
        """Return what the screen shows. `visit` are the values of VISIT, `query` the parameters after the question mark."""
        values: JsonObject = {**visit, **parameters}
        for name, default in self.source.query.items():
            values[name] = _typed(query.get(name), default)
        for name, sql in self._lets:
            row = database.first(sql, values)
            values[name] = None if row is None else row[0]
        refused = self._rules.refusal(database, values)
        if refused is not None:
            return refused
        pager: Pager | None = None
        for name, compiled in self._queries.items():
            if compiled.page is not None:
                pager = self._turned(database, compiled, values, query)
            found = compiled.fetch(database, values)
            if found is None and compiled.shape == "one":
                missing = compiled.missing
                text = missing.render(values) if missing else self._texts.say("no_page", values["look"])
                return Refused(404, text, f"{self.pattern}.{name}")
            values[name] = (found or [])[: compiled.page] if compiled.page is not None else found
        return Shown(
            values, self.title.render(values), pager, self.file_name.render(values) if self.file_name else None
        )

    def _turned(self, database: Database, query: Query, values: JsonObject, given: Mapping[str, str]) -> Pager:
        size = query.page or 1
        total = query.total(database, values)
        pages = max(1, -(-total // size))
        page = min(max(int(_typed(given.get("page"), 1)), 1), pages)
        values.update(page=page, _limit=size, _offset=(page - 1) * size)
        return Pager(page, pages, total)


def _typed(given: str | None, default: JsonValue) -> JsonValue:
    """Return a parameter as its default's type; the default if there is none or it has another form."""
    if given is None:
        return default
    if isinstance(default, int):
        return int(given) if given.isdecimal() and len(given) < 16 and int(given) < _LARGEST else default
    return given

"""The design of a web: sites and page kinds of a world file, with parsed and checked templates, before there are any facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from simtrain.files.yaml_files import Place
from simtrain.values.errors import InputError, nearest
from simtrain.worlds.search.pages import tree
from simtrain.worlds.search.pages.templates import Scope, parse
from simtrain.worlds.search.spec.bounds import split_bound
from simtrain.worlds.search.spec.parts import days
from simtrain.worlds.search.spec.schema import Attribute, Schema, Type
from simtrain.worlds.search.spec.site_settings import NearDuplicate
from simtrain.worlds.search.spec.sites import DisputesSpec, PageSpec, SheetPart, SiteSpec, TablePart
from simtrain.worlds.search.spec.units import with_invented

_SLOT = re.compile(r"\{\{\s*([a-z_.]+)\s*\}\}")
_FIELD = re.compile(r"([a-z_.]+)(\|.*)?")


@dataclass(eq=False, slots=True)
class SiteDesign:
    """A site and its page kinds."""

    id: int
    name: str
    spec: SiteSpec
    pages: list[PageDesign] = field(default_factory=list["PageDesign"])

    @property
    def lag(self) -> int:
        """The site's delay, in days."""
        return days(self.spec.lag)

    @property
    def renewed(self) -> int:
        """The greatest age, in days, of an undated page relative to what the site knows."""
        return days(self.spec.renewed)


@dataclass(frozen=True, eq=False, slots=True)
class PageDesign:
    """A page kind of a site."""

    index: int
    site: SiteDesign
    spec: PageSpec
    place: Place
    label: str
    page_kind: str
    kind: Type | None
    group: Attribute | None
    scope: Scope
    titles: list[tuple[tree.Node, ...]]
    parts: list[list[tuple[tree.Node, ...]]]
    url: tuple[str, ...]
    """Fixed texts and slots, alternating, text first."""
    dated: tuple[str, int] | None
    copied: PageDesign | None = None
    """The page kind of another site that this one nearly copies."""

    @property
    def corrected(self) -> frozenset[int]:
        """The ids of the facts that it puts right."""
        asked = tree.tests(node for part in self.parts for wording in part for node in wording)
        return frozenset(test.fact.attribute.id for test in asked if isinstance(test, tree.Corrected))

    @property
    def group_is_flag(self) -> bool:
        """True if a flag makes two lists: the rows that have it set, and the others."""
        return self.group is not None and self.group.kind == "flag"


class Design:
    """All sites of a world, in the order of the file."""

    def __init__(self, schema: Schema) -> None:
        """Parse every template. Raises InputError with its place."""
        self.schema = schema
        with schema.document.at(()):
            self.units: Mapping[str, tuple[str, float]] = with_invented(schema.spec.units)
        self.sites: list[SiteDesign] = []
        self._pages = 0
        for number, (name, spec) in enumerate(schema.spec.sites.items(), 1):
            site = SiteDesign(number, name, spec)
            for index, page in enumerate(spec.pages):
                site.pages.append(self._page(site, page, ("sites", name, "pages", index)))
            for index, copy in enumerate(spec.near_duplicates):
                site.pages.append(self._copy(site, copy, ("sites", name, "near_duplicates", index)))
            self.sites.append(site)
        for site in self.sites:
            for other in self.sites:
                if other is not site and other.spec.domain == site.spec.domain:
                    place: Place = ("sites", other.name, "domain")
                    raise schema.document.error(place, f"two sites have the domain {site.spec.domain}", "rename one")

        if schema.spec.disputes is not None:
            self._check_disputes(schema.spec.disputes)

    def _check_disputes(self, spec: DisputesSpec) -> None:
        """Raise an InputError unless every fact of a rule and every source exists, and facts under `erratum` have a page of corrections."""
        for rule, paths in (("recency", spec.recency), ("majority", spec.majority), ("erratum", spec.erratum)):
            for place, path in enumerate(paths):
                self._check_fact(path, ("disputes", rule, place))
        known = [site.name for site in self.sites]
        for name, paths in spec.primary.items():
            if name not in known:
                raise self.schema.document.error(
                    ("disputes", "primary", name), f"there is no site {name!r}", nearest(name, known)
                )
            for place, path in enumerate(paths):
                self._check_fact(path, ("disputes", "primary", name, place))
        corrected = {fact for site in self.sites for page in site.pages for fact in page.corrected}
        for place, path in enumerate(spec.erratum):
            if self.schema.fact(path).id not in corrected:
                raise self.schema.document.error(
                    ("disputes", "erratum", place),
                    f"no page corrects {path}",
                    f"test it with `is corrected` on a page with `corrections: true` (list: {path.partition('.')[0]})",
                )

    def _check_fact(self, path: str, place: Place) -> None:
        with self.schema.document.at(place):
            attribute = self.schema.fact(path)
            if attribute.kind in ("name", "text", "coordinates"):
                raise InputError(f"sites are never wrong about a {attribute.kind}", remedy="leave it out")

    def _page(self, site: SiteDesign, spec: PageSpec, place: Place) -> PageDesign:
        document = self.schema.document
        kind: Type | None = None
        group: Attribute | None = None
        names: dict[str, Type] = {}
        if spec.for_ or spec.list_:
            with document.at((*place, "for" if spec.for_ else "list")):
                kind = self.schema.type(spec.for_ or spec.list_ or "")
        if spec.for_ and kind:
            names[kind.name] = kind
        if spec.list_ and kind:
            with document.at((*place, "order")):
                kind.attribute(
                    spec.order if "name" in kind.attributes or spec.order != "name" else next(iter(kind.attributes))
                )
        if spec.by and kind:
            with document.at((*place, "by")):
                group = kind.attribute(spec.by)
                if group.kind not in ("category", "ref", "flag"):
                    raise InputError(
                        f"lists are grouped by a category, a ref or a flag, but {spec.by} is a {group.kind}"
                    )
            if group.kind == "ref":
                names[self.schema.types[group.target or ""].name] = self.schema.types[group.target or ""]
        members = kind if spec.list_ else None
        scope = Scope(self.schema, self.units, names, members, group, spec.corrections, voices=site.spec.voices)
        label = spec.as_ or (kind.name if spec.for_ and kind else kind.plural if kind else "home")
        self._pages += 1
        return PageDesign(
            self._pages,
            site,
            spec,
            place,
            label,
            spec.kind or ("article" if spec.for_ else "home" if spec.home else "category" if spec.by else "list"),
            kind,
            group,
            scope,
            self._titles(spec, scope, place),
            [*self._parts(spec, scope, place), *self._below(site, label, scope)],
            self._url(spec, kind, place),
            self._dated(spec, kind, place),
        )

    def _copy(self, site: SiteDesign, copy: NearDuplicate, place: Place) -> PageDesign:
        """Return a page kind that copies another: its body, then a note, then the parts common to all pages of this site."""
        pages = {f"{one.name}.{page.label}": page for one in self.sites for page in one.pages if page.spec.for_}
        found = pages.get(copy.of)
        if found is None or found.copied:
            remedy = nearest(copy.of, pages) if copy.of not in pages else None
            raise self.schema.document.error(
                (*place, "of"), f"no earlier site has a page kind {copy.of!r} for single rows", remedy
            )
        # The notes and footers of the copy are not in the voice of the page's author.
        scope = replace(found.scope, voices={})
        note = [copy.note] if isinstance(copy.note, str) else copy.note
        self._pages += 1
        return replace(
            found,
            index=self._pages,
            site=site,
            spec=found.spec.model_copy(update={"share": copy.share, "where": None, "date": None, "url": copy.url}),
            place=place,
            label=copy.as_,
            page_kind=copy.kind,
            parts=[
                *found.parts[: len(found.spec.body)],
                [self._parse(text.strip(), scope, (*place, "note")) for text in note],
                *self._below(site, copy.as_, scope),
            ],
            url=self._url(found.spec.model_copy(update={"url": copy.url}), found.kind, place),
            dated=None,
            copied=found,
        )

    def _below(self, site: SiteDesign, label: str, scope: Scope) -> list[list[tuple[tree.Node, ...]]]:
        """Return the parts at the end of every page of a site: comments, links to its main pages, a footer."""
        spec, place = site.spec, ("sites", site.name)
        found: list[list[tuple[tree.Node, ...]]] = []
        if spec.comments is not None and label in spec.comments.under and scope.members is None:
            here = (*place, "comments", "under", label)
            texts = [
                self._parse(text.strip(), scope, (*here, at)) for at, text in enumerate(spec.comments.under[label])
            ]
            readers = tree.WordsPart((tuple(spec.comments.readers),))
            found.append(
                [
                    (
                        tree.Comments(
                            spec.comments.share, spec.comments.most, spec.comments.heading, readers, tuple(texts)
                        ),
                    )
                ]
            )
        fixed = replace(scope, voices={})
        if spec.navigation:
            links = [f"{{{{ {text!r}|link({label!r}) }}}}" for text, label in spec.navigation.items()]
            found.append([self._parse(" | ".join(links), fixed, (*place, "navigation"))])
        if spec.footer is not None:
            found.append([self._parse(spec.footer.strip(), fixed, (*place, "footer"))])
        return found

    def _parse(self, source: str, scope: Scope, place: Place) -> tuple[tree.Node, ...]:
        document = self.schema.document
        try:
            return parse(source, scope)
        except InputError as error:
            line = document.line(place) or 0
            # A YAML block text begins on the line after its key.
            inner = (error.line or 1) - 1 + (1 if "\n" in source else 0)
            found = document.error(place, error.problem, error.remedy)
            found.line = line + inner
            raise found from None

    def _titles(self, spec: PageSpec, scope: Scope, place: Place) -> list[tuple[tree.Node, ...]]:
        given = [spec.title] if isinstance(spec.title, str) else spec.title
        found: list[tuple[tree.Node, ...]] = []
        for index, text in enumerate(given):
            here = (*place, "title") if isinstance(spec.title, str) else (*place, "title", index)
            nodes = self._parse(text, scope, here)
            # A title becomes a single expression of the generated code.
            if any(
                isinstance(node, tree.LoopPart | tree.Branch | tree.Choice | tree.Paging)
                or getattr(node, "link", None) is not None
                for node in nodes
            ):
                raise self.schema.document.error(
                    here,
                    "a title may hold text and facts only: no loops, conditions, alternatives with facts, or links",
                )
            found.append(nodes)
        return found

    def _parts(self, spec: PageSpec, scope: Scope, place: Place) -> list[list[tuple[tree.Node, ...]]]:
        found: list[list[tuple[tree.Node, ...]]] = []
        for index, part in enumerate(spec.body):
            here: Place = (*place, "body", index)
            if isinstance(part, TablePart):
                with self.schema.document.at(here):
                    source = self._table(part, scope)
                found.append([self._parse(source, scope, here)])
            elif isinstance(part, SheetPart):
                with self.schema.document.at(here):
                    source = self._sheet(part, scope)
                found.append([self._parse(source, scope, here)])
            elif isinstance(part, str):
                found.append([self._parse(part.strip(), scope, here)])
            else:
                found.append([self._parse(text.strip(), scope, (*here, number)) for number, text in enumerate(part)])
        if spec.list_ and not any(
            isinstance(node, tree.Paging) for part in found for wording in part for node in wording
        ):
            found.append([(tree.Paging(),)])
        return found

    def _table(self, part: TablePart, scope: Scope) -> str:
        rows = parse("{% for row in " + part.table.of + " %}{% endfor %}", scope)[0]
        kind = rows.rows.kind if isinstance(rows, tree.LoopPart) else None
        heads: list[str] = []
        cells: list[str] = []
        for column in part.table.columns:
            path, filters, attribute = self._field(column, "row", kind)
            heads.append(_heading(path, attribute))
            cells.append(f"{{{{ {path}{filters}{'' if '|or(' in filters else self._dash(path, scope, kind)} }}}}")
        head = f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
        return f"{head}{{% for row in {part.table.of} %}}\n| {' | '.join(cells)} |\n{{% endfor %}}"

    def _dash(self, path: str, scope: Scope, kind: Type | None) -> str:
        inner = Scope(scope.schema, scope.units, {**scope.names, "row": kind} if kind else scope.names)
        try:
            parse(f"{{{{ {path} }}}}", inner)
        except InputError as error:
            return "|or('–')" if "may be missing" in error.problem else ""
        return ""

    def _sheet(self, part: SheetPart, scope: Scope) -> str:
        root = next(iter(scope.names), "")
        lines: list[str] = []
        for given in part.sheet.fields:
            path, filters, attribute = self._field(given, root, scope.names.get(root))
            line = f"- **{_heading(path, attribute)}:** {{{{ {path}{filters} }}}}\n"
            lines.append(f"{{% if {path} %}}\n{line}{{% endif %}}\n" if self._dash(path, scope, None) else line)
        return "".join(lines).strip()

    def _field(self, given: str, root: str, kind: Type | None) -> tuple[str, str, Attribute | None]:
        found = _FIELD.fullmatch(given)
        if found is None:
            raise InputError(f"{given!r} is not a field", remedy="write it like crew, sector.opened|year or name|link")
        attribute: Attribute | None = None
        current = kind
        for step in found[1].split("."):
            attribute = current.attribute(step) if current else None
            current = self.schema.types.get(attribute.target or "") if attribute else None
        return f"{root}.{found[1]}", found[2] or "", attribute

    def _url(self, spec: PageSpec, kind: Type | None, place: Place) -> tuple[str, ...]:
        parts = _SLOT.split(spec.url)
        slots = parts[1::2]
        here = (*place, "url")
        # Brackets and parentheses would end a Markdown link; `?` is for the pages of a list.
        if not spec.url.startswith("/") or re.search(r"[\s?#(){}\[\]]", "".join(parts[::2])):
            raise self.schema.document.error(here, f"{spec.url!r} is not a path", "write it like /stations/{{ slug }}")
        needed = ("slug", "id") if spec.for_ else ("group",) if spec.by else ()
        for slot in slots:
            step = slot.removesuffix(".slug")
            attribute = kind.attributes.get(step) if kind else None
            if slot in needed and not (slot == "slug" and kind and "name" not in kind.attributes):
                continue
            if not (spec.for_ and slot.endswith(".slug") and attribute and attribute.kind == "ref"):
                raise self.schema.document.error(
                    here, f"{slot!r} is unknown here", f"known: {', '.join(needed) or 'none'}"
                )
        if needed and not set(needed) & set(slots):
            raise self.schema.document.error(
                here, "all these pages would have the same address", f"use {{{{ {needed[0]} }}}} in it"
            )
        return tuple(parts)

    def _dated(self, spec: PageSpec, kind: Type | None, place: Place) -> tuple[str, int] | None:
        if spec.date is None:
            return None
        with self.schema.document.at((*place, "date")):
            path, shift = split_bound(spec.date)
            steps = path.split(".")
            if kind is None or steps[0] != kind.name or not spec.for_:
                raise InputError(
                    f"{spec.date!r} is not a fact of the page's row", remedy="write it like station.opened+14d"
                )
            found = kind
            for step in steps[1:-1]:
                found = self.schema.type(found.attribute(step).target or "")
            if len(steps) < 2 or found.attribute(steps[-1]).kind != "date":
                raise InputError(f"{path} is not a date")
            return ".".join(steps[1:]), shift


def _heading(path: str, attribute: Attribute | None) -> str:
    """Return the label of a fact for a heading, preceded by the name of the ref that leads to it."""
    steps = path.split(".")[1:]
    label = attribute.label if attribute else steps[-1]
    words = f"{steps[-2].replace('_', ' ')} {label}" if len(steps) > 1 else label
    return words[:1].upper() + words[1:]

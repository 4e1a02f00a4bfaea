"""Generates the Python source that writes facts: their words and links, the group of a list, and its paging."""

from collections.abc import Mapping, Sequence
from typing import cast

from simtrain.values.errors import InputError
from simtrain.worlds.search.pages.design import PageDesign, SiteDesign
from simtrain.worlds.search.pages.formats import Filter, article, is_plain_text, writer
from simtrain.worlds.search.pages.provenance_source import ProvenanceSource
from simtrain.worlds.search.pages.python_source import added, packed_source
from simtrain.worlds.search.pages.tree import FactPart, GroupFact, PageFact, PageLink, walk
from simtrain.worlds.search.spec.schema import Attribute, Schema


class FactsSource(ProvenanceSource):
    """In the generated code, `A2` holds other names of a type, `T4` and `U4` the ids and addresses of a page kind."""

    def __init__(
        self, schema: Schema, page: PageDesign, sites: Sequence[SiteDesign], units: Mapping[str, tuple[str, float]]
    ) -> None:
        super().__init__(schema, page.site)
        self._page = page
        # A page of corrections states the truth, so its statements follow no claim.
        self._sure = self._sure or page.spec.corrections
        self._linker = Linker(page, sites)
        self._units = units
        self._written_by = page.copied.site if page.copied else page.site
        # A page that states a row's other name must call the row by its main name.
        self._renamed = {
            node.path.words
            for part in page.parts
            for wording in part
            for node in walk(wording)
            if isinstance(node, FactPart) and node.alias is not None
        }

    def _written(self, attribute: Attribute, filters: Sequence[Filter], value: str) -> str:
        if is_plain_text(attribute, filters):
            return value
        name = self._new("F")
        self.needs.functions[name] = writer(attribute, filters, self._units)
        return f"{name}({value})"

    def _fact(self, node: FactPart) -> None:
        attribute, row = node.attribute, self._row(node.path)
        text, raw = self._new("v"), f"{self._column(attribute)}[{row}]"
        if node.fallback is not None:
            # Any ref on the path may be missing: it leads to row 0, which has no facts.
            kept = self._new("w")
            value = f"{self._column(self._name_of(attribute))}[{kept}]" if attribute.kind == "ref" else kept
            missing = f"not {kept}" if attribute.kind == "ref" else f"{kept} is None"
            self._line(f"{kept} = {raw}")
            self._line(f"{text} = {node.fallback!r} if {missing} else {self._written(attribute, node.filters, value)}")
        elif attribute.kind == "ref":
            name = self._mention(self._name_of(attribute), raw, f"{node.path.words}.{attribute.name}")
            self._line(f"{text} = {self._written(attribute, node.filters, name)}")
        elif attribute.kind == "name":
            name = self._mention(attribute, row, node.path.words, node.alias)
            self._line(f"{text} = {self._written(attribute, node.filters, name)}")
        else:
            self._line(f"{text} = {self._written(attribute, node.filters, raw)}")
        if node.article:
            self._pending.append((False, self._new("v")))
            self.needs.functions["article"] = article
            self._line(f"{self._pending[-1][1]} = article({text})")
        if node.link is not None:
            self._linked(node, text, row, raw)
            return
        if node.fallback is not None and node.path.refs:
            # Behind a missing ref there is no row for a statement.
            self._flush()
            self._line(f"if {row}:")
            self._depth += 1
            self._state(attribute, row, text)
            self._advance()
            self._depth -= 1
        else:
            self._state(attribute, row, text)
        self._pending.append((False, text))

    def _name_of(self, ref: Attribute) -> Attribute:
        return self._schema.types[cast(str, ref.target)].attributes["name"]

    def _mention(self, name: Attribute, row: str, path: str, alias: str | None = None) -> str:
        """Return an expression for a row's name, or sometimes its alias; `path` is the template's path to the row."""
        if alias is not None:
            return f"{self._aliases(name.type, alias)}[{row}]"
        plain = f"{self._column(name)}[{row}]"
        shares = self._schema.spec.entities[name.type].aliases
        share = self._written_by.spec.aliases
        if self._silent or not share or path in self._renamed or not (shares.former or shares.short):
            return plain
        return f"({self._aliases(name.type, '')}.get({row}, {plain}) if random() < {share!r} else {plain})"

    def _aliases(self, kind: str, alias: str) -> str:
        name = f"A{self._schema.types[kind].position}{alias}"
        self.needs.aliases[name] = (kind, alias)
        return name

    def _linked(self, node: FactPart, text: str, row: str, raw: str) -> None:
        target, key = self._target(node, row, raw)
        self._link(target, key, text, node.attribute, row)

    def _target(self, node: FactPart, row: str, raw: str) -> tuple[PageDesign, str]:
        attribute = node.attribute
        if attribute.kind in ("name", "ref"):
            kind = attribute.type if attribute.kind == "name" else cast(str, attribute.target)
            return self._linker.pages_of(kind, node.link or ""), row if attribute.kind == "name" else raw
        return self._linker.lists_by(attribute, node.link or ""), raw

    def _link(self, target: PageDesign, key: str, text: str, attribute: Attribute | None, row: str) -> None:
        pages, urls = f"T{target.index}", f"U{target.index}"
        self.needs.pages[pages], self.needs.urls[urls] = target, target
        found, page, shift = self._new("h"), self._new("t"), self._new("b")
        many = target.spec.for_ is not None
        self._line(
            f"{found} = {urls}[{key}]; {page} = {pages}[{key}]"
            if many
            else f"{found} = {urls}.get({key}); {page} = {pages}.get({key})"
        )
        away = "" if target.site is self._page.site else f"https://{target.site.spec.domain}"
        shown = self._new("v")
        self._line(f"if {found} and {page} != p: {shown} = f'[{{{text}}}]({away}{{{found}}})'; {shift} = 1; la({page})")
        self._line(f"else: {shown} = {text}; {shift} = 0")
        if attribute is not None:
            self._state(attribute, row, text, shift)
        self._pending.append((False, shown))

    def _page_link(self, node: PageLink) -> None:
        text = self._new("v")
        self._line(f"{text} = {node.text!r}")
        self._link(self._linker.fixed(node.label), "0", text, None, "")

    def _page_fact(self, node: PageFact) -> None:
        text = self._new("v")
        value = {"date": "d", "number": "num", "last": "last", "members": "total"}[node.attribute.name]
        self._line(f"{text} = {self._written(node.attribute, node.filters, value)}")
        self._state(node.attribute, "p", text)
        self._pending.append((False, text))

    def _group(self, node: GroupFact) -> None:
        group = cast(Attribute, self._page.group)
        text = self._new("v")
        value = f"{self._column(self._name_of(group))}[g]" if group.kind == "ref" else "g"
        self._line(f"{text} = {self._written(group, node.filters, value)}")
        if self._silent:
            self._pending.append((False, text))
            return
        self._advance()
        start, stated = self._new("s"), self._new("z")
        self._line(f"{start} = o")
        if node.link is not None and group.kind == "ref":
            self._link(self._linker.pages_of(cast(str, group.target), node.link), "g", text, None, "")
            # With a link, the statement begins one character later, after the bracket.
            self._line(f"if {self._pending[-1][1]} is not {text}: {start} += 1")
        else:
            self._pending.append((False, text))
        if group.kind == "ref":
            name = self._name_of(group)
            self._line(added(self._of(name), "g", packed_source(name.id, start, text)))
        # No site is wrong about the attribute that groups its lists, so no claim is noted.
        self._line(f"{stated} = f'{packed_source(group.id, start, text)}'")
        self._line(f"for m in members: {added(self._of(group), 'm', f'{{{stated}}}')}")

    def _paging(self) -> None:
        facts = self._schema.page
        self._flush()
        self._line("if last and last > 1:")
        self._depth += 1
        self._line("base = url.partition('?')[0]")
        self._pending.append((True, "Page "))
        self._page_fact(PageFact(facts["number"]))
        self._pending.append((True, " of "))
        self._page_fact(PageFact(facts["last"]))
        self._pending.append((True, "."))
        self._line("more = ''")
        self._line(
            "if num > 1: more += f' [Previous page]({base}?page={num - 1})' if num > 2 else f' [Previous page]({base})'; la(p - 1)"
        )
        self._line("if num < last: more += f' [Next page]({base}?page={num + 1})'; la(p + 1)")
        self._pending.append((False, "more"))
        self._flush()
        self._depth -= 1


class Linker:
    """Finds the pages that a page kind links to."""

    def __init__(self, page: PageDesign, sites: Sequence[SiteDesign]) -> None:
        self._page = page
        self._sites = sites

    def _candidates(self, label: str) -> list[PageDesign]:
        """Return the page kinds that a label may mean, those of this site first."""
        site, _, name = label.rpartition(".")
        sites = [self._page.site, *(one for one in self._sites if one is not self._page.site)]
        pages = [page for one in sites if site in ("", one.name) for page in one.pages]
        return [page for page in pages if name == page.label or (name == "" and page.copied is None)]

    def pages_of(self, kind: str, label: str) -> PageDesign:
        """Return the page kind for a type's rows, or the lists grouped by it. Raises InputError if there is none."""
        pages = self._candidates(label)
        own = next((page for page in pages if page.spec.for_ == kind), None)
        grouped = next((page for page in pages if page.group and page.group.target == kind), None)
        here = (
            grouped
            if grouped and grouped.site is self._page.site and (own is None or own.site is not grouped.site)
            else None
        )
        found = here or own or grouped
        if found is None:
            raise InputError(f"there is no page of {kind} to link to{f' called {label!r}' if label else ''}")
        return found

    def lists_by(self, attribute: Attribute, label: str) -> PageDesign:
        """Return the lists grouped by an attribute. Raises InputError if there are none."""
        found = next((page for page in self._candidates(label) if page.group == attribute), None)
        if found is None:
            raise InputError(f"there is no list by {attribute.name} to link to")
        return found

    def fixed(self, label: str) -> PageDesign:
        """Return the list or home page of a label. Raises InputError if there is none."""
        pages = [page for page in self._candidates(label) if page.spec.for_ is None and page.group is None]
        if not pages:
            raise InputError(f"there is no list or home page called {label!r} to link to")
        return pages[0]

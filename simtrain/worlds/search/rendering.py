"""Templates as Python: one function for each kind of page, which writes bodies, statements and links of many pages at once.

Python source is generated and compiled, since anything slower would be most of a build. Nothing of a world file gets into it but
text as literals; names are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from simtrain.worlds.search.design import PageDesign, SiteDesign
from simtrain.worlds.search.formats import Filter, article, is_plain_text, writer
from simtrain.worlds.search.linking import Linker
from simtrain.worlds.search.needs import Render
from simtrain.worlds.search.provenance_source import SCOPE
from simtrain.worlds.search.python_source import added, packed_source
from simtrain.worlds.search.rows_source import RowsSource
from simtrain.worlds.search.schema import Attribute, Schema
from simtrain.worlds.search.tree import (
    Both,
    Branch,
    Choice,
    Comments,
    Compared,
    Corrected,
    Counted,
    Edge,
    Fact,
    GroupFact,
    Has,
    HasRows,
    Loop,
    Node,
    Not,
    PageFact,
    PageLink,
    Paging,
    Same,
    SiteFact,
    Speaks,
    Test,
    Text,
    Words,
    walk,
)

_TURNS: Final = 360_360
"""A number that most numbers of phrases divide, so that each is as frequent as the others."""
_MAY_BE_EMPTY: Final = Loop | Branch | Choice | Comments | Paging


class Code(RowsSource):
    """The function for one kind of page, as source, and what it needs."""

    def __init__(
        self, schema: Schema, page: PageDesign, sites: Sequence[SiteDesign], units: Mapping[str, tuple[str, float]]
    ) -> None:
        """Raises InputError for links that lead nowhere."""
        super().__init__(2, schema, page.site)
        self._page = page
        # What is put right is true.
        self._sure = self._sure or page.spec.corrections
        self._linker = Linker(page, sites)
        self._units = units
        self._rows |= dict.fromkeys(page.scope.names, "x")
        self._loops: list[tuple[str, str]] = []
        self._voices = [place for place, voice in enumerate(page.scope.voices.values()) for _ in range(voice.share)]
        self._said: dict[str, int] = {}
        self._written_by = page.copied.site if page.copied else page.site
        self._is_copied = any(page in (other.copied, other) for site in sites for other in site.pages if other.copied)
        # Where a page tells a row's other name, it calls the row by its own.
        self._renamed = {
            node.path.words
            for part in page.parts
            for wording in part
            for node in walk(wording)
            if isinstance(node, Fact) and node.alias is not None
        }
        self.source = self._write()

    def compile(self, environment: Mapping[str, object]) -> Render:
        """The function, reading what `environment` holds under the names of `needs`."""
        scope = {
            **environment,
            **self.needs.functions,
            **SCOPE,
            "__builtins__": {
                "len": len,
                "enumerate": enumerate,
                "int": int,
                "range": range,
                "set": set,
                "sorted": sorted,
            },
        }
        exec(compile(self.source, f"<pages {self._page.label}>", "exec"), scope)
        return cast(Render, scope["render"])

    def _write(self) -> str:
        page = self._page
        self._line("parts = []; a = parts.append; o = 0; linked = set(); la = linked.add")
        for place, wordings in enumerate(page.parts):
            self._part("\n\n" if place else "", wordings)
        self._flush()
        self._line("body = ''.join(parts)")
        self._silent = True
        title = self._title(page.titles)
        kind = repr(page.group.target if page.group and page.group.kind == "ref" else page.kind and page.kind.name)
        self._line(
            f"pages.append((p, {page.site.id}, {'https://' + page.site.spec.domain!r} + url, {title}, {page.page_kind!r}, d, {kind}, "
            "x or None, body, num, last, total))"
        )
        self._line("if linked: targets.append((p, encode(sorted(linked))))")
        self._end()
        body = "\n".join(self._lines)
        return (
            "def render(jobs, random, pages, mentions, targets):\n"
            " for p, url, x, d, num, last, total, members, g in jobs:\n"
            f"  {'; '.join(self._drawn())}\n"
            f"  {self._beginning()}\n"
            f"{body}\n"
        )

    def _drawn(self) -> list[str]:
        """What is drawn once for a page: its voice, and with which phrase of each name it begins."""
        # A page and its copy draw the same words.
        found = ["again(x)"] if self._is_copied else []
        if self._voices:
            found.append(f"w = {tuple(self._voices)!r}[int(random() * {len(self._voices)})]")
        return [*found, *(f"y_{name} = int(random() * {_TURNS})" for name in self._said)] or ["pass"]

    def _part(self, before: str, wordings: Sequence[Sequence[Node]]) -> None:
        """One paragraph, or nothing at all where all of it hangs on conditions that do not hold."""
        empty = any(all(isinstance(node, _MAY_BE_EMPTY) for node in wording) for wording in wordings)
        if empty:
            self._flush()
            self._line("begun = len(parts); b = o")
        if before:
            self._pending.append((True, before))
        self._choose(wordings)
        if any(wording and isinstance(wording[-1], Loop | Branch | Choice) for wording in wordings):
            self._flush()
            self._line("while parts and parts[-1][-1:] in ('\\n', ' '): parts[-1] = parts[-1][:-1]; o -= 1")
        if empty:
            self._flush()
            self._line(f"if o <= b + {len(before)}: del parts[begun:]; o = b")

    def _choose(self, wordings: Sequence[Sequence[Node]]) -> None:
        if len(wordings) == 1:
            self._nodes(wordings[0])
            return
        self._flush()
        choice = self._new("k")
        self._line(f"{choice} = int(random() * {len(wordings)})")
        for place, wording in enumerate(wordings):
            self._line(f"{'if' if not place else 'elif'} {choice} == {place}:")
            self._block(wording)

    def _words(self, node: Words) -> None:
        name = self._new("v")
        if len(node.lists) == 1:
            self._line(f"{name} = {node.lists[0]!r}[int(random() * {len(node.lists[0])})]")
        else:
            said = self._new("q")
            self._line(f"{said} = {node.lists!r}[w]; {name} = {said}[{self._which(node, said)}]")
        self._pending.append((False, name))

    def _which(self, node: Words, said: str) -> str:
        """The expression of the place of the phrase that is said: under a name it is another one each time."""
        if not node.name:
            return f"int(random() * len({said}))"
        times = self._said[node.name] = self._said.get(node.name, -1) + 1
        again = f" + {self._loops[-1][0]}" if self._loops else ""
        turn = f"(y_{node.name} + {times}{again})"
        if node.each == 1:
            return f"{turn} % len({said})"
        return f"{turn} % (len({said}) // {node.each}) * {node.each} + int(random() * {node.each})"

    def _comments(self, node: Comments) -> None:
        self._flush()
        self._line(f"if random() < {node.share!r}:")
        self._depth += 1
        self._pending.append((True, f"### {node.heading}"))
        self._flush()
        place, begin, count = self._new("i"), self._new("k"), len(node.options)
        self._line(f"{begin} = int(random() * {count})")
        # No comment comes twice on a page.
        self._line(f"for {place} in range({begin}, {begin} + 1 + int(random() * {min(node.most, count)})):")
        self._depth += 1
        self._pending.append((True, "\n\n**"))
        self._words(node.readers)
        self._pending.append((True, "**\n"))
        self._flush()
        for number, option in enumerate(node.options):
            self._line(f"{'if' if not number else 'elif'} {place} % {count} == {number}:")
            self._block(option)
        self._depth -= 2

    def _title(self, wordings: Sequence[Sequence[Node]]) -> str:
        if len(wordings) == 1:
            self._nodes(wordings[0])
            title = self._joined()
            self._clear()
            return title
        self._line(f"k = int(random() * {len(wordings)})")
        for place, wording in enumerate(wordings):
            self._line(f"{'if' if not place else 'elif'} k == {place}:")
            self._depth += 1
            self._nodes(wording)
            self._line(f"title = {self._joined()}")
            self._clear()
            self._depth -= 1
        return "title"

    def _block(self, nodes: Sequence[Node]) -> None:
        self._depth += 1
        before = len(self._lines)
        self._nodes(nodes)
        self._flush()
        if len(self._lines) == before:
            self._line("pass")
        self._depth -= 1

    def _nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node:
                case Text():
                    self._pending.append((True, node.text))
                case Words():
                    self._words(node)
                case Choice():
                    self._choose(node.options)
                case Comments():
                    self._comments(node)
                case Fact():
                    self._fact(node)
                case PageFact():
                    self._page_fact(node)
                case SiteFact():
                    text = str(getattr(self._page.site.spec, node.attribute.name))
                    name = self._new("v")
                    self._line(f"{name} = {text!r}")
                    self._state(node.attribute, str(self._page.site.id), name)
                    self._pending.append((False, name))
                case GroupFact():
                    self._group(node)
                case PageLink():
                    self._page_link(node)
                case Paging():
                    self._paging()
                case Loop():
                    self._loop(node)
                case Branch():
                    self._branch(node)

    def _written(self, attribute: Attribute, filters: Sequence[Filter], value: str) -> str:
        if is_plain_text(attribute, filters):
            return value
        name = self._new("F")
        self.needs.functions[name] = writer(attribute, filters, self._units)
        return f"{name}({value})"

    def _fact(self, node: Fact) -> None:
        attribute, row = node.attribute, self._row(node.path)
        text, raw = self._new("v"), f"{self._column(attribute)}[{row}]"
        if node.fallback is not None:
            # A path may break off before its end: rows that are missing are row 0, which has no facts.
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
            # Behind a ref that is missing there is no row of which anything could be stated.
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
        """The expression of a row's name, or of another name it has; `path` is how the template comes to the row."""
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

    def _linked(self, node: Fact, text: str, row: str, raw: str) -> None:
        target, key = self._target(node, row, raw)
        self._link(target, key, text, node.attribute, row)

    def _target(self, node: Fact, row: str, raw: str) -> tuple[PageDesign, str]:
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
        start, said = self._new("s"), self._new("z")
        self._line(f"{start} = o")
        if node.link is not None and group.kind == "ref":
            self._link(self._linker.pages_of(cast(str, group.target), node.link), "g", text, None, "")
            # The bracket of a link stands before the text, if the link is there.
            self._line(f"if {self._pending[-1][1]} is not {text}: {start} += 1")
        else:
            self._pending.append((False, text))
        if group.kind == "ref":
            name = self._name_of(group)
            self._line(added(self._of(name), "g", packed_source(name.id, start, text)))
        # What a list is grouped by is fixed, so that no site has it wrong.
        self._line(f"{said} = f'{packed_source(group.id, start, text)}'")
        self._line(f"for m in members: {added(self._of(group), 'm', f'{{{said}}}')}")

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

    def _loop(self, node: Loop) -> None:
        self._flush()
        rows, row, place = self._new("r"), self._new("x"), self._new("i")
        self._line(f"{rows} = {self._rows_of(node.rows)}")
        self._line(f"for {place}, {row} in enumerate({rows}, 1):")
        self._rows[node.name] = row
        self._loops.append((place, rows))
        self._block(node.body)
        self._loops.pop()
        del self._rows[node.name]
        if node.otherwise:
            self._line(f"if not {rows}:")
            self._block(node.otherwise)

    def _branch(self, node: Branch) -> None:
        self._flush()
        self._line(f"if {self._test(node.test)}:")
        self._block(node.body)
        if node.otherwise:
            self._line("else:")
            self._block(node.otherwise)

    def _test(self, test: Test) -> str:
        match test:
            case Not():
                return f"not ({self._test(test.test)})"
            case Both():
                return f"({self._test(test.first)} {test.word} {self._test(test.second)})"
            case Edge():
                place, rows = self._loops[-1]
                return f"{place} == 1" if test.edge == "first" else f"{place} == len({rows})"
            case HasRows():
                return self._rows_of(test.rows)
            case Counted():
                return f"len({self._rows_of(test.rows)}) {test.operator} {test.constant}"
            case Speaks():
                return f"w == {test.voice}"
            case Same():
                return f"{self._row(test.first)} {'==' if test.same else '!='} {self._row(test.second)}"
            case Has():
                return self._has(test.fact)
            case Corrected():
                return self._wrong(test.fact.attribute, self._row(test.fact.path))
            case Compared():
                value = self._new("q")
                raw = f"{self._column(test.fact.attribute)}[{self._row(test.fact.path)}]"
                return f"(({value} := {raw}) is not None and {value} {test.operator} {test.constant!r})"

    def _has(self, fact: Fact) -> str:
        row = self._row(fact.path)
        if fact.alias is not None:
            return f"{row} in {self._aliases(fact.attribute.type, fact.alias)}"
        value = f"{self._column(fact.attribute)}[{row}]"
        return value if fact.attribute.kind in ("ref", "flag") else f"{value} is not None"

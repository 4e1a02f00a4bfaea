"""Templates compiled to Python: one function per page kind, which writes bodies, statements and links of many pages at once.

Python source is generated and compiled, since a template engine would take most of the time of a build and could not note the position
of each fact in the text. Only text literals in the source come from the world file; all names are chosen here.

Names in the generated code: `p` is the page's id, `x` its row, `d` its date, `g` the group of its list; `a` appends a text, `o` is the
length so far, `la` notes a linked page, `w` is the voice. Letters with a number belong to one place of the template.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from simtrain.worlds.search.pages import tree
from simtrain.worlds.search.pages.design import PageDesign, SiteDesign
from simtrain.worlds.search.pages.facts_source import FactsSource
from simtrain.worlds.search.pages.needs import Render
from simtrain.worlds.search.pages.provenance_source import SCOPE
from simtrain.worlds.search.spec.schema import Schema

_TURNS: Final = 360_360
"""A multiple of 1 to 15 (lcm), so that a draw below it, modulo the number of phrases, is uniform."""
_MAY_BE_EMPTY: Final = tree.LoopPart | tree.Branch | tree.Choice | tree.Comments | tree.Paging


class Code(FactsSource):
    """The source of the function for one page kind, and its inputs."""

    def __init__(
        self, schema: Schema, page: PageDesign, sites: Sequence[SiteDesign], units: Mapping[str, tuple[str, float]]
    ) -> None:
        """Raises InputError for links without a target."""
        super().__init__(schema, page, sites, units)
        self._rows |= dict.fromkeys(page.scope.names, "x")
        self._loops: list[tuple[str, str]] = []
        self._voices = [place for place, voice in enumerate(page.scope.voices.values()) for _ in range(voice.share)]
        self._drawn_phrases: dict[str, int] = {}
        self._is_copied = any(page in (other.copied, other) for site in sites for other in site.pages if other.copied)
        self.source = self._write()

    def compile(self, environment: Mapping[str, object]) -> Render:
        """Return the function. `environment` holds its inputs under the names of `needs`."""
        scope = {
            **environment,
            **self.needs.functions,
            **SCOPE,
            "__builtins__": {one.__name__: one for one in (len, enumerate, int, range, set, sorted)},
        }
        # Safe, since the source holds nothing of the file but escaped literals, and it runs with six builtins.
        # Compiled instead of interpreted: a world has up to millions of pages, and each kind's template is walked only once.
        exec(compile(self.source, f"<pages {self._page.label}>", "exec"), scope)
        return cast(Render, scope["render"])

    def _write(self) -> str:
        page = self._page
        self._line("parts = []; a = parts.append; o = 0; linked = set(); la = linked.add")
        for place, wordings in enumerate(page.parts):
            self._part("\n\n" if place else "", wordings)
        self._flush()
        self._line("body = ''.join(parts)")
        # A statement is a position in the body, so what a title states is not recorded.
        self._silent = True
        title = self._title(page.titles)
        kind = repr(page.group.target if page.group and page.group.kind == "ref" else page.kind and page.kind.name)
        self._line(
            f"pages.append((p, {page.site.id}, {'https://' + page.site.spec.domain!r} + url, {title}, {page.page_kind!r}, d, {kind}, "
            "x or None, body, num, last, total))"
        )
        # Sorted: the order of a set of strings varies between processes.
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
        """Return the draws made once per page: its voice, and the first phrase of each name."""
        # A page and its copy start from the same seed.
        found = ["again(x)"] if self._is_copied else []
        if self._voices:
            # Voices are repeated by share, so that one uniform draw is enough.
            found.append(f"w = {tuple(self._voices)!r}[int(random() * {len(self._voices)})]")
        return [*found, *(f"y_{name} = int(random() * {_TURNS})" for name in self._drawn_phrases)] or ["pass"]

    def _part(self, before: str, wordings: Sequence[Sequence[tree.Node]]) -> None:
        """Write one paragraph, or nothing if none of its conditions holds."""
        empty = any(all(isinstance(node, _MAY_BE_EMPTY) for node in wording) for wording in wordings)
        if empty:
            # Only at run time is it known whether anything was written; if not, the line break before it is taken back.
            self._flush()
            self._line("begun = len(parts); b = o")
        if before:
            self._pending.append((True, before))
        self._choose(wordings)
        if any(wording and isinstance(wording[-1], tree.LoopPart | tree.Branch | tree.Choice) for wording in wordings):
            # Loops and branches on lines of their own end with a line break, which would be a second one here.
            self._flush()
            self._line("while parts and parts[-1][-1:] in ('\\n', ' '): parts[-1] = parts[-1][:-1]; o -= 1")
        if empty:
            self._flush()
            self._line(f"if o <= b + {len(before)}: del parts[begun:]; o = b")

    def _choose(self, wordings: Sequence[Sequence[tree.Node]]) -> None:
        if len(wordings) == 1:
            self._nodes(wordings[0])
            return
        self._flush()
        choice = self._new("k")
        self._line(f"{choice} = int(random() * {len(wordings)})")
        for place, wording in enumerate(wordings):
            self._line(f"{'if' if not place else 'elif'} {choice} == {place}:")
            self._block(wording)

    def _words(self, node: tree.WordsPart) -> None:
        name = self._new("v")
        if len(node.lists) == 1:
            self._line(f"{name} = {node.lists[0]!r}[int(random() * {len(node.lists[0])})]")
        else:
            phrases = self._new("q")
            self._line(f"{phrases} = {node.lists!r}[w]; {name} = {phrases}[{self._which(node, phrases)}]")
        self._pending.append((False, name))

    def _which(self, node: tree.WordsPart, phrases: str) -> str:
        """Return an expression for the index of the phrase. Under a name it differs each time."""
        if not node.name:
            return f"int(random() * len({phrases}))"
        # Counting on from a drawn start uses every phrase once before any comes again.
        times = self._drawn_phrases[node.name] = self._drawn_phrases.get(node.name, -1) + 1
        again = f" + {self._loops[-1][0]}" if self._loops else ""
        turn = f"(y_{node.name} + {times}{again})"
        if node.each == 1:
            return f"{turn} % len({phrases})"
        return f"{turn} % (len({phrases}) // {node.each}) * {node.each} + int(random() * {node.each})"

    def _comments(self, node: tree.Comments) -> None:
        self._flush()
        self._line(f"if random() < {node.share!r}:")
        self._depth += 1
        self._pending.append((True, f"### {node.heading}"))
        self._flush()
        place, begin, count = self._new("i"), self._new("k"), len(node.options)
        self._line(f"{begin} = int(random() * {count})")
        # Consecutive indices from a drawn start, so that no comment comes twice on a page.
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

    def _title(self, wordings: Sequence[Sequence[tree.Node]]) -> str:
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

    def _block(self, nodes: Sequence[tree.Node]) -> None:
        self._depth += 1
        before = len(self._lines)
        self._nodes(nodes)
        self._flush()
        if len(self._lines) == before:
            # An empty block would be a syntax error.
            self._line("pass")
        self._depth -= 1

    def _nodes(self, nodes: Sequence[tree.Node]) -> None:
        for node in nodes:
            match node:
                case tree.ProsePart():
                    self._pending.append((True, node.text))
                case tree.WordsPart():
                    self._words(node)
                case tree.Choice():
                    self._choose(node.options)
                case tree.Comments():
                    self._comments(node)
                case tree.FactPart():
                    self._fact(node)
                case tree.PageFact():
                    self._page_fact(node)
                case tree.SiteFact():
                    text = str(getattr(self._page.site.spec, node.attribute.name))
                    name = self._new("v")
                    self._line(f"{name} = {text!r}")
                    self._state(node.attribute, str(self._page.site.id), name)
                    self._pending.append((False, name))
                case tree.GroupFact():
                    self._group(node)
                case tree.PageLink():
                    self._page_link(node)
                case tree.Paging():
                    self._paging()
                case tree.LoopPart():
                    self._loop(node)
                case tree.Branch():
                    self._branch(node)

    def _loop(self, node: tree.LoopPart) -> None:
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

    def _branch(self, node: tree.Branch) -> None:
        self._flush()
        self._line(f"if {self._test(node.test)}:")
        self._block(node.body)
        if node.otherwise:
            self._line("else:")
            self._block(node.otherwise)

    def _test(self, test: tree.Test) -> str:
        match test:
            case tree.Not():
                return f"not ({self._test(test.test)})"
            case tree.Both():
                return f"({self._test(test.first)} {test.word} {self._test(test.second)})"
            case tree.Edge():
                place, rows = self._loops[-1]
                return f"{place} == 1" if test.edge == "first" else f"{place} == len({rows})"
            case tree.HasRows():
                return self._rows_of(test.rows)
            case tree.Counted():
                return f"len({self._rows_of(test.rows)}) {test.operator} {test.constant}"
            case tree.Speaks():
                return f"w == {test.voice}"
            case tree.Same():
                return f"{self._row(test.first)} {'==' if test.same else '!='} {self._row(test.second)}"
            case tree.Has():
                return self._has(test.fact)
            case tree.Corrected():
                return self._wrong(test.fact.attribute, self._row(test.fact.path))
            case tree.Compared():
                value = self._new("q")
                raw = f"{self._column(test.fact.attribute)}[{self._row(test.fact.path)}]"
                return f"(({value} := {raw}) is not None and {value} {test.operator} {test.constant!r})"

    def _has(self, fact: tree.FactPart) -> str:
        row = self._row(fact.path)
        if fact.alias is not None:
            return f"{row} in {self._aliases(fact.attribute.type, fact.alias)}"
        value = f"{self._column(fact.attribute)}[{row}]"
        return value if fact.attribute.kind in ("ref", "flag") else f"{value} is not None"

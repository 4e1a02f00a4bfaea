"""The declared subset of CSS that decides what is on a page: which rules of a stylesheet count, and which are passed over."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import tinycss2
from tinycss2 import ast

from simtrain.worlds.app.accessibility.document import words
from simtrain.worlds.app.accessibility.media import applies
from simtrain.worlds.app.accessibility.selectors import Selector, read_selectors

# The properties on which the tree depends. Any other is free: colours, fonts, margins.
DISPLAYS = words(
    "none contents block inline inline-block flex inline-flex grid inline-grid flow-root list-item table inline- "
    "table table-row table-cell table-row-group table-header-group table-footer-group table-column table-column- "
    "group table-caption -webkit-box -webkit-inline-box"
)
KEYWORDS: dict[str, frozenset[str]] = {
    "display": DISPLAYS,
    "visibility": frozenset({"visible", "hidden", "collapse"}),
    "pointer-events": frozenset({"auto", "none", "all"}),
    "position": frozenset({"static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"}),
    "text-transform": frozenset({"none", "uppercase", "lowercase", "capitalize"}),
    "float": frozenset({"none", "left", "right", "inline-start", "inline-end"}),
    "white-space": frozenset({"normal", "nowrap", "pre", "pre-wrap", "pre-line", "break-spaces"}),
}
FOR_ALL = frozenset({"inherit", "initial", "unset", "revert"})
ANY_KEYWORD = frozenset({"cursor", "overflow", "overflow-x", "overflow-y", "list-style", "list-style-type"})
LENGTHS = words(
    "width height min-width min-height max-height max-width padding padding-top padding-bottom padding-left "
    "padding-right padding-block padding-inline border border-top border-bottom border-left border-right border- "
    "width"
)
UNDECIDABLE = frozenset({"content-visibility", "all"})
RELEVANT = frozenset(KEYWORDS) | ANY_KEYWORD | LENGTHS | UNDECIDABLE | {"content"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One property with its value: a keyword, a text (`content`), or for a length whether it is above zero."""

    name: str
    value: str
    important: bool = False


@dataclass(frozen=True, slots=True)
class StyleRule:
    """A selector, what it declares for what it selects, and its place in the order of the sheet."""

    selector: Selector
    declarations: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A part of a stylesheet that bears on the tree and is outside the subset: its line and what is wrong with it."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Stylesheet:
    """The rules of a stylesheet that bear on the tree, in order, and what was passed over."""

    rules: tuple[StyleRule, ...]
    passed_over: tuple[PassedOver, ...]


@lru_cache(maxsize=256)
def read_stylesheet(text: str) -> Stylesheet:
    """Read a stylesheet. It never fails: what is outside the subset is listed in `passed_over`."""
    reader = _Reader()
    reader.read(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True))
    return Stylesheet(tuple(reader.rules), tuple(reader.passed_over))


@lru_cache(maxsize=4096)
def read_style_attribute(text: str) -> tuple[tuple[Declaration, ...], tuple[PassedOver, ...]]:
    """Read the value of a style attribute: its declarations that count, and what was passed over."""
    reader = _Reader()
    return tuple(reader.declarations(tinycss2.parse_blocks_contents(text))), tuple(reader.passed_over)


class _Reader:
    def __init__(self) -> None:
        self.rules: list[StyleRule] = []
        self.passed_over: list[PassedOver] = []

    def read(self, nodes: Sequence[ast.Node]) -> None:
        for node in nodes:
            if isinstance(node, ast.QualifiedRule):
                self.read_rule(node)
            elif isinstance(node, ast.AtRule):
                self.read_at_rule(node)

    def read_at_rule(self, rule: ast.AtRule) -> None:
        if rule.lower_at_keyword == "media":
            condition = tinycss2.serialize(rule.prelude).strip().lower()
            inner = tinycss2.parse_blocks_contents(rule.content or [], skip_comments=True, skip_whitespace=True)
            fits = applies(condition)
            if fits is None:
                self.pass_over_block(rule, f"@media {condition}")
            elif fits:
                self.read(inner)
        elif rule.lower_at_keyword == "import":
            self.pass_over(rule.source_line, "@import")
        elif rule.content is not None and rule.lower_at_keyword not in (
            "font-face",
            "keyframes",
            "-webkit-keyframes",
            "page",
            "property",
        ):
            self.pass_over_block(rule, f"@{rule.lower_at_keyword}")

    def pass_over_block(self, rule: ast.AtRule, reason: str) -> None:
        """Note each rule in a block of unknown effect that bears on the tree."""
        inner = _Reader()
        inner.read(tinycss2.parse_blocks_contents(rule.content or [], skip_comments=True, skip_whitespace=True))
        lines = [rule.source_line] * len(inner.rules) + [passed.line for passed in inner.passed_over]
        self.passed_over.extend(PassedOver(line, reason) for line in lines)

    def read_rule(self, rule: ast.QualifiedRule) -> None:
        declarations = tuple(self.declarations(tinycss2.parse_blocks_contents(rule.content)))
        if not declarations:
            return
        selectors, unknown = read_selectors(rule.prelude)
        for name in unknown:
            self.pass_over(rule.source_line, f"selector {name}")
        self.rules.extend(StyleRule(selector, declarations) for selector in selectors)

    def declarations(self, nodes: Sequence[ast.Node]) -> list[Declaration]:
        found: list[Declaration] = []
        for node in nodes:
            if isinstance(node, ast.QualifiedRule):
                nested = _Reader()
                nested.read_rule(node)
                if nested.rules or nested.passed_over:
                    self.pass_over(node.source_line, "a nested rule")
            if not isinstance(node, ast.Declaration) or node.lower_name not in RELEVANT:
                continue
            value = _value(node)
            if value is None:
                self.pass_over(node.source_line, f"{node.lower_name}: {tinycss2.serialize(node.value).strip()}")
            else:
                found.append(Declaration(node.lower_name, value, node.important))
        return found

    def pass_over(self, line: int, reason: str) -> None:
        self.passed_over.append(PassedOver(line, " ".join(reason.split())))


def _value(declaration: ast.Declaration) -> str | None:
    """The value as the cascade needs it; None where the subset has no such value."""
    name = declaration.lower_name
    tokens = [token for token in declaration.value if not isinstance(token, (ast.WhitespaceToken, ast.Comment))]
    if name in UNDECIDABLE:
        return None
    if name == "content":
        return _content(tokens)
    if name in LENGTHS:
        return _length(tokens)
    words = [token.lower_value for token in tokens if isinstance(token, ast.IdentToken)]
    if name in KEYWORDS:
        return words[0] if len(words) == len(tokens) == 1 and words[0] in KEYWORDS[name] | FOR_ALL else None
    if name == "cursor":
        return words[-1] if words else None
    return " ".join(words) if words else None


def _content(tokens: list[ast.Node]) -> str | None:
    """The text of `content`, with NUL before the name of an attribute; a single NUL stands for no box at all."""
    parts: list[str] = []
    for token in tokens:
        if isinstance(token, ast.StringToken):
            parts.append(token.value)
        elif isinstance(token, ast.FunctionBlock) and token.lower_name == "attr" and len(token.arguments) == 1:
            parts.append("\0" + tinycss2.serialize(token.arguments) + "\0")
        elif isinstance(token, ast.IdentToken) and token.lower_value in ("none", "normal") and len(tokens) == 1:
            return "\0"
        elif isinstance(token, ast.LiteralToken) and token.value == "/":
            # The alternative text, which assistive technology gets instead.
            parts.clear()
        else:
            return None
    return "".join(parts)


def _length(tokens: list[ast.Node]) -> str | None:
    """`1` where the length is above zero, `0` where it is zero, `auto` where the box decides."""
    above = False
    for token in tokens:
        if isinstance(token, (ast.NumberToken, ast.DimensionToken, ast.PercentageToken)):
            above = above or token.value > 0
        elif isinstance(token, ast.IdentToken):
            if token.lower_value in ("auto", "none", "fit-content", "min-content", "max-content", *FOR_ALL):
                return "auto"
            if token.lower_value in ("thin", "medium", "thick"):
                above = True
        elif isinstance(token, ast.FunctionBlock):
            return "1" if token.lower_name in ("calc", "min", "max", "clamp") else None
    return "1" if above else "0"

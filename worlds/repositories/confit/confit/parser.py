"""Tokens to nodes."""

from confit.errors import ConfitError
from confit.lexer import Token, tokens, unescaped
from confit.nodes import Block, Items, Literal, Node, Operation, Reference, Text
from confit.units import quantity

WORDS = {"true": True, "false": False, "none": None}
STRENGTH = {"??": 1, "+": 2, "-": 2, "*": 3, "/": 3}
DEEPEST = 60


def parse(source: str) -> Block:
    """Return the outermost block of a text."""
    parser = _Parser(tokens(source))
    block = parser.block(end="end")
    parser.expect("end")
    return block


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def take(self) -> Token:
        token = self.token
        self._at += 1
        return token

    def sees(self, sign: str) -> bool:
        return self.token.kind == "sign" and self.token.text == sign

    def error(self, expected: str) -> ConfitError:
        token = self.token
        found = {"end": "the end of the text", "newline": "the end of the line"}.get(token.kind)
        found = found or repr(token.text)
        return ConfitError(f"{found} where {expected} was expected", token.line, token.column)

    def expect(self, kind: str, text: str | None = None) -> Token:
        token = self.token
        if token.kind != kind or text not in (None, token.text):
            raise self.error(repr(text) if text else f"a {kind}")
        return self.take()

    def block(self, end: str) -> Block:
        """Read assignments and blocks until a closing brace, or the end."""
        entries: dict[str, Node] = {}
        self._deeper()
        while True:
            while self.token.kind == "newline":
                self.take()
            if self.token.kind == "end" or self.sees("}"):
                break
            name = self.expect("name")
            if self.sees("{"):
                self._add_block(entries, name)
            else:
                self._assign(entries, name)
            if self.token.kind != "end" and not self.sees("}"):
                self.expect("newline")
        self._depth -= 1
        if end == "}" and not self.sees("}"):
            raise self.error("'}'")
        return Block(tuple(entries.items()))

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ConfitError("too deep", self.token.line, self.token.column)

    def _add_block(self, entries: dict[str, Node], name: Token) -> None:
        self.take()
        block = self.block(end="}")
        self.expect("sign", "}")
        before = entries.get(name.text)
        if before is None:
            entries[name.text] = block
        elif isinstance(before, Block):
            entries[name.text] = self._joined(before, block, name)
        else:
            raise ConfitError(f"{name.text!r} is no block above", name.line, name.column)

    def _joined(self, first: Block, second: Block, name: Token) -> Block:
        entries = dict(first.entries)
        for key, node in second.entries:
            before = entries.get(key)
            if isinstance(before, Block) and isinstance(node, Block):
                entries[key] = self._joined(before, node, name)
            elif key in entries:
                message = f"{name.text}.{key} is there already"
                raise ConfitError(message, name.line, name.column)
            else:
                entries[key] = node
        return Block(tuple(entries.items()))

    def _assign(self, entries: dict[str, Node], name: Token) -> None:
        self.expect("sign", "=")
        if name.text in entries:
            raise ConfitError(f"{name.text!r} is there already", name.line, name.column)
        entries[name.text] = self.expression()

    def expression(self, strength: int = 1) -> Node:
        """Read values joined by signs that bind at least so strongly; `??` binds from the right."""
        self._deeper()
        left = self.value()
        while self.token.kind == "sign" and STRENGTH.get(self.token.text, 0) >= strength:
            sign = self.take()
            own = STRENGTH[sign.text]
            right = self.expression(own if sign.text == "??" else own + 1)
            left = Operation(sign.text, left, right, sign.line, sign.column)
        self._depth -= 1
        return left

    def value(self) -> Node:
        """Read one value."""
        token = self.token
        if token.kind == "number":
            self.take()
            try:
                return Literal(quantity(token.text))
            except ConfitError as error:
                raise ConfitError(error.message, token.line, token.column) from None
        if token.kind == "text":
            return self._text(self.take())
        if token.kind == "name":
            if token.text in WORDS:
                return Literal(WORDS[self.take().text])
            return self._reference()
        if self.sees("-"):
            self.take()
            return Operation("-", Literal(0), self.value(), token.line, token.column)
        if self.sees("("):
            self.take()
            inner = self.expression()
            self.expect("sign", ")")
            return inner
        if self.sees("["):
            return self._items()
        raise self.error("a value")

    def _reference(self) -> Reference:
        first = self.take()
        path = [first.text]
        while self.sees("."):
            self.take()
            path.append(self.expect("name").text)
        return Reference(tuple(path), first.line, first.column)

    def _items(self) -> Items:
        self.take()
        items: list[Node] = []
        while not self.sees("]"):
            items.append(self.expression())
            if not self.sees(","):
                break
            self.take()
        self.expect("sign", "]")
        return Items(tuple(items))

    def _text(self, token: Token) -> Text:
        parts: list[str | Node] = []
        rest, column = token.text[1:-1], token.column + 1
        while rest:
            start = _opening(rest)
            if start < 0:
                parts.append(unescaped(rest, token.line, column))
                break
            if start:
                parts.append(unescaped(rest[:start], token.line, column))
            end = _closing(rest, start + 2)
            inner = _Parser(tokens(rest[start + 2 : end], token.line, column + start + 2))
            parts.append(inner.expression())
            inner.expect("end")
            rest, column = rest[end + 1 :], column + end + 1
        return Text(tuple(parts))


def _opening(text: str) -> int:
    """Return where an expression in a text begins; -1 if there is none."""
    at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            return at
        else:
            at += 1
    return -1


def _closing(text: str, at: int) -> int:
    depth = 1
    while depth:
        if text.startswith("${", at):
            depth += 1
        elif text[at] == "}":
            depth -= 1
        at += 1
    return at - 1

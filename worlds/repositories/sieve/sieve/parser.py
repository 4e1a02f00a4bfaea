"""Tokens to nodes."""

from sieve.errors import QueryError
from sieve.lexer import Token, tokens
from sieve.nodes import (
    Between,
    Binary,
    Call,
    Case,
    Column,
    Expression,
    Item,
    Literal,
    Order,
    Parameter,
    Select,
    Source,
    Unary,
    Within,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def parse(query: str) -> Select:
    """Return the nodes of a query."""
    return _Parser(tokens(query)).select()


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._parameters = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def sees(self, *texts: str) -> bool:
        """Return whether these words or signs come next."""
        coming = self._tokens[self._at : self._at + len(texts)]
        return [one.text for one in coming if one.kind in ("word", "sign")] == list(texts)

    def accept(self, *texts: str) -> bool:
        """Take these words or signs if they come next."""
        if not self.sees(*texts):
            return False
        self._at += len(texts)
        return True

    def expect(self, *texts: str) -> None:
        if not self.accept(*texts):
            raise self.error(" ".join(texts))

    def error(self, expected: str) -> QueryError:
        found = repr(self.token.text) if self.token.kind != "end" else "the end"
        return QueryError(f"{found} where {expected} was expected", self.token.at)

    def name(self) -> str:
        if self.token.kind != "name":
            raise self.error("a name")
        return self.take().text

    def select(self) -> Select:
        self.expect("select")
        distinct = self.accept("distinct")
        items = self._listed(self._item)
        sources = self._sources() if self.accept("from") else []
        where = self.expression() if self.accept("where") else None
        groups = self._listed(self.expression) if self.accept("group", "by") else []
        having = self.expression() if self.accept("having") else None
        orders = self._listed(self._order) if self.accept("order", "by") else []
        limit = self.expression() if self.accept("limit") else None
        offset = self.expression() if self.accept("offset") else None
        if self.token.kind != "end":
            raise self.error("the end")
        return Select(
            tuple(items),
            tuple(sources),
            where,
            tuple(groups),
            having,
            tuple(orders),
            limit,
            offset,
            distinct,
            self._parameters,
        )

    def _listed(self, read) -> list:
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found

    def _item(self) -> Item:
        if self.accept("*"):
            return Item(None, "*")
        following = self._tokens[self._at + 1 : self._at + 3]
        if self.token.kind == "name" and [one.text for one in following] == [".", "*"]:
            table = self.take().text
            self._at += 2
            return Item(None, "*", table)
        start = self.token.at
        expression = self.expression()
        if self.accept("as") or self.token.kind == "name":
            return Item(expression, self.name())
        return Item(expression, _named(expression, start))

    def _sources(self) -> list[Source]:
        found = [self._source()]
        while True:
            left = self.accept("left", "join")
            if not left and not self.accept("inner", "join") and not self.accept("join"):
                return found
            source = self._source()
            self.expect("on")
            found.append(Source(source.table, source.alias, self.expression(), left))

    def _source(self) -> Source:
        table = self.name()
        if self.accept("as") or self.token.kind == "name":
            return Source(table, self.name())
        return Source(table, table)

    def _order(self) -> Order:
        expression = self.expression()
        descending = self.accept("desc")
        if not descending:
            self.accept("asc")
        return Order(expression, descending)

    def expression(self) -> Expression:
        left = self._conjunction()
        while self.accept("or"):
            left = Binary("or", left, self._conjunction())
        return left

    def _conjunction(self) -> Expression:
        left = self._negation()
        while self.accept("and"):
            left = Binary("and", left, self._negation())
        return left

    def _negation(self) -> Expression:
        if self.accept("not"):
            return Unary("not", self._negation())
        return self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        if self.token.kind == "sign" and self.token.text in COMPARISONS:
            return Binary(self.take().text, left, self._sum())
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("null")
            return Unary("is not null" if negated else "is null", left)
        negated = self.accept("not")
        if self.accept("in"):
            self.expect("(")
            items = self._listed(self.expression)
            self.expect(")")
            return Within(left, tuple(items), negated)
        if self.accept("between"):
            low = self._sum()
            self.expect("and")
            return Between(left, low, self._sum(), negated)
        if self.accept("like"):
            found = Binary("like", left, self._sum())
            return Unary("not", found) if negated else found
        if negated:
            raise self.error("in, between or like")
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self.token.kind == "sign" and self.token.text in ("+", "-", "||"):
            left = Binary(self.take().text, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._value()
        while self.token.kind == "sign" and self.token.text in ("*", "/", "%"):
            left = Binary(self.take().text, left, self._value())
        return left

    def _value(self) -> Expression:
        token = self.token
        if token.kind == "number":
            text = self.take().text
            return Literal(float(text) if "." in text else int(text))
        if token.kind == "text":
            return Literal(self.take().text)
        for word, value in (("null", None), ("true", True), ("false", False)):
            if self.accept(word):
                return Literal(value)
        if self.accept("-"):
            return Unary("-", self._value())
        if self.accept("?"):
            self._parameters += 1
            return Parameter(self._parameters - 1)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("case"):
            return self._case()
        if token.kind == "name":
            return self._column_or_call()
        raise self.error("a value")

    def _case(self) -> Case:
        branches = []
        while self.accept("when"):
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self.expression()))
        if not branches:
            raise self.error("when")
        otherwise = self.expression() if self.accept("else") else None
        self.expect("end")
        return Case(tuple(branches), otherwise)

    def _column_or_call(self) -> Expression:
        token = self.take()
        if self.accept("."):
            return Column(token.text, self.name(), token.at)
        if not self.accept("("):
            return Column(None, token.text, token.at)
        if self.accept("*"):
            self.expect(")")
            return Call(token.text.lower(), (), False, True, token.at)
        distinct = self.accept("distinct")
        arguments = [] if self.sees(")") else self._listed(self.expression)
        self.expect(")")
        return Call(token.text.lower(), tuple(arguments), distinct, False, token.at)


def _named(expression: Expression, at: int) -> str:
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Call):
        return expression.name
    return f"column_{at}"

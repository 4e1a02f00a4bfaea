"""Nodes to plain values."""

from confit.errors import ConfitError
from confit.nodes import Block, Items, Literal, Node, Operation, Reference, Text
from confit.parser import parse


class _Missing(ConfitError):
    """A reference to nothing, which `??` forgives."""


def load(source: str, given: dict | None = None) -> dict:
    """Return the values of a text; names that it lacks come from `given`."""
    return evaluate(parse(source), given)


def evaluate(block: Block, given: dict | None = None) -> dict:
    """Return the values of a block, references resolved."""
    return _Evaluation(block, given or {}).whole()


class _Evaluation:
    def __init__(self, block: Block, given: dict) -> None:
        self._block = block
        self._given = given
        self._known: dict[tuple[str, ...], object] = {}
        self._open: list[tuple[str, ...]] = []

    def whole(self) -> dict:
        return self._table(self._block, ())

    def _table(self, block: Block, path: tuple[str, ...]) -> dict:
        return {key: self._at((*path, key), node) for key, node in block.entries}

    def _at(self, path: tuple[str, ...], node: Node) -> object:
        """Return the value at a path, worked out once."""
        if path in self._known:
            return self._known[path]
        if path in self._open:
            names = [".".join(one) for one in (*self._open[self._open.index(path) :], path)]
            raise ConfitError("values need each other: " + " -> ".join(names))
        self._open.append(path)
        try:
            value = self._table(node, path) if isinstance(node, Block) else self._value(node)
        finally:
            self._open.pop()
        self._known[path] = value
        return value

    def _value(self, node: Node) -> object:
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Text):
            return "".join(
                part if isinstance(part, str) else _shown(self._value(part)) for part in node.parts
            )
        if isinstance(node, Items):
            return [self._value(item) for item in node.items]
        if isinstance(node, Reference):
            return self._referred(node)
        if isinstance(node, Operation):
            return self._result(node)
        raise TypeError(node)

    def _referred(self, reference: Reference) -> object:
        node: Node = self._block
        for place, name in enumerate(reference.path):
            entries = dict(node.entries) if isinstance(node, Block) else {}
            if name not in entries:
                return self._outside(reference, place)
            node = entries[name]
        return self._at(reference.path, node)

    def _outside(self, reference: Reference, place: int) -> object:
        found: object = self._given
        if place == 0:
            for name in reference.path:
                if not isinstance(found, dict) or name not in found:
                    break
                found = found[name]
            else:
                return found
        name = ".".join(reference.path)
        raise _Missing(f"there is no {name!r}", reference.line, reference.column)

    def _result(self, node: Operation) -> object:
        if node.sign == "??":
            try:
                left = self._value(node.left)
            except _Missing:
                left = None
            return self._value(node.right) if left is None else left
        left, right = self._value(node.left), self._value(node.right)
        if node.sign == "+" and type(left) is type(right) and isinstance(left, str | list):
            return left + right
        if not _is_number(left) or not _is_number(right):
            kinds = f"{kind_of(left)} {node.sign} {kind_of(right)}"
            raise ConfitError(f"{kinds} means nothing", node.line, node.column)
        if node.sign == "/":
            if right == 0:
                raise ConfitError("division by zero", node.line, node.column)
            quotient = left / right
            return int(quotient) if quotient == int(quotient) else quotient
        return {"+": left + right, "-": left - right, "*": left * right}[node.sign]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """Return a value as it stands within a text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict):
        raise ConfitError("a table cannot stand within a text")
    return str(value)


def kind_of(value: object) -> str:
    """Return what a value is, in one word."""
    kinds = {bool: "switch", int: "number", float: "number", str: "text", list: "list"}
    kinds |= {dict: "table", type(None): "none"}
    return kinds[type(value)]

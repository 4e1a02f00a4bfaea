"""Arguments from an input schema alone: valid ones, edge cases, and invalid ones."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from simtrain.contracts.argument_mistakes import resolved
from simtrain.mcp.verify.draw import Draw
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

T = TypeVar("T", str, int)

MAX_DEPTH = 6
LONGEST = 10_000
WRONG: Mapping[str, tuple[JsonValue, ...]] = {
    "string": (7, ["a"], None, True),
    "integer": ("many", 1.5, None, [1]),
    "number": ("many", None, [1], {}),
    "boolean": ("maybe", 2, None, []),
    "array": ("one", {}, None, 3),
    "object": ("one", [], None, 3),
}
FORMATS: Mapping[str, tuple[str, ...]] = {
    "date": ("2031-03-03", "2030-12-31"),
    "date-time": ("2031-03-03T09:00:00Z", "2030-12-31T23:59:59Z"),
    "time": ("09:00:00Z", "23:59:59Z"),
    "uri": ("https://example.com/", "https://example.org/page?a=1"),
    "email": ("kim@example.com", "lee@example.org"),
    "uuid": ("00000000-0000-4000-8000-000000000000", "6f1d7c1e-0b7a-4c8e-9d35-0e6f1f2a3b4c"),
}


def fitting(schema: JsonObject, draw: Draw) -> JsonObject:
    """Return valid arguments: all required ones, and some of the others."""
    return _Values(schema, draw).arguments(optional=0.4)


def at_the_border(schema: JsonObject, draw: Draw) -> JsonObject:
    """Return valid but unusual arguments: no optional ones or all of them, limits, odd texts."""
    return _Values(schema, draw, odd=True).arguments(optional=draw.one((0.0, 1.0)))


def spoiled(schema: JsonObject, arguments: JsonObject, draw: Draw) -> JsonObject:
    """Return the arguments with one mistake: one is missing, null, of the wrong type or not in its enum, or all are missing."""
    properties: JsonObject = schema.get("properties", {})
    required = [name for name in schema.get("required", []) if name in arguments]
    ways: list[Callable[[], JsonObject]] = []
    if required:
        missing = draw.one(required)
        ways += [lambda: {name: value for name, value in arguments.items() if name != missing}, dict[str, JsonValue]]
    typed = [name for name in arguments if is_object(properties.get(name))]
    if typed:
        wrong = draw.one(typed)
        described: JsonObject = properties[wrong]
        kind = described.get("type", "string")
        values = WRONG[kind if isinstance(kind, str) and kind in WRONG else "string"]
        ways += [lambda: {**arguments, wrong: draw.one(values)}] * 2
        if "enum" in described:
            ways.append(lambda: {**arguments, wrong: "no such value"})
        if kind == "array" and is_list(arguments[wrong]) and arguments[wrong]:
            ways.append(lambda: {**arguments, wrong: [*arguments[wrong][:-1], 7.5]})
    if not ways:
        return {**arguments, "no_such_argument": draw.word()}
    return draw.one(ways)()


class _Values:
    def __init__(self, schema: JsonObject, draw: Draw, *, odd: bool = False) -> None:
        self._root = schema
        self._draw = draw
        self._odd = odd

    def arguments(self, *, optional: float) -> JsonValue:
        return self._object(self._root, 0, optional)

    def _value(self, schema: JsonValue, name: str, depth: int) -> JsonValue:
        # Schemas may refer to themselves without end.
        if not is_object(schema) or depth > 2 * MAX_DEPTH:
            return self._draw.word()
        described = self._resolved(schema)
        if "const" in described:
            return described["const"]
        for key in ("enum", "examples"):
            if described.get(key):
                return self._draw.one(described[key])
        for key in ("anyOf", "oneOf"):
            if described.get(key):
                return self._value(self._draw.one(described[key]), name, depth + 1)
        kind = described.get("type", "string")
        return self._typed(kind if isinstance(kind, str) else self._draw.one(kind), described, name, depth)

    def _typed(self, kind: str, schema: JsonObject, name: str, depth: int) -> JsonValue:
        match kind:
            case "object":
                return self._object(schema, depth, 0.4)
            case "array":
                return self._array(schema, name, depth)
            case "integer":
                return self._integer(schema, name)
            case "number":
                return self._draw.one((float(self._integer(schema, name)), self._integer(schema, name)))
            case "boolean":
                return self._draw.chance(0.5)
            case "null":
                return None
            case _:
                return self._text(schema, name)

    def _object(self, schema: JsonObject, depth: int, optional: float) -> JsonObject:
        properties: JsonObject = schema.get("properties", {})
        required = schema.get("required", [])
        if depth > MAX_DEPTH:
            # Deep down only what is required, so that recursive optional members end.
            properties = {name: properties[name] for name in required if name in properties}
        return {
            name: self._value(described, name, depth + 1)
            for name, described in properties.items()
            if name in required or self._draw.chance(optional)
        }

    def _array(self, schema: JsonObject, name: str, depth: int) -> JsonValue:
        fewest = int(schema.get("minItems", 0))
        most = int(schema.get("maxItems", fewest + 3))
        count = self._draw.one((fewest, most)) if self._odd else self._draw.integer(max(fewest, min(1, most)), most)
        if depth > MAX_DEPTH:
            count = fewest
        return [self._value(schema.get("items", {}), name.removesuffix("s"), depth + 1) for _ in range(min(count, 8))]

    def _integer(self, schema: JsonObject, name: str) -> int:
        if (known := self._known(name, int)) is not None:
            return known
        low = int(schema.get("minimum", schema.get("exclusiveMinimum", -1 if self._odd else 0)))
        # Bounds of integers: an exclusive one is off by one.
        low += "exclusiveMinimum" in schema and "minimum" not in schema
        high = int(schema.get("maximum", schema.get("exclusiveMaximum", low + 20)))
        high -= "exclusiveMaximum" in schema and "maximum" not in schema
        return self._draw.one((low, high)) if self._odd else self._draw.integer(low, min(high, low + 1000))

    def _text(self, schema: JsonObject, name: str) -> str:
        if schema.get("format") in FORMATS:
            return self._draw.one(FORMATS[schema["format"]])
        known = self._known(name, str)
        if known is not None:
            return known
        text = self._draw.odd_text() if self._odd else self._draw.words(most=3)
        return text.ljust(min(int(schema.get("minLength", 0)), LONGEST), "x")[: int(schema.get("maxLength", LONGEST))]

    def _known(self, name: str, kind: type[T]) -> T | None:
        """Return a value of this type seen under the argument's name in replies or the initial state, or as an id if
        the argument is one.
        """
        key = name.lower().replace("_", "").replace("-", "")
        # `issue_id` may be called issueId, issue or id where replies mention it.
        for place in (key, key.removesuffix("id"), "id" if key.endswith("id") else key):
            values = [value for value in self._draw.past.values(place) if type(value) is kind]
            if values:
                return self._draw.drawn(place, self._draw.one(values))
        return None

    def _resolved(self, schema: JsonObject) -> JsonObject:
        """Return the schema with local references resolved and `allOf` merged."""
        schema = resolved(schema, self._root)
        for part in schema.get("allOf", []):
            schema = {**part, **schema, "properties": {**part.get("properties", {}), **schema.get("properties", {})}}
        return schema

"""Find the mistakes in the arguments of a call, at their outermost level."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object

Kind: TypeAlias = Literal["absent", "unknown", "wrong"]
KINDS: tuple[Kind, ...] = ("absent", "wrong", "unknown")

_MAX_DEPTH = 16
_NAMES: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "number", float: "number", list: "array", dict: "object", type(None): "null",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mistake:
    """A missing required argument, an unknown argument, or a value of the wrong type or outside its enum.

    `wanted` is the type in the schema, or `enum`; `given` is the JSON type of the value.
    """

    kind: Kind
    field: str
    wanted: str = ""
    given: str = ""
    value: JsonValue = None
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the mistake without its value; an unknown argument also without its name."""
        return (
            "unknown" if self.kind == "unknown" else " ".join((self.kind, self.field, self.wanted, self.given)).strip()
        )


@dataclass(frozen=True, slots=True)
class ArgumentMistakes:
    """The mistakes of one call in the order of the schema, unknown arguments last; with the tool's arguments, the
    required ones and the given ones.
    """

    found: tuple[Mistake, ...]
    known: tuple[str, ...]
    required: tuple[str, ...]
    arguments: JsonObject

    @property
    def foremost(self) -> Mistake:
        """Return an unknown argument if there is one, else the first mistake."""
        return next((mistake for mistake in self.found if mistake.kind == "unknown"), self.found[0])

    def __str__(self) -> str:
        return "; ".join(map(str, self.found))


def argument_mistakes(schema: JsonObject, arguments: JsonObject) -> ArgumentMistakes:
    """Return the mistakes in the arguments of a tool with this input schema."""
    known = schema.get("properties", {})
    required = tuple(schema.get("required", []))
    found: list[Mistake] = []
    for name in dict.fromkeys((*known, *required)):
        described = resolved(known.get(name), schema)
        options = tuple(map(str, described.get("enum") or []))
        wanted = "enum" if options else "|".join(types_of(described, schema))
        if name in arguments:
            value = arguments[name]
            if not _fits(value, described, schema):
                found.append(Mistake("wrong", name, wanted, _NAMES[type(value)], value, options))
        elif name in required:
            found.append(Mistake("absent", name, wanted, options=options))
    unknown = (
        Mistake("unknown", name, given=_NAMES[type(arguments[name])], value=arguments[name]) for name in arguments
    )
    found += [mistake for mistake in unknown if mistake.field not in known]
    return ArgumentMistakes(tuple(found), tuple(known), required, arguments)


def resolved(schema: JsonValue, root: JsonObject) -> JsonObject:
    """Return a schema with local references followed; empty for an invalid one."""
    described = as_object(schema)
    # A reference may lead to itself: schemas come from captured servers, which nobody has checked.
    for _ in range(_MAX_DEPTH):
        reference = described.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: JsonValue = root
        for part in reference[2:].split("/"):
            inner: JsonValue = found.get(part) if is_object(found) else None
            found = inner
        rest = {key: value for key, value in described.items() if key != "$ref"}
        described = {**(as_object(found)), **rest}
    return described


def types_of(schema: JsonObject, root: JsonObject) -> list[str]:
    """Return the types that a schema allows, without null; empty if it allows any."""
    return [kind for kind in dict.fromkeys(_types(schema, root, 0)) if kind != "null"]


def _types(schema: JsonObject, root: JsonObject, depth: int) -> Iterator[str]:
    kind: JsonValue = schema.get("type")
    if isinstance(kind, str):
        yield kind
    elif is_list(kind):
        yield from kind
    elif depth < _MAX_DEPTH:
        for option in cast("list[JsonValue]", schema.get("anyOf") or schema.get("oneOf") or []):
            yield from _types(resolved(option, root), root, depth + 1)


def _fits(value: JsonValue, schema: JsonObject, root: JsonObject) -> bool:
    """True if a value has an allowed type and is in its enum."""
    options: JsonValue = schema.get("enum")
    if is_list(options):
        return value in options
    allowed = set(_types(schema, root, 0))
    name = _NAMES[type(value)]
    # JSON Schema 2020-12 counts 1.0 as an integer, true as none.
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return not allowed or name in allowed or (name == "number" and whole and "integer" in allowed)

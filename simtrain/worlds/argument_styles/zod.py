"""Argument checks of servers on the JavaScript SDK: by zod, read back from the JSON Schema that zod wrote.

Nothing is coerced, unknown keys are dropped, absent arguments get their defaults, and every mistake has a line of its own.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.worlds.argument_styles.zod_checks import length_limits, number_limits, text_limits
from simtrain.worlds.argument_styles.zod_words import (
    MISSING,
    Issue,
    Parsed,
    expected,
    is_number,
    no_option,
    not_one_of,
    unrecognized,
)

Read: TypeAlias = Callable[[JsonValue], Parsed]

# A schema may refer to itself, and compiling recurses.
MAX_DEPTH = 64


def zod(tool: str, schema: JsonObject) -> Check:
    """Return the check of a server of the JavaScript SDK. Raises ValueError for an invalid or recursive JSON Schema."""
    return zod_check(schema, lambda issues: "\n".join(str(issue) for issue in issues))


def zod_check(
    schema: JsonObject, worded: Callable[[Sequence[Issue]], str], text_length: Callable[[str], int] = len
) -> Check:
    """Return the check by zod, with its issues worded by `worded`, and texts counted by `text_length`.

    Raises ValueError as `zod` does.
    """
    validator(schema)
    read = _Compiler(schema, text_length).object(schema, 0)

    def check(arguments: JsonObject) -> CheckedArguments:
        parsed = read(arguments)
        if parsed.issues:
            return CheckedArguments(arguments, worded(parsed.issues))
        return CheckedArguments(parsed.value)

    return check


class _Compiler:
    """Compiles the parts of one schema document; references are followed within it."""

    def __init__(self, root: JsonObject, text_length: Callable[[str], int]) -> None:
        self._root = root
        self._text_length = text_length

    def read(self, schema: JsonObject, depth: int) -> Read:
        """Return the reader of the values that a schema describes."""
        if depth > MAX_DEPTH:
            raise ValueError("the schema refers to itself, or is nested too deeply")
        schema = self._resolved(schema)
        for key in ("anyOf", "oneOf"):
            if is_list(schema.get(key)):
                return self._union(schema[key], depth, tagged=key == "oneOf")
        if "const" in schema:
            return _literal([schema["const"]])
        if is_list(schema.get("enum")):
            return _literal(schema["enum"])
        kind = schema.get("type")
        if is_list(kind):
            return self._union([{**schema, "type": one} for one in kind], depth)
        match kind:
            case "string":
                return _text(schema, self._text_length)
            case "number" | "integer":
                return _number(schema)
            case "boolean":
                return _plain("boolean", bool)
            case "null":
                return _plain("null", type(None))
            case "array":
                return self._list(schema, depth)
            case "object":
                return self.object(schema, depth)
            case _:
                return Parsed

    def object(self, schema: JsonObject, depth: int) -> Read:
        """Return the reader of an object: a record if every value has the same schema, else one with known properties."""
        properties = schema.get("properties", {})
        names = schema.get("propertyNames")
        required = schema.get("required", [])
        rest = schema.get("additionalProperties")
        kind = "record" if names is not None or (is_object(rest) and rest and not properties) else "object"
        value = self.read(rest, depth + 1) if is_object(rest) else Parsed
        readers = {name: self.read(described, depth + 1) for name, described in properties.items()}
        if is_object(names) and "enum" in names:
            readers |= dict.fromkeys(names["enum"], value)
            rest = False
        defaults = {name: described["default"] for name, described in properties.items() if "default" in described}

        def parse(given: JsonValue) -> Parsed:
            if not is_object(given):
                return Parsed(given, (expected(kind, given),))
            found: JsonObject = {}
            issues: list[Issue] = []
            extra = [name for name in given if name not in readers]
            # zod strips unknown keys unless the schema says what they may hold.
            for name in [*readers, *(extra if rest is not None and rest is not False else ())]:
                if name not in given and name not in required:
                    if name in defaults:
                        found[name] = defaults[name]
                    continue
                parsed = readers.get(name, value)(given.get(name, MISSING))
                if parsed.value is not MISSING:
                    found[name] = parsed.value
                issues += [issue.under(name) for issue in parsed.issues]
            if rest is False and extra:
                issues.append(unrecognized(extra))
            return Parsed(found, tuple(issues))

        return parse

    def _list(self, schema: JsonObject, depth: int) -> Read:
        """Return the reader of a list, or of a tuple if each place has its own schema."""
        items = schema.get("prefixItems", schema.get("items", {}))
        most = schema.get("maxItems")
        limits = length_limits(schema.get("minItems"), most)
        if is_list(items):
            places = [self.read(item, depth + 1) for item in items]
            return _tuple(places)
        item = self.read(items, depth + 1)

        def parse(given: JsonValue) -> Parsed:
            if not is_list(given):
                return Parsed(given, (expected("array", given), *limits(given)))
            if most is not None and len(given) > most:
                return Parsed(given, tuple(limits(given)))
            parsed = [item(one) for one in given]
            issues = [issue.under(index) for index, one in enumerate(parsed) for issue in one.issues]
            return Parsed([one.value for one in parsed], (*issues, *limits(given)))

        return parse

    def _union(self, options: list[JsonObject], depth: int, *, tagged: bool = False) -> Read:
        """Return the reader of a value that fits one of several schemas. A type or null is worded as that type alone."""
        others = [option for option in options if option != {"type": "null"} and option.get("type") != "null"]
        if len(others) == 1 and len(options) == 2:
            only = self.read(others[0], depth + 1)
            return lambda given: Parsed(None) if given is None else only(given)
        readers = [self.read(option, depth + 1) for option in options]
        tag = self._tag(options) if tagged else None
        if tag is not None:
            values = [self._resolved(option)["properties"][tag]["const"] for option in options]
            return _tagged(tag, dict(zip(values, readers, strict=True)))

        def parse(given: JsonValue) -> Parsed:
            tried = [read(given) for read in readers]
            for parsed in tried:
                if not parsed.issues:
                    return parsed
            # As zod: if one option alone failed without aborting, its issues are reported, and not those of the union.
            mild = [parsed for parsed in tried if all(issue.mild for issue in parsed.issues)]
            return mild[0] if len(mild) == 1 else Parsed(given, (no_option(given, tried),))

        return parse

    def _tag(self, options: list[JsonObject]) -> str | None:
        """Return the property whose constants tell the options apart (zod's discriminator); None if there is none."""
        tags: list[dict[str, str]] = []
        for option in options:
            properties = self._resolved(option).get("properties", {})
            tags.append({name: one["const"] for name, one in properties.items() if isinstance(one.get("const"), str)})
        shared = [name for name in tags[0] if all(name in other for other in tags)]
        return next((name for name in shared if len({other[name] for other in tags}) == len(tags)), None)

    def _resolved(self, schema: JsonObject) -> JsonObject:
        """Return the schema with references into the same document followed, and `allOf` merged in."""
        for _ in range(MAX_DEPTH):
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#"):
                break
            found: JsonValue = self._root
            for part in reference.removeprefix("#").split("/")[1:]:
                found = found.get(part.replace("~1", "/").replace("~0", "~"), {})
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        for part in map(self._resolved, schema.get("allOf", [])):
            properties = {**part.get("properties", {}), **schema.get("properties", {})}
            required = [*schema.get("required", []), *part.get("required", [])]
            schema = {**part, **schema, **({"properties": properties, "required": required} if properties else {})}
        return schema


def _plain(kind: str, of: type) -> Read:
    return lambda given: Parsed(given) if isinstance(given, of) else Parsed(given, (expected(kind, given),))


def _literal(options: list[JsonValue]) -> Read:
    def parse(given: JsonValue) -> Parsed:
        # In Python True equals 1, in JSON it does not.
        fits = any(isinstance(given, bool) is isinstance(option, bool) and given == option for option in options)
        return Parsed(given) if fits else Parsed(given, (not_one_of(options, given),))

    return parse


def _text(schema: JsonObject, text_length: Callable[[str], int]) -> Read:
    lengths = length_limits(schema.get("minLength"), schema.get("maxLength"), text_length)
    form = text_limits(schema)

    def parse(given: JsonValue) -> Parsed:
        if not isinstance(given, str):
            return Parsed(given, (expected("string", given), *lengths(given)))
        return Parsed(given, (*lengths(given), *form(given)))

    return parse


def _number(schema: JsonObject) -> Read:
    limits = number_limits(schema)

    def parse(given: JsonValue) -> Parsed:
        return Parsed(given, tuple(limits(given)) if is_number(given) else (expected("number", given),))

    return parse


def _tuple(places: list[Read]) -> Read:
    lengths = length_limits(len(places), None), length_limits(None, len(places))

    def parse(given: JsonValue) -> Parsed:
        if not is_list(given):
            return Parsed(given, (expected("tuple", given),))
        short, long = (tuple(check(given)) for check in lengths)
        if short:
            return Parsed(given, short)
        parsed = [read(item) for read, item in zip(places, given, strict=False)]
        issues = [issue.under(index) for index, one in enumerate(parsed) for issue in one.issues]
        return Parsed([one.value for one in parsed], (*long, *issues))

    return parse


def _tagged(tag: str, readers: dict[str, Read]) -> Read:
    choices = " | ".join(f"'{value}'" for value in readers)
    problem = Issue(
        f"Invalid discriminator value. Expected {choices}",
        (tag,),
        facts={"code": "invalid_union", "errors": [], "note": "No matching discriminator", "discriminator": tag},
    )

    def parse(given: JsonValue) -> Parsed:
        if not is_object(given):
            return Parsed(given, (expected("object", given),))
        value = given.get(tag)
        read = readers.get(value) if isinstance(value, str) else None
        return Parsed(given, (problem,)) if read is None else read(given)

    return parse

"""Which values may be where."""

from dataclasses import dataclass, field
from difflib import get_close_matches

from confit.errors import ConfitError
from confit.evaluate import kind_of
from confit.paths import format_path


@dataclass(frozen=True)
class Schema:
    """What a value must be. `kind` is that of `kind_of`, or `any`; the rest depends on it."""

    kind: str = "any"
    keys: dict[str, "Schema"] = field(default_factory=dict)
    items: "Schema | None" = None
    optional: bool = False
    default: object = None
    least: float | None = None
    most: float | None = None
    choices: tuple = ()
    open: bool = False

    def filled(self, value: dict) -> dict:
        """Return a table with the defaults of keys that are not there."""
        found = dict(value)
        for key, schema in self.keys.items():
            if schema.kind == "table" and isinstance(found.get(key, {}), dict):
                inner = schema.filled(found.get(key, {}))
                if inner or key in found:
                    found[key] = inner
            elif key not in found and schema.default is not None:
                found[key] = schema.default
        return found

    def problems(self, value: object) -> list[str]:
        """Return all that is wrong, each with its path."""
        return _problems(self, value, [])

    def check(self, value: dict) -> dict:
        """Return the value with its defaults; raise ConfitError for the first problem."""
        filled = self.filled(value)
        found = self.problems(filled)
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise ConfitError(found[0] + more)
        return filled


def _problems(schema: Schema, value: object, steps: list[str | int]) -> list[str]:
    place = format_path(steps) or "the configuration"
    kind = kind_of(value)
    if schema.kind not in ("any", kind):
        return [f"{place} is a {kind}, not a {schema.kind}"]
    found: list[str] = []
    if schema.choices and value not in schema.choices:
        known = ", ".join(map(str, schema.choices))
        found.append(f"{place} is {value!r}, not one of {known}")
    if kind in ("number", "text", "list"):
        found += _range(schema, value, kind, place)
    if isinstance(value, dict):
        found += _table(schema, value, steps, place)
    if isinstance(value, list) and schema.items is not None:
        for number, item in enumerate(value):
            found += _problems(schema.items, item, [*steps, number])
    return found


def _range(schema: Schema, value: object, kind: str, place: str) -> list[str]:
    size = value if kind == "number" else len(value)
    what = place if kind == "number" else f"the length of {place}"
    if schema.least is not None and size < schema.least:
        return [f"{what} is {size:g}, less than {schema.least:g}"]
    if schema.most is not None and size > schema.most:
        return [f"{what} is {size:g}, more than {schema.most:g}"]
    return []


def _table(schema: Schema, value: dict, steps: list[str | int], place: str) -> list[str]:
    found: list[str] = []
    for key, inner in schema.keys.items():
        if key in value:
            found += _problems(inner, value[key], [*steps, key])
        elif not inner.optional and inner.default is None:
            found.append(f"{place} has no {key!r}")
    if schema.keys and not schema.open:
        for key in value:
            if key not in schema.keys:
                close = get_close_matches(key, schema.keys, n=1)
                hint = f", did you mean {close[0]!r}?" if close else ""
                found.append(f"{format_path([*steps, key])} is unknown{hint}")
    return found

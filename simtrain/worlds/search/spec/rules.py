"""Rules of a world: which date or number is never above another. Most follow from when things begin and end."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from simtrain.files.yaml_files import Place
from simtrain.values.errors import InputError
from simtrain.worlds.search.spec.bounds import split_bound
from simtrain.worlds.search.spec.schema import NUMERIC, Attribute, Schema, Type

NOW = "now"
_COMPARISON = re.compile(r"([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\s*(>=|<=|>|<)\s*([a-z].*)")


@dataclass(frozen=True, slots=True)
class Rule:
    """An attribute that is never below (`at_least`) or never above another, which a path of refs leads to from the same row."""

    name: str
    kind: Type
    attribute: Attribute
    at_least: bool
    path: tuple[Attribute, ...]
    shift: int
    place: Place

    @property
    def ref(self) -> Attribute | None:
        """The ref to choose so that the rule holds; None if only the value itself can be drawn to fit."""
        return self.path[0] if len(self.path) == 2 and self.attribute.kind == "date" else None


def rules_of(schema: Schema) -> list[Rule]:
    """Return the rules that the file states, then those that follow from the lives of its types. Raises InputError for an invalid rule."""
    stated = [_stated(schema, name, text) for name, text in schema.spec.rules.items()]
    return [*stated, *(rule for kind in schema.types.values() for rule in _derived(schema, kind))]


def life(schema: Schema, kind: Type) -> tuple[Attribute | None, Attribute | None]:
    """Return the dates that begin and end the life of a type's rows; None for one that it lacks.

    They are those of `life`; of a period, `since` and `until`; else the first date that every row has and that never changes.
    """
    spec = schema.spec.relations.get(kind.name) or schema.spec.entities[kind.name]
    if spec.life is not None:
        place = ("relations" if kind.kind == "relation" else "entities", kind.name, "life")
        with schema.document.at(place):
            found = [kind.attribute(name) for name in spec.life]
            for one in found:
                if one.kind != "date" or one.derived is not None:
                    raise InputError(f"a life begins and ends with dates that are drawn, and {one.name} is not one")
        return (found[0] if found else None), (found[1] if len(found) > 1 else None)
    if "since" in kind.attributes and kind.attributes["since"].spec is None:
        return kind.attributes["since"], kind.attributes["until"]
    dates = [one for one in kind.attributes.values() if one.kind == "date" and one.spec is not None]
    return next((one for one in dates if not one.optional and one.changes is None), None), None


def _stated(schema: Schema, name: str, text: str) -> Rule:
    place = ("rules", name)
    with schema.document.at(place):
        found = _COMPARISON.fullmatch(text.strip())
        if found is None:
            raise InputError(f"{text!r} is not a rule", remedy="write it like visit.since >= visit.port.founded+30d")
        kind = schema.type(found[1])
        attribute = kind.attribute(found[2])
        numeric = attribute.kind in NUMERIC
        base, shift = (found[4].strip(), 0) if numeric else split_bound(found[4].strip())
        path = _path(schema, kind, base)
        if attribute.derived is not None or attribute.kind not in ("date", *NUMERIC):
            raise InputError(f"{kind.name}.{attribute.name} is neither a date nor a number that is drawn")
        if (path[-1].kind == "date") == numeric or path[-1].kind not in ("date", *NUMERIC):
            raise InputError(f"{base} and {kind.name}.{attribute.name} cannot be compared")
        if numeric and len(found[3]) == 1:
            raise InputError("numbers are compared by >= or <=")
        at_least = found[3].startswith(">")
        # Dates are whole days, so `>` is `>=` a day later. Numbers have no next one, hence the refusal above.
        strict = 0 if len(found[3]) > 1 else 1 if at_least else -1
        return Rule(name, kind, attribute, at_least, path, shift + strict, place)


def _path(schema: Schema, kind: Type, path: str) -> tuple[Attribute, ...]:
    """Return the attributes of a path from a row of a type; it may begin with the type's own name."""
    steps = path.split(".")
    if steps[0] == kind.name and len(steps) > 1:
        steps = steps[1:]
    found: list[Attribute] = []
    for place, step in enumerate(steps):
        one = kind.attribute(step)
        if one.derived is not None:
            raise InputError(f"{kind.name}.{step} is derived, which is computed after all else")
        found.append(one)
        if place < len(steps) - 1:
            if one.kind != "ref":
                raise InputError(f"{kind.name}.{step} is not a ref: nothing follows it")
            kind = schema.types[one.target or ""]
    return tuple(found)


def _derived(schema: Schema, kind: Type) -> Iterator[Rule]:
    begins, ends = life(schema, kind)
    for one in kind.attributes.values():
        if one.kind == "date" and one.spec is not None and begins is not None:
            # A range that is written relative to the beginning is the author's word, who may want a date before it.
            if one is not begins and not _rests(schema, kind, begins, one):
                yield _rule(kind, one, True, begins)
            if ends is not None and one not in (begins, ends):
                yield _rule(kind, one, False, ends)
        if one.kind == "ref" and one.derived is None:
            yield from _of_ref(schema, kind, one, begins, ends)


def _of_ref(
    schema: Schema, kind: Type, ref: Attribute, begins: Attribute | None, ends: Attribute | None
) -> Iterator[Rule]:
    """Yield the rules that a row refers only to what exists: from `at` of the ref, else from its beginning; for periods, to their end."""
    given = ref.spec.at if ref.spec else None
    target = life(schema, schema.types[ref.target or ""])
    # A ref that changes names the present one, which need not have been there when the row began.
    if given == NOW or (given is None and ref.changes is not None):
        return
    with schema.document.at((*ref.place, "at")):
        at = begins if given is None else kind.attribute(given)
        if at is not None and (at.kind != "date" or at.derived is not None):
            raise InputError(f"{at.name} is not a date that is drawn", remedy="name a date of the type, or now")
    if at is None:
        return
    if target[0] is not None:
        yield _rule(kind, at, True, ref, target[0])
    if target[1] is not None:
        yield _rule(kind, ends if at.spec is None and ends is not None else at, False, ref, target[1])


def _rule(kind: Type, attribute: Attribute, at_least: bool, *path: Attribute) -> Rule:
    words = ".".join((kind.name, *(one.name for one in path)))
    name = f"{kind.name}.{attribute.name} {'>=' if at_least else '<='} {words}"
    return Rule(name, kind, attribute, at_least, path, 0, attribute.place)


def _rests(schema: Schema, kind: Type, attribute: Attribute, other: Attribute) -> bool:
    """True if the range of a date depends, directly or not, on another date of its row."""
    waiting, seen = [attribute], {attribute.name}
    while waiting:
        one = waiting.pop()
        for place, bound in enumerate((one.spec and one.spec.date) or ()):
            with schema.document.at((*one.place, "date", place)):
                base = kind.attributes.get(split_bound(bound)[0])
            if base is other:
                return True
            if base is not None and base.name not in seen:
                seen.add(base.name)
                waiting.append(base)
    return False

"""The resolved schema of a search world: types and attributes, with the ids that statements use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import instant, stamp
from simtrain.values.errors import InputError, nearest
from simtrain.worlds.search.spec.parts import days
from simtrain.worlds.search.spec.world_file import RESERVED, AttributeSpec, DerivedSpec, RelationSpec, SearchSpec

PAGE = "_page"
SITE = "_site"
PAGE_FACTS = {"date": "date", "number": "number", "last": "number", "members": "number"}
NUMERIC = frozenset({"number", "quantity", "money"})
"""The kinds of attributes that are numbers."""
SITE_FACTS = {"title": "text", "domain": "text"}


@dataclass(frozen=True, eq=False, slots=True)
class Attribute:
    """An attribute with its names, kind and target resolved."""

    id: int
    type: str
    name: str
    kind: str
    label: str
    unit: str | None = None
    target: str | None = None
    digits: int = 0
    optional: bool = False
    changes: int | None = None
    """Days for which a value holds on average; None: it never changes."""
    spec: AttributeSpec | None = None
    derived: DerivedSpec | None = None
    place: Place = ()


@dataclass(frozen=True, eq=False, slots=True)
class Type:
    """An entity type or a relation; both have rows."""

    name: str
    kind: str
    plural: str
    label: str
    position: int
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])

    def attribute(self, name: str) -> Attribute:
        """Return the attribute of that name. Raises InputError that suggests the nearest one."""
        if name not in self.attributes:
            raise InputError(f"{self.name} has no fact {name!r}", remedy=nearest(name, self.attributes))
        return self.attributes[name]


class Schema:
    """All types by name, entities first, and the pseudo-types of pages and sites."""

    def __init__(self, spec: SearchSpec, document: Document) -> None:
        """Resolve the file. Raises InputError, with the place, for unknown and clashing names."""
        self.spec = spec
        self.document = document
        self.types: dict[str, Type] = {}
        # Ids follow the order of the file: a statement stores one as a character, so they start at 1 and stay small.
        self._next = 1
        self.page = self._pseudo(PAGE, PAGE_FACTS)
        self.site = self._pseudo(SITE, SITE_FACTS)
        for name, entity in spec.entities.items():
            place: Place = ("entities", name)
            self._check_name(name, place)
            found = Type(name, "entity", entity.plural or f"{name}s", entity.label or _words(name), len(self.types))
            self.types[name] = found
            if entity.attributes.get("name", None) is None or entity.attributes["name"].name is None:
                raise document.error((*place, "attributes"), "an entity needs an attribute `name` of the kind name")
            if entity.count is None and not any(one.each for one in entity.attributes.values()):
                raise document.error(
                    place, "how many there are is missing", "give `count`, or `each` on one of its refs"
                )
            if entity.count is not None and any(one.each for one in entity.attributes.values()):
                raise document.error(place, "both `count` and a ref with `each` say how many there are", "keep one")
            self._add(found, entity.attributes, (*place, "attributes"))
        for name, relation in spec.relations.items():
            place = ("relations", name)
            self._check_name(name, place)
            found = Type(
                name, "relation", relation.plural or f"{name}s", relation.label or _words(name), len(self.types)
            )
            self.types[name] = found
            self._check_room(relation, place)
            ends = relation.ends or (relation.from_, relation.to)
            for end, target in zip(ends, (relation.from_, relation.to), strict=True):
                self._put(found, Attribute(self._id(), name, end, "ref", _words(end), target=target, place=place))
            if relation.during is not None:
                self._put(found, Attribute(self._id(), name, "since", "date", "since", place=place))
                self._put(found, Attribute(self._id(), name, "until", "date", "until", optional=True, place=place))
            self._add(found, relation.attributes, (*place, "attributes"))
        for path, given in spec.derived.items():
            self._derive(path, DerivedSpec(sql=given) if isinstance(given, str) else given)
        for kind in self.types.values():
            self._check_refs(kind)

    @property
    def moment(self) -> str:
        """The present moment of the world, as its SQL reads it (`2147-03-02T09:00:00Z`)."""
        return stamp(instant(self.spec.clock.start))

    @property
    def today(self) -> str:
        """The present day, YYYY-MM-DD."""
        return self.moment[:10]

    def type(self, name: str) -> Type:
        """Return the type of that name. Raises InputError that suggests the nearest one."""
        if name not in self.types:
            raise InputError(f"unknown type {name!r}", remedy=nearest(name, self.types))
        return self.types[name]

    def fact(self, path: str) -> Attribute:
        """Return the attribute `type.attribute`. Raises InputError that suggests the nearest name."""
        owner, _, name = path.partition(".")
        return self.type(owner).attribute(name)

    def ends(self, relation: str) -> tuple[str, str]:
        """Return the names of the two columns of a relation."""
        spec = self.spec.relations[relation]
        return spec.ends or (spec.from_, spec.to)

    def all_attributes(self) -> list[Attribute]:
        """Return every attribute, by id."""
        groups: list[Mapping[str, Attribute]] = [
            self.page,
            self.site,
            *(kind.attributes for kind in self.types.values()),
        ]
        return sorted((one for group in groups for one in group.values()), key=lambda one: one.id)

    def _id(self) -> int:
        self._next += 1
        return self._next - 1

    def _pseudo(self, name: str, facts: Mapping[str, str]) -> dict[str, Attribute]:
        return {fact: Attribute(self._id(), name, fact, kind, _words(fact)) for fact, kind in facts.items()}

    def _check_name(self, name: str, place: Place) -> None:
        if name in RESERVED or name.startswith("sqlite") or name in self.types:
            raise self.document.error(place, f"{name!r} cannot be the name of a type", "choose another")

    def _check_room(self, relation: RelationSpec, place: Place) -> None:
        """Check, at the size in the file, that each row finds as many different rows as it is tied to."""
        target = self.spec.entities.get(relation.to)
        if target is None or target.count is None or not relation.distinct:
            return
        # No row is tied to itself.
        most = target.count - (relation.from_ == relation.to)
        if relation.each[0] > most:
            raise self.document.error(
                (*place, "each"),
                f"each {relation.from_} is tied to {relation.each[0]} different rows of {relation.to}, but there are {most}",
                "change the counts, or say `distinct: false`",
            )

    def _put(self, kind: Type, attribute: Attribute) -> None:
        if attribute.name in RESERVED or attribute.name in kind.attributes:
            raise self.document.error(
                attribute.place, f"{attribute.name!r} cannot be the name of a fact", "choose another"
            )
        kind.attributes[attribute.name] = attribute

    def _add(self, kind: Type, specs: Mapping[str, AttributeSpec], place: Place) -> None:
        for name, spec in specs.items():
            here = (*place, name)
            if spec.name is not None and (name != "name" or kind.kind != "entity"):
                raise self.document.error(
                    here, "only the attribute `name` of an entity is of the kind name", "use text"
                )
            attribute = Attribute(
                self._id(),
                kind.name,
                name,
                "text" if spec.kind == "code" else spec.kind,
                spec.label or _words(name),
                unit=spec.currency if spec.kind == "money" else spec.unit,
                target=spec.ref,
                # Four decimals of a degree are about 11 metres.
                digits=4 if spec.kind == "coordinates" and not spec.digits else spec.digits,
                optional=spec.optional > 0,
                changes=days(spec.changes) if spec.changes else None,
                spec=spec,
                place=here,
            )
            self._put(kind, attribute)

    def _derive(self, path: str, spec: DerivedSpec) -> None:
        place = ("derived", path)
        owner, _, name = path.partition(".")
        if not name.isidentifier():
            raise self.document.error(place, "a derived attribute is named type.attribute")
        with self.document.at(place):
            kind = self.type(owner)
        label = spec.label or _words(name)
        changes = days(spec.changes) if spec.changes else None
        self._put(
            kind,
            Attribute(
                self._id(),
                owner,
                name,
                spec.kind,
                label,
                spec.unit,
                spec.target,
                spec.digits,
                spec.optional,
                changes,
                None,
                spec,
                place,
            ),
        )

    def _check_refs(self, kind: Type) -> None:
        for attribute in kind.attributes.values():
            if attribute.kind != "ref":
                continue
            with self.document.at(attribute.place):
                target = self.type(attribute.target or "")
                if target.kind != "entity":
                    raise InputError(f"{target.name!r} is a relation; only entities can be referred to")


def _words(name: str) -> str:
    return name.replace("_", " ")

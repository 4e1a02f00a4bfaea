"""The YAML of a whole search world file."""

from __future__ import annotations

import re
from math import floor
from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from simtrain.files.file_model import Duration, FileModel, Instant, checked
from simtrain.values.errors import nearest
from simtrain.values.types import JsonValue
from simtrain.worlds.search.spec.parts import Name, Share, days
from simtrain.worlds.search.spec.sites import DisputesSpec, SiteSpec
from simtrain.worlds.search.spec.view import View
from simtrain.worlds.search.spec.wordbook import LanguageWords, Wordbook

# SQL keywords, which authors would have to quote in every query, and names that page templates define themselves.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        "id page site group members rows loop count order by select from where table index values to as on in is not and or null case when"
        " then else end limit offset union except join left right inner outer default check unique",
    )
)
MAX_COUNT = 2_000_000
MAX_PAGES = 2_000_000
Pair: TypeAlias = tuple[float, float]
# The strategies of Qwen-AgentWorld's report.
Strategy: TypeAlias = Literal["time_shifted", "long_tail", "private_simulation", "grounded"]


class SearchClockSpec(FileModel):
    """Virtual time: the present of the world, and how far each tool call moves it."""

    start: Instant = "2147-03-02T09:00:00Z"
    per_step: Duration = 20.0


class Flavour(FileModel):
    """The sounds of a language: each syllable is an onset, a nucleus and a coda, each possibly empty."""

    onsets: list[str] = Field(min_length=2)
    nuclei: list[str] = Field(min_length=2)
    codas: list[str] = Field(default_factory=lambda: [""], min_length=1)
    syllables: tuple[int, int] = (2, 3)

    @field_validator("syllables")
    @classmethod
    def _is_long_enough(cls, value: tuple[int, int]) -> tuple[int, int]:
        if not 2 <= value[0] <= value[1] <= 5:
            raise ValueError("words have 2 to 5 syllables: with fewer, real words would come up")
        return value


class Distribution(FileModel):
    """A distribution of numbers: exactly one of its fields."""

    uniform: Pair | None = None
    normal: Pair | None = Field(default=None, description="Mean and standard deviation.")
    lognormal: Pair | None = Field(default=None, description="Median, and the spread as a factor above 1.")
    exponential: float | None = Field(default=None, gt=0, description="Mean.")
    choose: list[float] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _is_one(self) -> Distribution:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a distribution names exactly one of {', '.join(type(self).model_fields)}")
        if self.uniform and self.uniform[0] > self.uniform[1]:
            raise ValueError("the range runs backwards")
        if self.lognormal and (self.lognormal[0] <= 0 or self.lognormal[1] <= 1):
            raise ValueError("lognormal needs a median above 0 and a spread above 1")
        return self


def _shape(given: object) -> str:
    return "distribution" if isinstance(given, dict | Distribution) else "range"


Numbers: TypeAlias = Annotated[
    # Tagged, so that pydantic reports the errors of the form that was meant, and not those of both.
    Annotated[Pair, Tag("range")] | Annotated[Distribution, Tag("distribution")], Discriminator(_shape)
]

KINDS = ("name", "text", "code", "category", "date", "number", "quantity", "money", "coordinates", "flag", "ref")
_OPTIONS: dict[str, frozenset[str]] = {
    "name": frozenset(),
    "text": frozenset({"changes"}),
    "code": frozenset(),
    "category": frozenset({"weights", "changes"}),
    "date": frozenset({"changes"}),
    "number": frozenset({"digits", "step", "min", "max", "times", "changes", "unit"}),
    "quantity": frozenset({"digits", "step", "min", "max", "times", "changes", "unit"}),
    "money": frozenset({"digits", "step", "min", "max", "times", "changes", "currency"}),
    "coordinates": frozenset({"digits"}),
    "flag": frozenset({"changes"}),
    "ref": frozenset({"each", "skew", "unique", "covers", "at", "changes"}),
}


class AttributeSpec(FileModel):
    """One attribute: its kind of value, how it is drawn, its label."""

    name: str | None = Field(default=None, description="A flavour, or a form such as '{reach} {reach} Station'.")
    text: list[str] | None = Field(default=None, min_length=1)
    code: str | None = Field(default=None, description="A pattern: # is a digit, @ a capital letter; unique.")
    category: list[str] | None = Field(default=None, min_length=1)
    date: tuple[str, str] | None = None
    number: Numbers | None = None
    quantity: Numbers | None = None
    money: Numbers | None = None
    coordinates: tuple[Pair, Pair] | None = None
    flag: Share | None = None
    ref: Name | None = None

    unit: str | None = None
    currency: str | None = None
    digits: int = Field(default=0, ge=0, le=6)
    step: float | None = Field(default=None, gt=0)
    weights: list[float] | None = None
    min: float | str | None = None
    max: float | str | None = None
    times: str | None = None
    each: tuple[int, int] | None = None
    skew: float = Field(default=1.0, ge=1, le=10)
    unique: bool = False
    covers: bool = Field(default=False, description="Every row of the other type is referred to.")
    at: Name | None = Field(
        default=None, description="The date from which on what is referred to is there, or now; default: the first."
    )
    optional: Share = 0.0
    changes: str | None = Field(
        default=None, description="How long a value holds on average; late sites state older ones."
    )
    label: str | None = None

    @property
    def kind(self) -> str:
        """The kind, named by the one key of KINDS that is set."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _fits(self) -> AttributeSpec:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"an attribute has exactly one kind of {', '.join(KINDS)}")
        allowed = _OPTIONS[given[0]] | {"optional", "label", given[0]}
        for option in self.model_fields_set - allowed:
            raise ValueError(f"{option!r} means nothing for a {given[0]}; {nearest(option, allowed)}")
        if given[0] == "quantity" and self.unit is None:
            raise ValueError("a quantity needs a unit")
        if given[0] == "money" and self.currency is None:
            raise ValueError("money needs a currency")
        if self.category is not None:
            self._check_category(self.category)
        if self.text is not None and any(re.search(r"\d|\B[A-Z]|\s[A-Z]", phrase) for phrase in self.text):
            raise ValueError(
                "phrases hold no digits and no capital letters but the first: pages state names and numbers"
            )
        if self.coordinates is not None:
            for (low, high), most in zip(self.coordinates, (90, 180), strict=True):
                if not -most <= low <= high <= most:
                    raise ValueError(
                        "coordinates are [[south, north], [west, east]] in degrees, at most 90 and 180 from 0"
                    )
        if isinstance(self.min, float) and isinstance(self.max, float):
            self._check_room(self.min, self.max)
        if self.each is not None and not 0 <= self.each[0] <= self.each[1]:
            raise ValueError("a range begins with its lower end")
        if self.changes is not None:
            checked(self.changes, parse=days)
        return self

    def _check_category(self, values: list[str]) -> None:
        twice = [value for at, value in enumerate(values) if value in values[:at]]
        if twice:
            raise ValueError(f"the value {twice[0]!r} appears twice; use `weights` to make it frequent")
        if self.weights is None:
            return
        if len(self.weights) != len(values):
            raise ValueError(f"{len(values)} values but {len(self.weights)} weights")
        if min(self.weights) < 0 or not any(self.weights):
            raise ValueError("a weight is not below 0, and one of them is above")

    def _check_room(self, low: float, high: float) -> None:
        if low > high:
            raise ValueError(f"no number fits: `min` is {low:g} and `max` {high:g}")
        if self.step is not None and floor(high / self.step) * self.step < low:
            raise ValueError(f"no multiple of {self.step:g} lies between {low:g} and {high:g}")


class Aliases(FileModel):
    """The shares of rows with a former or a short name."""

    former: Share = 0.0
    short: Share = 0.0


Life: TypeAlias = Annotated[
    list[Name], Field(max_length=2, description="The date that begins it, and the one that ends it if there is one.")
]


class EntitySpec(FileModel):
    """A type of entity: the number of its rows, and their attributes."""

    count: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    fixed: bool = Field(default=False, description="Whether the count stays when a world is scaled by its pages.")
    plural: str | None = None
    label: str | None = None
    life: Life | None = None
    aliases: Aliases = Aliases()
    attributes: dict[Name, AttributeSpec]


class RelationSpec(FileModel):
    """A many-to-many relation of two types; with `during`, each row has a period of validity."""

    from_: Name = Field(alias="from")
    to: Name
    ends: tuple[Name, Name] | None = Field(
        default=None, description="Names of the two columns; those of the types otherwise."
    )
    each: tuple[int, int] = (1, 3)
    distinct: bool = True
    during: tuple[str, str] | None = None
    open: Share = Field(default=0.6, description="The share of rows whose last period still goes on.")
    plural: str | None = None
    label: str | None = None
    life: Life | None = None
    attributes: dict[Name, AttributeSpec] = Field(default_factory=dict[str, AttributeSpec])

    @model_validator(mode="after")
    def _fits(self) -> RelationSpec:
        if not 0 <= self.each[0] <= self.each[1]:
            raise ValueError("`each` begins with its lower end")
        if self.ends is None and self.from_ == self.to:
            raise ValueError("a relation of a type with itself needs `ends`, two names for its columns")
        return self


class DerivedSpec(FileModel):
    """A derived attribute: SQL for its value in the row `:id`, and its kind."""

    sql: str
    kind: Literal["number", "quantity", "money", "date", "text", "category", "flag", "ref"] = "number"
    unit: str | None = None
    target: Name | None = None
    digits: int = Field(default=0, ge=0, le=6)
    optional: bool = False
    changes: str | None = None
    label: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> DerivedSpec:
        if (self.kind == "ref") != (self.target is not None):
            raise ValueError("a derived ref, and nothing else, needs a target")
        if self.kind in ("quantity", "money") and self.unit is None:
            raise ValueError(f"a derived {self.kind} needs a unit")
        return self


class UnitSpec(FileModel):
    """An invented unit, as a multiple of another one."""

    is_: float = Field(alias="is", gt=0)
    of: str


class SearchSpec(FileModel):
    """A search world: facts, and the sites that state them."""

    kind: Literal["search"]
    name: Name
    title: str = ""
    description: str = ""
    strategy: Strategy = "private_simulation"
    seed: int = 0
    pages: int | None = Field(default=None, ge=10, le=MAX_PAGES, description="About how many pages; scales the counts.")
    clock: SearchClockSpec = SearchClockSpec()
    flavours: dict[Name, Flavour] = Field(min_length=1)
    avoid: str | None = Field(
        default=None, description="A text file beside this one: words and names that must not come up."
    )
    enriched: str | None = Field(
        default=None,
        description="A file beside this one with other words for pages, as `simtrain world enrich` writes it.",
    )
    units: dict[str, UnitSpec] = Field(default_factory=dict[str, UnitSpec])
    entities: dict[Name, EntitySpec] = Field(min_length=1)
    relations: dict[Name, RelationSpec] = Field(default_factory=dict[str, RelationSpec])
    derived: dict[str, str | DerivedSpec] = Field(default_factory=dict[str, str | DerivedSpec])
    rules: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="What is never before, after, below or above what, beside what lives give.",
    )
    constraints: dict[str, str] = Field(default_factory=dict[str, str])
    words: Wordbook = Field(
        default_factory=dict[Literal["en", "zh"], LanguageWords],
        description="Language: what types, attributes, units and categories are called in questions.",
    )
    sites: dict[Name, SiteSpec] = Field(min_length=1)
    disputes: DisputesSpec | None = Field(
        default=None, description="What decides where sites disagree, by attribute; pages must tell it."
    )
    search: View = Field(
        default=View(), description="How the world is configured: snippets, results, words of a page, upkeep."
    )
    tools: list[JsonValue] | None = Field(
        default=None, description="The toolsets that are offered; web and memory otherwise."
    )

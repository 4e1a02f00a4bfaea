"""Column generators: what `rows:` says of a column, compiled to a function of the row so far."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from simtrain.values.clock import instant, seconds, stamp
from simtrain.values.errors import InputError, nearest
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object
from simtrain.worlds.service.database import Cell, Database
from simtrain.worlds.service.names import NAMED, POOLS

DAY = 86400.0
MAX_TRIES = 2000

_FIELD = re.compile(r"\{([A-Za-z_][\w.]*)(?::(0\d{1,2}))?\}")
_BOUND = re.compile(r"([A-Za-z_]\w*)\s*(?:([+-])\s*(\S+))?")


@dataclass(slots=True)
class RowDraft:
    """An unfinished row: its columns so far, the row of `each`, and the stream of draws."""

    values: dict[str, Cell]
    parent: Mapping[str, Cell]
    seq: int
    stream: Stream
    database: Database
    start: float
    pools: dict[str, list[Cell]] = field(default_factory=dict[str, list[Cell]])

    @property
    def parameters(self) -> dict[str, Cell]:
        """The names that SQL inside a generator may use."""
        return {**self.values, "seq": self.seq}


Generator: TypeAlias = Callable[[RowDraft], Cell]


def compile_generator(source: JsonValue) -> Generator:
    """Return the generator that a YAML value describes; grammar in docs/worlds.md. Raises InputError."""
    if isinstance(source, bool):
        return _constant(int(source))
    if source is None or isinstance(source, int | float):
        return _constant(source)
    if isinstance(source, str):
        return _template(source) if "{" in source else _named(source)
    if is_object(source):
        return _mapping(source)
    raise InputError("a generator is a number, text with {fields}, a named generator, or a mapping")


def _constant(value: Cell) -> Generator:
    return lambda row: value


def _named(name: str) -> Generator:
    if name not in NAMED:
        raise InputError(
            f"unknown generator {name!r}", remedy=nearest(name, NAMED) + " (fixed text is written {value: text})"
        )
    make = NAMED[name]
    return lambda row: make(row.stream)


def _template(source: str) -> Generator:
    def fill(found: re.Match[str], row: RowDraft) -> str:
        value = _field(found[1], row)
        return str(value).zfill(int(found[2])) if found[2] else str(value)

    return lambda row: _FIELD.sub(lambda found: fill(found, row), source)


def _field(name: str, row: RowDraft) -> Cell:
    if name == "seq":
        return row.seq
    if name.startswith("parent.") and name[7:] in row.parent:
        return row.parent[name[7:]]
    if name in row.values:
        return row.values[name]
    if name in NAMED:
        return NAMED[name](row.stream)
    raise InputError(f"unknown field {{{name}}}", remedy=nearest(name, [*row.values, "seq", *NAMED]))


def _mapping(source: JsonObject) -> Generator:
    kinds = [key for key in source if key in _KINDS]
    if len(kinds) != 1:
        given = " and ".join(kinds or source) or "nothing"
        remedy = nearest(next(iter(source), ""), _KINDS) if not kinds else f"one of {', '.join(sorted(_KINDS))}"
        raise InputError(f"a generator mapping names exactly one generator, not {given}", remedy=remedy)
    kind = kinds[0]
    make, options = _KINDS[kind]
    allowed = {kind, "null", "unique", *options}
    for key in source:
        if key not in allowed:
            raise InputError(f"unknown key {key!r} beside {kind!r}", remedy=nearest(key, allowed))
    generator = make(source)
    if source.get("unique") and kind != "ref":
        generator = _unique(generator)
    share = source.get("null")
    if share is None:
        return generator
    portion = _share(share)
    return lambda row: None if row.stream.random() < portion else generator(row)


def _unique(generator: Generator) -> Generator:
    def draw(row: RowDraft) -> Cell:
        taken = row.pools.setdefault(f"unique {id(generator)}", [])
        for _ in range(MAX_TRIES):
            value = generator(row)
            if value not in taken:
                taken.append(value)
                return value
        raise InputError(f"no new value after {MAX_TRIES} tries", remedy="widen the generator or lower the count")

    return draw


def _numbers(value: JsonValue) -> tuple[float, float]:
    pair = value if is_list(value) else []
    if len(pair) != 2 or not all(isinstance(item, int | float) and not isinstance(item, bool) for item in pair):
        raise InputError("a range of two numbers is needed", remedy="write it like [1, 10]")
    if pair[0] > pair[1]:
        raise InputError(f"the range {pair} runs backwards", remedy="begin with its lower end")
    return tuple(pair)


def _share(value: JsonValue) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{value!r} is not a share", remedy="give a number between 0 and 1")
    return float(value)


def _choose(source: JsonObject) -> Generator:
    items = source["choose"]
    if not is_list(items) or not items:
        raise InputError("choose needs a list with at least one value")
    values = [int(item) if isinstance(item, bool) else item for item in items]
    weights = source.get("weights")
    if weights is not None and len(weights) != len(values):
        raise InputError(f"{len(values)} values but {len(weights)} weights", remedy="give one weight for each value")
    return lambda row: row.stream.choose(values, weights)


def _int(source: JsonObject) -> Generator:
    low, high = (int(bound) for bound in _numbers(source["int"]))
    return lambda row: row.stream.integer(low, high)


def _number(source: JsonObject) -> Generator:
    low, high = _numbers(source["number"])
    digits = int(source.get("digits", 2))
    return lambda row: round(row.stream.number(low, high), digits)


def _money(source: JsonObject) -> Generator:
    low, high = _numbers(source["money"])
    # Squaring the draw makes small amounts more frequent than large ones, as with real prices.
    return lambda row: round(low + (high - low) * row.stream.random() ** 2, 2)


def _bound(source: JsonValue) -> Callable[[RowDraft], float]:
    if not isinstance(source, str):
        raise InputError("a date bound is text", remedy="write it like 2031-03-03, start-90d or ordered_at+2d")
    found = _BOUND.fullmatch(source)
    if found is None:
        fixed = instant(source)
        return lambda row: fixed
    base, sign, offset = found[1], found[2], found[3]
    shift = seconds(offset) * (-1 if sign == "-" else 1) if offset else 0.0

    def moment(row: RowDraft) -> float:
        if base == "start":
            return row.start + shift
        value = row.values.get(base, row.parent.get(base))
        if not isinstance(value, str):
            raise InputError(
                f"the bound {source!r} needs an earlier column {base!r} with a date",
                remedy=nearest(base, [*row.values, *row.parent, "start"]),
            )
        return instant(value) + shift

    return moment


def _bounds(value: JsonValue) -> tuple[Callable[[RowDraft], float], Callable[[RowDraft], float]]:
    pair = value if is_list(value) else []
    if len(pair) != 2:
        raise InputError("two bounds are needed", remedy="write it like [start-90d, start]")
    return _bound(pair[0]), _bound(pair[1])


def _date(source: JsonObject) -> Generator:
    low, high = _bounds(source["date"])
    return lambda row: stamp(row.stream.number(low(row), high(row)))[:10]


def _time(source: JsonObject) -> Generator:
    low, high = _bounds(source["time"])
    grid = float(source.get("minutes", 1)) * 60
    hours = _numbers(source["hours"]) if "hours" in source else None

    def draw(row: RowDraft) -> Cell:
        moment = row.stream.number(low(row), high(row))
        if hours is not None:
            opening, closing = hours
            moment = moment // DAY * DAY + row.stream.number(opening, closing) * 3600
        return stamp(moment // grid * grid)

    return draw


def _ref(source: JsonObject) -> Generator:
    target, condition = source["ref"], source.get("where")
    table, dot, column = str(target).partition(".")
    if not dot:
        raise InputError(f"ref needs table.column, not {target!r}")
    sql = f'select "{column}" from "{table}"' + (f" where {condition}" if condition else "") + " order by rowid"
    unique = bool(source.get("unique"))

    def draw(row: RowDraft) -> Cell:
        # A condition may name columns of the row, so its rows are queried again, except for unique ones, which are drawn without return.
        pool = row.pools.get(sql) if condition is None or unique else None
        if pool is None:
            pool = [next(iter(found.values())) for found in row.database.rows(sql, row.parameters)]
            row.pools[sql] = pool
        if not pool:
            raise InputError(f"no row of {table!r} is left to refer to", remedy="widen `where` or lower the count")
        return pool.pop(row.stream.integer(0, len(pool) - 1)) if unique else row.stream.choose(pool)

    return draw


def _parent(source: JsonObject) -> Generator:
    column = str(source["parent"])

    def copy(row: RowDraft) -> Cell:
        if column not in row.parent:
            raise InputError(f"the parent row has no column {column!r}", remedy=nearest(column, row.parent))
        return row.parent[column]

    return copy


def _sql(source: JsonObject) -> Generator:
    sql = str(source["sql"])

    def compute(row: RowDraft) -> Cell:
        parent = {f"parent_{name}": value for name, value in row.parent.items()}
        found = row.database.rows(sql, {**parent, **row.parameters})
        return next(iter(found[0].values())) if found else None

    return compute


def _text(source: JsonObject) -> Generator:
    texts = source["text"]
    if not is_list(texts) or not texts or not all(isinstance(text, str) for text in texts):
        raise InputError("text needs a list of texts")
    templates = [_template(text) for text in texts]
    return lambda row: row.stream.choose(templates)(row)


def _chance(source: JsonObject) -> Generator:
    portion = _share(source["chance"])
    return lambda row: int(row.stream.random() < portion)


def _email(source: JsonObject) -> Generator:
    column = str(source["email"])
    domain = source.get("domain")

    def address(row: RowDraft) -> Cell:
        name = row.values.get(column)
        if not isinstance(name, str):
            raise InputError(f"email needs an earlier text column, not {column!r}", remedy=nearest(column, row.values))
        local = re.sub(r"[^a-z0-9]+", ".", name.lower().encode("ascii", "ignore").decode()).strip(".") or "contact"
        host = domain or f"{row.stream.choose(POOLS['company_stems']).lower()}.example"
        taken = row.pools.setdefault("email", [])
        found, number = f"{local}@{host}", 1
        while found in taken:
            number += 1
            found = f"{local}{number}@{host}"
        taken.append(found)
        return found

    return address


_KINDS: dict[str, tuple[Callable[[JsonObject], Generator], tuple[str, ...]]] = {
    "value": (lambda source: _constant(source["value"]), ()),
    "choose": (_choose, ("weights",)), "int": (_int, ()), "number": (_number, ("digits",)), "money": (_money, ()),
    "date": (_date, ()), "time": (_time, ("hours", "minutes")), "ref": (_ref, ("where",)), "parent": (_parent, ()),
    "sql": (_sql, ()), "text": (_text, ()), "chance": (_chance, ()), "email": (_email, ("domain",)),
}  # fmt: skip
"""Kind of generator -> the function that makes it from a mapping, and the other keys that it takes."""

"""The source of generated arguments: a seeded random stream, and the values that earlier calls of the sequence established."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn, TypeVar, cast

from simtrain.values.errors import SimtrainError
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, is_object

T = TypeVar("T")

# Few words, so that calls of a sequence meet the same records again.
WORDS = (
    "amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper", "kelp", "larch",
    "maple", "nectar", "osprey", "pebble", "quartz", "river", "saddle", "tundra", "umber", "valley", "willow", "yarrow",
)  # fmt: skip
ODD_TEXTS = (
    "",
    " ",
    "naïve café",
    "日本語",
    "🦀",
    'quo"te',
    "back\\slash",
    "two\nlines",
    "tab\there",
    "  padded  ",
    "<b>&amp;</b>",
)


class NothingToDraw(SimtrainError):
    """Raised when a maker needs a value of a kind that currently has none; another maker of the tool is tried."""


class Past:
    """The values that a sequence can refer to, by kind: those of the initial state, and those that its calls established."""

    def __init__(self, initial: Mapping[str, Sequence[JsonValue]]) -> None:
        self._initial = {kind: list(values) for kind, values in initial.items()}
        self._earlier: dict[str, list[JsonValue]] = {}
        self._gone: dict[str, list[JsonValue]] = {}

    def note(self, kind: str, *values: JsonValue) -> None:
        """Note the values that a call created, changed or reported; later calls that use them depend on it."""
        for value in values:
            _remove(self._gone, kind, value)
            _remove(self._earlier, kind, value)
            self._earlier.setdefault(kind, []).append(value)

    def drop(self, kind: str, *values: JsonValue) -> None:
        """Note the values that a call deleted."""
        for value in values:
            _remove(self._initial, kind, value)
            _remove(self._earlier, kind, value)
            _remove(self._gone, kind, value)
            self._gone.setdefault(kind, []).append(value)

    def initial(self, kind: str) -> Sequence[JsonValue]:
        """Return the values of the initial state that no call has deleted or changed since."""
        earlier = self._earlier.get(kind, ())
        return [value for value in self._initial.get(kind, ()) if value not in earlier]

    def earlier(self, kind: str) -> Sequence[JsonValue]:
        """Return the values that calls of this sequence established, in the order of their last change."""
        return self._earlier.get(kind, ())

    def values(self, kind: str) -> Sequence[JsonValue]:
        """Return all values that exist now."""
        return [*self.initial(kind), *self.earlier(kind)]

    def gone(self, kind: str) -> Sequence[JsonValue]:
        """Return the values that calls of this sequence deleted."""
        return self._gone.get(kind, ())


class Draw:
    """The draws for one call. `established` are the values among them that an earlier call of the sequence established."""

    def __init__(self, stream: Stream, past: Past) -> None:
        self.stream = stream
        self.past = past
        self.established: list[JsonValue] = []

    def one(self, items: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """Return one of `items`. Raises NothingToDraw for none."""
        if not items:
            raise NothingToDraw("no item")
        return self.stream.choose(items, weights)

    def some(self, items: Sequence[T], *, most: int = 3) -> list[T]:
        """Return between one and `most` different `items`."""
        if not items:
            raise NothingToDraw("no item")
        return self.stream.sample(items, self.stream.integer(1, most))

    def each(self, keys: Sequence[str], items: Sequence[JsonValue]) -> JsonObject:
        """Return one of `items` for each of `keys`."""
        return {key: self.one(items) for key in keys}

    def part(self, of: JsonObject) -> JsonObject:
        """Return some of the entries of a mapping."""
        return {key: of[key] for key in self.some(tuple(of))}

    def nothing(self, kind: str) -> NoReturn:
        """Raise NothingToDraw: the drawn values are unusable."""
        raise NothingToDraw(kind)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.stream.random() < probability

    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return self.stream.integer(low, high)

    def word(self) -> str:
        """Return a plain word from a small pool, so that words recur within a sequence."""
        return self.one(WORDS)

    def words(self, *, most: int = 6) -> str:
        """Return a line of words."""
        return " ".join(self.word() for _ in range(self.integer(1, most)))

    def odd_text(self) -> str:
        """Return an unusual text: empty, padded, non-ASCII, quotes, two lines."""
        return self.one(ODD_TEXTS)

    def earlier(self, kind: str) -> JsonValue:
        """Return a value that an earlier call of the sequence established: the call depends on it."""
        return self.drawn(kind, self.one(self.past.earlier(kind)))

    def gone(self, kind: str) -> JsonValue:
        """Return a value that an earlier call of the sequence deleted: the call depends on it."""
        value = self.one(self.past.gone(kind))
        self.established.append(value)
        return value

    def drawn(self, kind: str, value: T) -> T:
        """Return the value and note it as drawn: the call depends on the call that established it."""
        if value in self.past.earlier(kind):
            self.established.append(value)
        return value

    def existing(self, kind: str, *, earlier: float = 0.75) -> JsonValue:
        """Return a value that exists now; with probability `earlier` one that an earlier call established, if any."""
        initial = self.past.initial(kind)
        if self.past.earlier(kind) and (not initial or self.chance(earlier)):
            return self.earlier(kind)
        return self.one(initial)


def occurs(value: JsonValue, arguments: JsonValue) -> bool:
    """True if a value, or a part of it, occurs in the arguments of a call, even within a longer text and in another
    case.
    """
    given = list(_leaves(arguments))
    texts = [leaf.casefold() for leaf in given if isinstance(leaf, str)]
    return any(
        any(leaf.casefold() in text for text in texts)
        if isinstance(leaf, str)
        else any(type(leaf) is type(other) and leaf == other for other in given)
        for leaf in _leaves(value)
        # An empty text occurs in every argument.
        if leaf not in ("", None)
    )


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if is_object(value):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in cast(Sequence[JsonValue], value):
            yield from _leaves(item)
    else:
        yield value


def _remove(values: dict[str, list[JsonValue]], kind: str, value: JsonValue) -> None:
    if value in values.get(kind, ()):
        values[kind].remove(value)

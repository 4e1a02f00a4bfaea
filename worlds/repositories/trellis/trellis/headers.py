"""Headers, of which one may stand several times; values with options."""

from collections.abc import Iterable, Iterator, Mapping


class Headers:
    """Names and values in the order in which they were added."""

    def __init__(self, given: "Mapping[str, str] | Iterable[tuple[str, str]]" = ()) -> None:
        pairs = given.items() if isinstance(given, Mapping) else given
        self._pairs: list[tuple[str, str]] = []
        for name, value in pairs:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Add a header beside others of its name. Raises ValueError for a line break in it."""
        if any(letter in name + value for letter in "\r\n"):
            raise ValueError(f"the header {name!r} has a line break")
        self._pairs.append((name, value))

    def set(self, name: str, value: str) -> None:
        """Put one header in the place of all of its name."""
        self.remove(name)
        self.add(name, value)

    def remove(self, name: str) -> None:
        """Take all headers of a name away."""
        self._pairs = [pair for pair in self._pairs if pair[0].lower() != name.lower()]

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a name."""
        found = self.all(name)
        return found[0] if found else default

    def all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [value for key, value in self._pairs if key.lower() == name.lower()]

    def setdefault(self, name: str, value: str) -> str:
        """Add a header unless there is one of its name; return the one that is there then."""
        found = self.get(name)
        if found is None:
            self.add(name, value)
            return value
        return found

    def __contains__(self, name: str) -> bool:
        return bool(self.all(name))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(list(self._pairs))

    def __len__(self) -> int:
        return len(self._pairs)


def parse_options(text: str) -> tuple[str, dict[str, str]]:
    """Return the value and the options of `text/html; charset="utf-8"`. Names are in small letters."""
    value, *rest = _split(text, ";")
    options: dict[str, str] = {}
    for part in rest:
        name, equals, given = part.partition("=")
        if equals:
            options[name.strip().lower()] = _unquoted(given.strip())
    return value.strip().lower(), options


def _split(text: str, sign: str) -> list[str]:
    """Split at a sign that does not stand in quotes."""
    parts, start, quoted = [], 0, False
    for place, letter in enumerate(text):
        if letter == '"' and text[place - 1 : place] != "\\":
            quoted = not quoted
        elif letter == sign and not quoted:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text

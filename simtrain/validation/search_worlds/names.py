"""The check that invented names are not those of real people, towns, firms or words, by the lists of libraries or a user."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from zoneinfo import available_timezones

from simtrain.files.file_bytes import file_text
from simtrain.worlds.search.facts.real_words import MIN_LETTERS, folded

_WORD = re.compile(r"[^\W\d_]+")
_LISTS = re.compile(
    r"first_names|last_names|cit(?:y|ies)|countr(?:y|ies)|town|compan|streets?(?:_names)?$|words?(?:_list)?$|states?$"
)


@dataclass(frozen=True, slots=True)
class NameCheck:
    """The lists that were read, with their sizes, and the number of names that were compared.

    `taken` are names that are in a list, or whose invented words all are: name -> the list. `words` are single invented words in a
    list; short ones inevitably meet some word of some language.
    """

    lists: dict[str, int]
    names: int
    taken: dict[str, str]
    words: dict[str, str]


def real_names(user: Path | None = None) -> dict[str, frozenset[str]]:
    """Return the available lists by name, folded.

    They are the towns of time zones, the user's list and, if installed, Faker's names in all of its languages and zxcvbn's
    English words and surnames. Raises InputError for a user's list that cannot be read.
    """
    found = {"time zones": _folded(name.rpartition("/")[2].replace("_", " ") for name in available_timezones())}
    if find_spec("faker") is not None:
        found["faker"] = _folded(_from_faker())
    if find_spec("zxcvbn") is not None:
        found["zxcvbn"] = _folded(_from_zxcvbn())
    if user is not None:
        found[user.name] = _folded(line.strip() for line in file_text(user).splitlines() if line.strip())
    return found


def check_names(names: Iterable[tuple[str, str]], lists: Mapping[str, frozenset[str]]) -> NameCheck:
    """Return the names, each given with its type, that are in the lists as a whole or by their invented words.

    A word in half of the names of a type is not invented but belongs to the type: Station, Holdings.
    """
    by_type: dict[str, list[str]] = {}
    for kind, name in dict.fromkeys(names):
        by_type.setdefault(kind, []).append(name)
    real: dict[str, str] = {}
    taken: dict[str, str] = {}
    for own in by_type.values():
        kinds = _kinds(own)
        for name in own:
            invented = [word for word in _WORD.findall(name) if word not in kinds]
            found = {word: source for word in invented if (source := _source(word, lists)) is not None}
            real |= found
            long = [word for word in invented if len(word) >= MIN_LETTERS]
            source = _source(name, lists)
            if source is None and long and all(word in found for word in long):
                source = found[long[0]]
            if source is not None:
                taken[name] = source
    sizes = {source: len(found) for source, found in lists.items()}
    return NameCheck(sizes, sum(map(len, by_type.values())), taken, dict(sorted(real.items())))


def _kinds(names: Sequence[str]) -> set[str]:
    """Return the words of at least half of the names; one or two names are too few."""
    if len(names) < 3:
        return set()
    shared = Counter(word for name in names for word in set(_WORD.findall(name)))
    return {word for word, count in shared.items() if 2 * count >= len(names)}


def _folded(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(map(folded, texts))


def _source(text: str, lists: Mapping[str, frozenset[str]]) -> str | None:
    key = folded(text)
    return next((source for source, found in lists.items() if key in found), None)


def _from_zxcvbn() -> Iterator[str]:
    """Yield the frequent English words and the names; the passwords are left out."""
    lists = import_module("zxcvbn.frequency_lists").FREQUENCY_LISTS
    for name in sorted(lists):
        if name != "passwords":
            yield from lists[name]


def _from_faker() -> Iterator[str]:
    """Yield the names and words in the tables of Faker's providers, in every language."""
    package: Any = import_module("faker.providers")
    for folder in sorted(Path(package.__path__[0]).glob("*/")):
        if folder.name not in ("person", "address", "company", "lorem") or not folder.is_dir():
            continue
        for module in _modules(f"faker.providers.{folder.name}", folder):
            provider = getattr(module, "Provider", None)
            for field in dir(provider) if provider is not None else ():
                if _LISTS.search(field):
                    yield from _texts(getattr(provider, field))


def _modules(name: str, folder: Path) -> Iterator[ModuleType]:
    yield import_module(name)
    for part in sorted(folder.iterdir()):
        if (part / "__init__.py").is_file():
            yield import_module(f"{name}.{part.name}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        # Faker's tables also hold patterns, `{{last_name}} {{company_suffix}}`.
        if "{" not in value:
            yield value
    elif isinstance(value, list | tuple | dict | set | frozenset):
        for item in cast(Iterable[Any], value):
            yield from _texts(item)

"""Whether invented names are taken: by real people, towns, firms and words in the lists that libraries bring, or in a user's list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from zoneinfo import available_timezones

from simtrain.errors import InputError

_WORD = re.compile(r"[^\W\d_]+")
_SHORT = 3
"""Letters up to which a word is no name of anything: such syllables stand in every list."""
_LISTS = re.compile(
    r"first_names|last_names|cit(?:y|ies)|countr(?:y|ies)|town|compan|streets?(?:_names)?$|words?(?:_list)?$|states?$"
)


@dataclass(frozen=True, slots=True)
class NameCheck:
    """Which lists were read, with their sizes, and how many names were compared.

    `taken` are names that stand in a list, or whose invented words all do: name -> by which list. `words` are single invented words that
    do; short ones cannot but meet some word of some language.
    """

    lists: dict[str, int]
    names: int
    taken: dict[str, str]
    words: dict[str, str]


def real_names(user: Path | None = None) -> dict[str, frozenset[str]]:
    """The lists that are at hand, by name, folded: towns of the time zones, Faker's of all its languages where it is installed, the user's.

    Raises InputError for a user's list that cannot be read.
    """
    found = {
        "time zones": frozenset(name.rpartition("/")[2].replace("_", " ").casefold() for name in available_timezones())
    }
    if find_spec("faker") is not None:
        found["faker"] = frozenset(_from_faker())
    if user is not None:
        try:
            lines = user.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) and error.strerror else "not UTF-8 text"
            raise InputError(problem.lower(), file=user) from None
        found[user.name] = frozenset(line.strip().casefold() for line in lines if line.strip())
    return found


def check_names(names: Iterable[str], lists: Mapping[str, frozenset[str]]) -> NameCheck:
    """Compare whole names, and their invented words (those that few names share), with the lists."""
    all_names = list(dict.fromkeys(names))
    shared = Counter(word for name in all_names for word in set(_WORD.findall(name)))
    # A word of many names is the kind of thing that they name: Station, Holdings.
    kinds = {word for word, count in shared.items() if count > max(3, 0.02 * len(all_names))}
    words = {
        word: source for word in sorted(shared) if word not in kinds and (source := _source(word, lists)) is not None
    }
    taken: dict[str, str] = {}
    for name in all_names:
        invented = [word for word in _WORD.findall(name) if word not in kinds and len(word) > _SHORT]
        source = _source(name, lists)
        if source is None and invented and all(word in words for word in invented):
            source = words[invented[0]]
        if source is not None:
            taken[name] = source
    return NameCheck({source: len(found) for source, found in lists.items()}, len(all_names), taken, words)


def _source(text: str, lists: Mapping[str, frozenset[str]]) -> str | None:
    return next((source for source, found in lists.items() if text.casefold() in found), None)


def _from_faker() -> Iterator[str]:
    """The names and words in the tables of Faker's providers, of every language."""
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
        if "{" not in value:
            yield value.casefold()
    elif isinstance(value, list | tuple | dict | set | frozenset):
        for item in cast(Iterable[Any], value):
            yield from _texts(item)

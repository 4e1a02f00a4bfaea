"""Reading a question: which things it asks for, under which conditions, in which columns. Nothing but its text is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

from simtrain.question import Language
from simtrain.questions.wording import Wordings, wordings

Form: TypeAlias = Literal["rows", "groups", "top", "best", "dispute", "single"]

_FORMS: Final[tuple[Form, ...]] = ("dispute", "single", "best", "groups", "top", "rows")
"""The more particular forms first: what reads as one of them could be read as a plain list as well."""

_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_UNIT: Final = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")
_SLOT: Final = re.compile(r"\\\{(\w+)\\\}")
_OPENING: Final = (
    "(?:whose |where |with |without |that |for which |marked |currently |in force |called |by the name of )"
)
"""How a condition begins."""

_STARTS: Final = re.compile(rf" and (?={_OPENING})")
_NOUN: Final = re.compile(rf"(.*?) (?={_OPENING}.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as it was read: its kind, the labels that lead to what is tested, and what it is held against."""

    kind: str
    path: tuple[str, ...]
    said: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column that is wanted: its heading, the labels that lead to its value, and the unit in which it is to stand."""

    heading: str
    path: tuple[str, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was read. `things` is the plural noun; `said` holds group, count, end and term where the form has them."""

    language: Language
    form: Form
    things: str
    conditions: tuple[Condition, ...]
    columns: tuple[Wanted, ...]
    said: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The things themselves, where the question names them."""
        between = wordings(self.language).listed
        called = next((condition for condition in self.conditions if condition.kind == "called"), None)
        return () if called is None else tuple(called.said["names"].split(between))


def read_question(text: str) -> Asked | None:
    """What a question asks; None where it is not understood."""
    language: Language = "zh" if _HAN.search(text) else "en"
    words = wordings(language)
    ask, columns = _parts(text, words)
    for form in _FORMS:
        for pattern in _patterns(language, form):
            found = pattern.fullmatch(ask)
            if found is None:
                continue
            said = {name: value for name, value in found.groupdict().items() if value is not None}
            if form == "single":
                things, conditions = said.get("thing", ""), said.get("conditions", "")
            else:
                things, conditions = _things(said.get("things", ""), language)
            read = tuple(_conditions(conditions, language))
            return Asked(language, form, _english(things, words), read, tuple(_wanted(columns, words)), said)
    return None


def _parts(text: str, words: Wordings) -> tuple[str, list[str]]:
    """What is asked, and the headings of the columns; none for a single answer."""
    for template in words.columns.table:
        found = _compiled(template).search(text)
        if found is not None:
            return text[: found.start()].strip(), found["columns"].split(words.columns.separator)
    for template in words.columns.single:
        place = text.find(template)
        if place >= 0:
            return text[:place].strip(), []
    return text.strip(), []


@cache
def _compiled(template: str, ends: str = ".+?") -> re.Pattern[str]:
    """A wording as a pattern in which each slot is a group; `ends` are the words for highest, lowest and so on."""

    def group(slot: re.Match[str]) -> str:
        return f"(?P<{slot[1]}>{ends if slot[1] == 'end' else '.+?'})"

    return re.compile(_SLOT.sub(group, _first_only(re.escape(template))), re.DOTALL)


def _first_only(escaped: str) -> str:
    """The pattern with slots that are named twice kept as groups once."""
    seen: set[str] = set()

    def keep(slot: re.Match[str]) -> str:
        if slot[1] in seen:
            return ".+?"
        seen.add(slot[1])
        return slot[0]

    return _SLOT.sub(keep, escaped)


def _patterns(language: Language, form: Form) -> list[re.Pattern[str]]:
    words = wordings(language)
    ends = "|".join(map(re.escape, words.ends.values()))
    return [_compiled(template, ends) for template in words.asks[form]]


def _things(phrase: str, language: Language) -> tuple[str, str]:
    """The noun of a phrase, and its conditions."""
    words = wordings(language)
    if language == "zh":
        found = _compiled(words.things).fullmatch(phrase)
        noun, conditions = (found["things"], found["conditions"]) if found else (phrase, "")
    else:
        split = _NOUN.match(phrase)
        noun = split[1] if split else phrase
        conditions = phrase[len(noun) :].strip()
    always = _compiled(words.ever).fullmatch(noun)
    return (always["things"] if always else noun), conditions


def _conditions(text: str, language: Language) -> Iterator[Condition]:
    words = wordings(language)
    parts = text.split(words.and_) if language == "zh" else _STARTS.split(text)
    for part in filter(None, parts):
        best: tuple[int, Condition] | None = None
        for kind, templates in words.conditions.items():
            for template in templates:
                found = _compiled(template).fullmatch(part)
                if found is None:
                    continue
                literal = len(re.sub(r"\{\w+\}", "", template))
                said = dict(found.groupdict())
                read = Condition(kind, _path(said.pop("term", ""), words), said)
                if best is None or literal > best[0]:
                    best = (literal, read)
        yield best[1] if best else Condition("unread", (), {"text": part})


def _wanted(headings: list[str], words: Wordings) -> Iterator[Wanted]:
    for heading in headings:
        unit = _UNIT.search(heading)
        yield Wanted(heading.strip(), _path(_UNIT.sub("", heading).strip(), words), unit[1] if unit else "")


def _path(term: str, words: Wordings) -> tuple[str, ...]:
    """The labels of a chain such as `home station's operator`, in the words of the pages."""
    between = words.of.format(first="\0", second="\0").strip("\0")
    return tuple(_english(part, words) for part in term.split(between) if part)


def _english(word: str, words: Wordings) -> str:
    """A word as pages may have it; where there are several such words, all of them, with bars between."""
    plain = word.strip().removesuffix(" date").removesuffix("（日期）")
    return "|".join(_dictionary(words.language).get(plain, [plain]))


@cache
def _dictionary(language: Language) -> dict[str, list[str]]:
    """Words of a language -> the words of pages that it stands for, the longest first, which is mostly a plural."""
    found: dict[str, list[str]] = {}
    for page, said in sorted(wordings(language).terms.items(), key=lambda item: (-len(item[0]), item[0])):
        found.setdefault(said, []).append(page)
    return found


def term_path(asked: Asked, name: str) -> tuple[str, ...]:
    """The labels that a part of the question names: `term` or `group`."""
    return _path(asked.said.get(name, ""), wordings(asked.language))

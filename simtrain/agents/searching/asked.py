"""Parse a question from its text alone: the things that it asks for, their conditions, and the columns."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from simtrain.contracts.question import Language
from simtrain.files.yaml_files import read_document
from simtrain.questions.wordings import Wordings, wordings

Form: TypeAlias = Literal["rows", "lookup", "groups", "top", "best", "dispute", "single"]

_FORMS: Final[tuple[Form, ...]] = ("dispute", "single", "lookup", "best", "groups", "top", "rows")
"""The more specific forms first: a question in one of them would also match as a plain list."""

_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_UNIT: Final = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")
_SLOT: Final = re.compile(r"\\\{(\w+)\\\}")
_OPENING: Final = "(?:whose|where the|that)"
"""How an English condition begins."""

_JOINT: Final[Mapping[Language, re.Pattern[str]]] = {
    "en": re.compile(rf"(?:, and|,| and) (?={_OPENING} )"),
    "zh": re.compile("，且|，"),
}
_NOUN: Final = re.compile(rf"(.*?) (?={_OPENING} )", re.DOTALL)
_COMPARED: Final = ("later", "earlier", "larger", "smaller")
_NAMED: Final = re.compile(r"\{\w+\}")
_DICTIONARIES: Final[Mapping[Language, Path]] = {
    "en": Path(__file__).parent / "english.yaml",
    "zh": Path(__file__).parent / "chinese.yaml",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition: its kind, the labels that lead to the tested value, and what that is compared with: words, or the
    value that the `other` labels lead to."""

    kind: str
    path: tuple[str, ...]
    slots: Mapping[str, str]
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A wanted column: its heading, the labels that lead to its value, its unit, and (for groups) its aggregate:
    count, sum, mean, or none."""

    heading: str
    path: tuple[str, ...]
    unit: str
    figure: str = ""


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A parsed question. `things` is the plural noun; `said` holds group, count, end and term if the form has them."""

    language: Language
    form: Form
    things: str
    conditions: tuple[Condition, ...]
    columns: tuple[Wanted, ...]
    slots: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the things themselves, if the question names them."""
        return tuple(self.slots["names"].split(wordings(self.language).listed)) if self.form == "lookup" else ()


def read_question(text: str) -> ReadQuestion | None:
    """Return the parsed question; None if it is not understood."""
    language: Language = "zh" if _HAN.search(text) else "en"
    words = wordings(language)
    ask, columns, meanings = _parts(text, words)
    for form in _FORMS:
        for template in words.asks[form]:
            found = _pattern(language, template).fullmatch(ask)
            if found is None:
                continue
            slots = {name: value for name, value in found.groupdict().items() if value is not None}
            if form in ("single", "lookup"):
                things, conditions = slots.get("thing") or slots["things"], slots.get("conditions", "")
            else:
                things, conditions = _things(slots.get("things", ""), words)
            read = tuple(_conditions(conditions, words))
            return ReadQuestion(
                language, form, _english(things, words), read, tuple(_wanted(columns, meanings, words, form)), slots
            )
    return None


def _parts(text: str, words: Wordings) -> tuple[str, list[str], dict[str, str]]:
    """Return the request, the headings of the columns (none for a single answer), and the meanings of some of them."""
    for template in words.columns.table:
        found = _pattern(words.language, template).search(text)
        if found is not None:
            headings = found["columns"].split(words.columns.separator)
            return text[: found.start()].strip(), headings, _meanings(text[found.end() :].strip(), words)
    for template in words.columns.single:
        place = text.find(template)
        if place >= 0:
            return text[:place].strip(), [], {}
    return text.strip(), [], {}


def _meanings(text: str, words: Wordings) -> dict[str, str]:
    """Return the meanings of headings, from the sentence that a text begins with."""
    for template in words.columns.meanings:
        found = _pattern(words.language, template).match(text)
        if found is not None:
            parts = (
                _pattern(words.language, words.columns.means).fullmatch(part)
                for part in found["meanings"].split(words.listed)
            )
            return {part["heading"]: part["term"] for part in parts if part is not None}
    return {}


@cache
def _pattern(language: Language, template: str) -> re.Pattern[str]:
    """Return a wording as a regular expression with a group per slot; verbs match in any form, endings in any of their words."""
    words = wordings(language)
    ends = "|".join(map(re.escape, words.ends.values()))
    seen: set[str] = set()

    def group(slot: re.Match[str]) -> str:
        name = slot[1]
        if name in words.forms:
            return f"(?:{'|'.join(words.forms[name])})"
        kind = ends if name == "end" else r"\d+" if name == "count" else ".+?"
        # A slot may occur twice in a wording, but a regular expression refuses a group name twice.
        first = name not in seen
        seen.add(name)
        return f"(?P<{name}>{kind})" if first else f"(?:{kind})"

    return re.compile(_SLOT.sub(group, re.escape(template)), re.DOTALL)


def _things(phrase: str, words: Wordings) -> tuple[str, str]:
    """Return the noun of a phrase, and its conditions."""
    # Chinese puts the conditions before the noun, joined by 的.
    if words.language == "zh":
        conditions, _, noun = phrase.removesuffix(words.ever.format(things="")).rpartition("的")
        return noun, conditions
    split = _NOUN.match(phrase)
    noun = split[1] if split else phrase
    always = _pattern(words.language, words.ever).fullmatch(noun)
    return (always["things"] if always else noun), phrase[len(noun) :].strip()


def _conditions(text: str, words: Wordings) -> Iterator[Condition]:
    """Yield the conditions of a text. A thing that is only described comes last: the rest of the text is about it."""
    begin = 0
    # None stands for the end of the text, so that the last condition is read like the others.
    for joint in [*_JOINT[words.language].finditer(text), None]:
        part = text[begin : joint.start() if joint else len(text)]
        condition = _condition(part, words) if part else None
        if condition is not None and condition.kind == "described":
            inner = condition.slots["conditions"] + (text[joint.start() :] if joint else "")
            for one in _conditions(inner, words):
                yield Condition(one.kind, (*condition.path, *one.path), one.slots)
            return
        if condition is not None:
            yield condition
        begin = joint.end() if joint else begin


def _condition(part: str, words: Wordings) -> Condition:
    """Return one condition: a compound one if the part matches, else by the matching wording with the most fixed words."""
    best: tuple[tuple[bool, int], Condition] | None = None
    for kind, templates in words.conditions.items():
        for template in templates:
            found = _pattern(words.language, template).fullmatch(part)
            if found is None:
                continue
            literal = len(_NAMED.sub("", template))
            # A compound wording holds a simpler one, which would match a part of it and read the rest as a value.
            weight = ("clause" in found.groupdict() or kind == "described", literal)
            if best is None or weight > best[0]:
                best = (weight, _read(kind, found, words))
    return best[1] if best else Condition("unread", (), {"text": part})


def _read(kind: str, found: re.Match[str], words: Wordings) -> Condition:
    slots = {name: value for name, value in found.groupdict().items() if value is not None}
    path = _path(slots.pop("term", ""), words)
    if "noun" in slots:
        path = (*path, _english(slots["noun"], words))
    if "clause" in slots:
        # Pages do not describe a relation's rows one by one; the value to compare is at their other end.
        return Condition(kind, (), {**slots, **_condition(slots["clause"], words).slots})
    if kind in _COMPARED:
        return Condition(kind, path, {}, _path(slots["other"], words))
    if words.language == "zh" and kind != "described":
        slots = {name: _english(value, words) for name, value in slots.items()}
    return Condition(kind, path, slots)


def _wanted(headings: list[str], meanings: Mapping[str, str], words: Wordings, form: Form) -> Iterator[Wanted]:
    columns = words.columns
    figures = {"count": columns.count, "sum": columns.sum, "mean": columns.mean} if form == "groups" else {}
    for heading in headings:
        unit = _UNIT.search(heading)
        plain, figure = meanings.get(heading, _UNIT.sub("", heading)).strip(), ""
        for name, template in figures.items():
            found = _pattern(words.language, template).fullmatch(plain[:1].upper() + plain[1:])
            if found is not None:
                plain, figure = found[1], name
                break
        yield Wanted(heading.strip(), _path(plain, words), _english(unit[1], words) if unit else "", figure)


def _path(term: str, words: Wordings) -> tuple[str, ...]:
    """Return the labels of a chain such as `whose home station's operator`, in the language of the pages."""
    if words.language == "zh":
        return tuple(_english(part, words) for part in term.split("的") if part)
    # "whose A's B" leads from A to B, "the B of the A" the other way round.
    plain = re.sub(r"^(?:whose|where the|that)\b *", "", term)
    *beyond, near = re.sub(r"\bnumber of ", "", plain).split(" of the ") if "'s " in plain else [plain]
    return tuple(_english(part, words) for part in (*near.split("'s "), *reversed(beyond)) if part)


def _english(word: str, words: Wordings) -> str:
    """Return an English word in the language of the pages; alternatives are joined with bars."""
    plain = word.strip()
    if words.language == "en":
        plain = plain.removeprefix("number of ")
    known = _dictionary(words.language)
    return "|".join(known.get(plain) or known.get(plain[:1].lower() + plain[1:]) or [plain.removesuffix(" date")])


@cache
def _dictionary(language: Language) -> dict[str, list[str]]:
    """Return, for each word of a language, the words on pages that it may mean."""
    return read_document(_DICTIONARIES[language]).data


def term_path(asked: ReadQuestion, name: str) -> tuple[str, ...]:
    """Return the labels that a part of the question names: `term` or `group`."""
    return _path(asked.slots.get(name, ""), wordings(asked.language))


def is_highest(asked: ReadQuestion) -> bool:
    """True if a ranking is descending: highest, latest or most first."""
    ends = wordings(asked.language).ends
    return asked.slots["end"] in {ends[name] for name in ("highest", "greatest", "most", "latest")}


def is_ranked_by_date(asked: ReadQuestion) -> bool:
    """True if a ranking is by date."""
    ends = wordings(asked.language).ends
    return asked.slots["end"] in (ends["latest"], ends["earliest"])

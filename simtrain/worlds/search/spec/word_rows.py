"""The words for a world's types, labels, units and categories in each language, checked to be complete."""

from collections.abc import Collection, Iterator
from typing import TypeAlias

from simtrain.files.yaml_files import Place
from simtrain.values.errors import nearest
from simtrain.worlds.search.spec.schema import Schema
from simtrain.worlds.search.spec.wordbook import LanguageWords

Row: TypeAlias = tuple[str, str, str, str]
"""Language, kind of word (type, plural, label, value, unit), what it is for, the word."""


def word_rows(schema: Schema) -> list[Row]:
    """Return every word that the author gives. Raises InputError, with the place, for unknown subjects and for missing words."""
    rows: list[Row] = []
    for language, words in schema.spec.words.items():
        rows += [(language, *row) for row in _rows(words)]
        place: Place = ("words", language)
        wanted = list(_wanted(schema))
        known = {
            kind: {subject for one, subject in wanted if one == kind} for kind in ("type", "label", "unit", "value")
        }
        _check_known(schema, place, words, known)
        given = {(kind, subject) for kind, subject, _ in _rows(words)}
        missing = next((one for one in wanted if one not in given), None)
        # The schema's own names are English: there, words are only corrections.
        if language != "en" and missing is not None:
            kind, subject = missing
            raise schema.document.error(place, f"no word for the {kind} {subject!r}", f"give it under `{kind}s`")
    return rows


def _rows(words: LanguageWords) -> Iterator[tuple[str, str, str]]:
    for name, given in words.types.items():
        singular, plural = (given, given) if isinstance(given, str) else given
        yield "type", name, singular
        yield "plural", name, plural
    for kind, table in (("label", words.labels), ("unit", words.units)):
        for subject, word in table.items():
            yield kind, subject, word
    for attribute, categories in words.values.items():
        for value, word in categories.items():
            yield "value", f"{attribute}={value}", word


def _wanted(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what a complete language names: types, their attributes, units and categories."""
    units: dict[str, None] = {}
    for kind in schema.types.values():
        yield "type", kind.name
        for one in kind.attributes.values():
            if one.name not in ("name", "since", "until"):
                yield "label", f"{kind.name}.{one.name}"
            if one.unit is not None:
                units[one.unit] = None
            for value in (one.spec and one.spec.category) or []:
                yield "value", f"{kind.name}.{one.name}={value}"
    for unit in units:
        yield "unit", unit


def _check_known(schema: Schema, place: Place, words: LanguageWords, known: dict[str, set[str]]) -> None:
    values = {subject.partition("=")[0] for subject in known["value"]}
    tables: list[tuple[str, Collection[str], set[str]]] = [
        ("types", words.types, known["type"]),
        ("labels", words.labels, known["label"]),
        ("units", words.units, known["unit"]),
        ("values", words.values, values),
    ]
    for name, given, known_subjects in tables:
        for subject in given:
            if subject not in known_subjects:
                raise schema.document.error(
                    (*place, name, subject), f"the world has no {subject!r}", nearest(subject, known_subjects)
                )
    for attribute, categories in words.values.items():
        known_subjects = {
            subject.partition("=")[2] for subject in known["value"] if subject.startswith(f"{attribute}=")
        }
        for value in categories:
            if value not in known_subjects:
                at = (*place, "values", attribute, value)
                raise schema.document.error(at, f"{attribute} is never {value!r}", nearest(value, known_subjects))

"""Fields of forms: what was sent is read as the field's type, and what is wrong with it is said as the site says it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from simtrain.files.yaml_files import Document, Place
from simtrain.values.types import JsonValue, encode
from simtrain.worlds.app.spec import FieldSource

MOST_TEXT = 100_000
"""Longest text that a field takes, in characters."""

MOST_ITEMS = 1_000
MOST_FILE = 1_000_000
"""Largest file that a form takes, in bytes."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_NUMBER = re.compile(r"[+-]?(\d{1,15}(\.\d{1,10})?|\.\d{1,10})")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was chosen: its name and text. `size` counts bytes; of one that is too large the text is left out."""

    name: str
    text: str
    size: int


class FormField:
    """One field of a form."""

    def __init__(self, name: str, source: FieldSource, document: Document, place: Place) -> None:
        """Raises InputError with the place in the file."""
        self.name = name
        self.source = source
        self.label = source.label or name.replace("_", " ").capitalize()
        try:
            self._pattern = re.compile(source.pattern) if source.pattern else None
        except re.error as error:
            raise document.error((*place, "pattern"), f"the pattern is no regular expression: {error}") from None

    @property
    def bound(self) -> tuple[str, ...]:
        """The parameters that the field gives to SQL."""
        return (self.name, f"{self.name}_name", f"{self.name}_size") if self.source.type == "file" else (self.name,)

    def read(self, given: Sequence[str | Upload]) -> tuple[Mapping[str, JsonValue], str | None]:
        """Return the values that SQL gets, and what is wrong with them; None if nothing is."""
        kind = self.source.type
        if kind == "file":
            return self._file(next((one for one in given if isinstance(one, Upload) and one.name), None))
        texts = [one for one in given if isinstance(one, str)]
        if kind == "check":
            return {self.name: int(bool(texts))}, (
                f"{self.label} must be ticked." if self.source.required and not texts else None
            )
        if kind == "list":
            flaw = f"Choose at least one: {self.label.lower()}." if self.source.required and not texts else None
            if len(texts) > MOST_ITEMS or any(map(self._outside, texts)):
                flaw = f"{self.label} has a choice that does not exist."
            return {self.name: encode(texts[:MOST_ITEMS])}, self._worded(flaw)
        text = texts[-1].strip() if texts else ""
        if not text:
            return {self.name: None}, self._worded(f"{self.label} is required." if self.source.required else None)
        value, flaw = self._one(text)
        return {self.name: value}, self._worded(flaw)

    def _worded(self, flaw: str | None) -> str | None:
        return flaw and (self.source.error or flaw)

    def _outside(self, text: str) -> bool:
        return self.source.choices is not None and text not in self.source.choices

    def _one(self, text: str) -> tuple[JsonValue, str | None]:
        kind, source = self.source.type, self.source
        if kind in ("integer", "number"):
            if not _NUMBER.fullmatch(text) or (kind == "integer" and not text.lstrip("+-").isdecimal()):
                return None, f"{self.label} must be a {'whole number' if kind == 'integer' else 'number'}."
            number = int(text) if kind == "integer" else float(text)
            if source.minimum is not None and number < source.minimum:
                return number, f"{self.label} must be at least {source.minimum:g}."
            if source.maximum is not None and number > source.maximum:
                return number, f"{self.label} must be at most {source.maximum:g}."
            return number, None
        if kind == "date" and not _is_date(text):
            return text, f"{self.label} must be a date."
        if kind == "email" and not _EMAIL.fullmatch(text):
            return text, f"{self.label} must be an email address."
        most = source.max_length or MOST_TEXT
        if len(text) > most:
            return text[:most], f"{self.label} may have at most {most} characters."
        if source.min_length is not None and len(text) < source.min_length:
            return text, f"{self.label} must have at least {source.min_length} characters."
        if self._outside(text):
            return text, f"{self.label} has a choice that does not exist."
        if self._pattern is not None and not self._pattern.fullmatch(text):
            return text, f"{self.label} has the wrong form."
        return text, None

    def _file(self, given: Upload | None) -> tuple[Mapping[str, JsonValue], str | None]:
        names = self.bound
        if given is None:
            flaw = f"Choose a file: {self.label.lower()}." if self.source.required else None
            return dict.fromkeys(names), self._worded(flaw)
        values: dict[str, JsonValue] = dict(zip(names, (given.text, given.name, given.size), strict=True))
        if given.size > MOST_FILE:
            return values, f"{self.label} is too large: at most {MOST_FILE // 1_000_000} MB."
        if self.source.accept and not given.name.lower().endswith(tuple(self.source.accept)):
            return values, self._worded(f"{self.label} must be a file of type {', '.join(self.source.accept)}.")
        return values, None


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False

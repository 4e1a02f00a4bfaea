"""Fields of forms: what was sent is read as the field's type, and what is wrong with it is said as the site says it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from simtrain.files.yaml_files import Document, Place
from simtrain.values.types import JsonObject, JsonValue, encode
from simtrain.worlds.app.rules import TOLD, checked_text
from simtrain.worlds.app.site_texts import SiteTexts
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


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a field: the name of the site's text about it, and the limit that it names."""

    text: str
    limit: str = ""


class FormField:
    """One field of a form."""

    def __init__(self, name: str, source: FieldSource, document: Document, place: Place) -> None:
        """Raises InputError with the place in the file."""
        self.name = name
        self.source = source
        label = source.label or name.replace("_", " ").capitalize()
        self._label = checked_text(document, (*place, "label"), label, {*TOLD})
        self._error = checked_text(document, (*place, "error"), source.error, {*TOLD}) if source.error else None
        try:
            self._pattern = re.compile(source.pattern) if source.pattern else None
        except re.error as error:
            raise document.error((*place, "pattern"), f"the pattern is no regular expression: {error}") from None

    @property
    def bound(self) -> tuple[str, ...]:
        """The parameters that the field gives to SQL."""
        return (self.name, f"{self.name}_name", f"{self.name}_size") if self.source.type == "file" else (self.name,)

    def worded(self, flaw: Flaw, texts: SiteTexts, look: JsonValue) -> str:
        """Return what the site says of a flaw, in a look of the pages."""
        told: JsonObject = {"look": look}
        if self._error is not None:
            return self._error.render(told)
        return texts.say(flaw.text, look, {"field": self._label.render(told), "limit": flaw.limit})

    def read(self, given: Sequence[str | Upload]) -> tuple[Mapping[str, JsonValue], Flaw | None]:
        """Return the values that SQL gets, and what is wrong with them; None if nothing is."""
        kind = self.source.type
        if kind == "file":
            return self._file(next((one for one in given if isinstance(one, Upload) and one.name), None))
        texts = [one for one in given if isinstance(one, str)]
        if kind == "check":
            return {self.name: int(bool(texts))}, Flaw("ticked") if self.source.required and not texts else None
        if kind == "list":
            flaw = Flaw("choose") if self.source.required and not texts else None
            if len(texts) > MOST_ITEMS or any(map(self._outside, texts)):
                flaw = Flaw("no_choice")
            return {self.name: encode(texts[:MOST_ITEMS])}, flaw
        text = texts[-1].strip() if texts else ""
        if not text:
            return {self.name: None}, Flaw("required") if self.source.required else None
        value, flaw = self._one(text)
        return {self.name: value}, flaw

    def _outside(self, text: str) -> bool:
        return self.source.choices is not None and text not in self.source.choices

    def _one(self, text: str) -> tuple[JsonValue, Flaw | None]:
        kind, source = self.source.type, self.source
        if kind in ("integer", "number"):
            if not _NUMBER.fullmatch(text) or (kind == "integer" and not text.lstrip("+-").isdecimal()):
                return None, Flaw("whole_number" if kind == "integer" else "number")
            number = int(text) if kind == "integer" else float(text)
            if source.minimum is not None and number < source.minimum:
                return number, Flaw("minimum", f"{source.minimum:g}")
            if source.maximum is not None and number > source.maximum:
                return number, Flaw("maximum", f"{source.maximum:g}")
            return number, None
        if kind == "date" and not _is_date(text):
            return text, Flaw("date")
        if kind == "email" and not _EMAIL.fullmatch(text):
            return text, Flaw("email")
        most = source.max_length or MOST_TEXT
        if len(text) > most:
            return text[:most], Flaw("max_length", f"{most}")
        if source.min_length is not None and len(text) < source.min_length:
            return text, Flaw("min_length", f"{source.min_length}")
        if self._outside(text):
            return text, Flaw("no_choice")
        if self._pattern is not None and not self._pattern.fullmatch(text):
            return text, Flaw("pattern")
        return text, None

    def _file(self, given: Upload | None) -> tuple[Mapping[str, JsonValue], Flaw | None]:
        names = self.bound
        if given is None:
            return dict.fromkeys(names), Flaw("file") if self.source.required else None
        values: dict[str, JsonValue] = dict(zip(names, (given.text, given.name, given.size), strict=True))
        if given.size > MOST_FILE:
            return values, Flaw("too_large", f"{MOST_FILE // 1_000_000}")
        if self.source.accept and not given.name.lower().endswith(tuple(self.source.accept)):
            return values, Flaw("file_type", ", ".join(self.source.accept))
        return values, None


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False

"""What a site says by itself: of the fields of forms, of pages that do not exist, and of rows that its database refuses."""

from collections.abc import Mapping
from functools import cache

from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.types import JsonValue
from simtrain.worlds.app.rules import TOLD, checked_text
from simtrain.worlds.app.spec import TextsSpec

_OF_FIELDS = {*TOLD, "field", "limit"}
_OF_ROWS = {*TOLD, "what"}
_OTHERS = {
    "no_page": {*TOLD},
    "not_allowed": {*TOLD},
    "unique": _OF_ROWS,
    "check": _OF_ROWS,
    "not_null": _OF_ROWS,
    "foreign_key": _OF_ROWS,
}


class SiteTexts:
    """The texts of one app."""

    def __init__(self, spec: TextsSpec, document: Document) -> None:
        """Raises InputError with the place in the file."""
        self._texts: dict[str, Text] = {}
        for name, source in spec:
            own = name in spec.model_fields_set
            place: Place = ("texts", name)
            self._texts[name] = (
                checked_text(document, place, source, _OTHERS.get(name, _OF_FIELDS)) if own else _built_in(source)
            )

    def say(self, name: str, look: JsonValue, told: Mapping[str, JsonValue] | None = None) -> str:
        """Return a text, by its name in `TextsSpec`, as it is said in a look of the pages."""
        return self._texts[name].render({"look": look, **(told or {})})


@cache
def _built_in(source: str) -> Text:
    return Text(source)

"""YAML files as data with line numbers: read within limits, checked against a model, refused with one line each."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from simtrain.files.file_bytes import file_bytes
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

MAX_BYTES = 8_000_000
# A few lines of nested aliases can expand to billions of values.
MAX_NODES = 400_000
MAX_DEPTH = 60

if TYPE_CHECKING:
    from yaml import SafeLoader as _Base
else:
    # The C parser; not every build of PyYAML has it.
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TOO_DEEP = "the file is nested too deeply, or refers to itself"

PLAIN_NAME = r"^[a-z][a-z0-9_]*$"
_WORDS = {
    "too_short": "at least {min_length} are needed, and there are {actual_length}",
    "too_long": "at most {max_length} are allowed, and there are {actual_length}",
    "int_type": "an integer is needed",
    "int_parsing": "an integer is needed",
    "int_from_float": "an integer is needed",
    "float_type": "a number is needed",
    "float_parsing": "a number is needed",
    "bool_type": "true or false is needed",
    "bool_parsing": "true or false is needed",
    "string_type": "text is needed",
    "list_type": "a list is needed",
    "tuple_type": "a list is needed",
    "dict_type": "a mapping of keys is needed",
    "dataclass_type": "a mapping of keys is needed",
}
"""Our messages in place of pydantic's, by error type."""

Place: TypeAlias = tuple[str | int, ...]
ModelT = TypeVar("ModelT", bound=BaseModel)

_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"[-+]?(0|[1-9]\d*)")
_FLOAT = re.compile(r"[-+]?((0|[1-9]\d*)?\.\d+|(0|[1-9]\d*)\.|(0|[1-9]\d*)(\.\d*)?[eE][-+]?\d+)")
_PARTS = re.compile(r"[^.\[\]]+")
# The tags that plain values resolve to; any other tag was written explicitly.
_PLAIN = ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "value", "merge")
_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in _PLAIN)
_CONSTANTS: dict[str, JsonValue] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True)
class Document:
    """A parsed YAML file: its data, its path, and the line of each place."""

    path: Path
    data: JsonObject
    lines: dict[Place, int] = field(repr=False)

    def line(self, place: Place) -> int | None:
        """Return the line of `place`, or of the nearest place around it."""
        return next((self.lines[place[:end]] for end in range(len(place), -1, -1) if place[:end] in self.lines), None)

    def error(self, place: Place, problem: str, remedy: str | None = None) -> InputError:
        """Return an InputError at a place of this file."""
        return InputError(problem, remedy=remedy, file=self.path, line=self.line(place), place=name_place(place))

    def relocate(self, error: InputError, place: Place) -> InputError:
        """Return `error` with this file, line and place if it had none."""
        return error.at(file=self.path, line=self.line(place), place=name_place(place))

    @contextmanager
    def locating(self, place: Place) -> Generator[None]:
        """Add this file, line and place to InputErrors of the block that have none."""
        try:
            yield
        except InputError as error:
            raise self.relocate(error, place) from None

    @contextmanager
    def at(self, place: Place) -> Generator[None]:
        """Locate InputErrors of the block at this place of the file, or at the place below it that they name."""
        try:
            yield
        except InputError as error:
            inner = read_place(error.place)
            raise self.relocate(InputError(error.problem, remedy=error.remedy), (*place, *inner)) from None

    def parse(self, model: type[ModelT], data: JsonObject | None = None, place: Place = ()) -> ModelT:
        """Return the data (or a part of it, at `place`) as `model`. Raises InputError for the first thing that is wrong."""
        try:
            # Files that it names lie beside this one: see simtrain.contracts.plugin.BesidePath.
            return model.model_validate(self.data if data is None else data, context={"folder": self.path.parent})
        except ValidationError as error:
            raise self._explain(error, model, place, self.data if data is None else data) from None

    def _explain(self, error: ValidationError, model: type[BaseModel], place: Place, data: JsonObject) -> InputError:
        details = error.errors(include_url=False)
        # An unknown key is named first: a misspelt key is also a missing one, and the misspelling is the cause.
        first = next((item for item in details if item["type"] == "extra_forbidden"), details[0])
        problem, remedy = describe(first, model)
        written = _written(first["loc"], data, missing=first["type"] == "missing")
        return self.error((*place, *written), problem, remedy)


def _written(location: tuple[str | int, ...], data: JsonValue, *, missing: bool) -> Place:
    """Return the parts of a pydantic location that exist in the file, or are `missing` at its end: pydantic also
    names union branches, and keys that a validator added.
    """
    found: list[str | int] = []
    for index, part in enumerate(location):
        # pydantic's own mark for an error in a key of a mapping.
        if part == "[key]":
            continue
        if is_object(data) and part in data:
            data = data[str(part)]
        elif is_list(data) and isinstance(part, int) and part < len(data):
            data = cast(list[JsonValue], data)[part]
        elif not missing or index < len(location) - 1 or not is_object(data):
            continue
        found.append(part)
    return tuple(found)


def describe(detail: Any, model: type[BaseModel]) -> tuple[str, str | None]:
    """Return a pydantic error as (problem, remedy) in this project's wording."""
    location = detail["loc"]
    name = str(location[-1]) if location else ""
    match cast(str, detail["type"]):
        case "extra_forbidden":
            if " " in name and detail.get("input") is None:
                # Such as the rest of a SELECT within braces, where a comma ends a text.
                return f"unknown key {name!r}", "put a text with a comma in quotes"
            return f"unknown key {name!r}", nearest(name, _keys_at(model, location[:-1]))
        case "missing":
            return f"the key {name!r} is missing", None
        case "string_pattern_mismatch" if detail["ctx"]["pattern"] == PLAIN_NAME:
            return (
                f"{detail['input']!r} is not a name",
                "write it in small letters, digits and underscores, a letter first",
            )
        case kind:
            message = _WORDS.get(kind, cast(str, detail["msg"]).removeprefix("Value error, "))
            message = message.format_map(detail.get("ctx", {})) if kind in _WORDS else message
            given = detail.get("input")
            shown = (
                f" (given: {given!r})" if isinstance(given, str | int | float | bool) and len(str(given)) < 60 else ""
            )
            quotes = kind == "string_type" and isinstance(given, int | float)
            return f"{message[:1].lower()}{message[1:]}{shown}", "put it in quotes" if quotes else None


def parse_line(model: type[ModelT], text: bytes, *, file: Path, line: int, what: str) -> ModelT:
    """Return a line of a JSONL file as `model`. Raises InputError, which begins with `what`, for the first thing that is wrong."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        problem, remedy = describe(error.errors(include_url=False)[0], model)
        raise InputError(f"{what}: {problem}", remedy=remedy, file=file, line=line) from None


def validated(model: type[ModelT], data: JsonObject, *, place: str | None = None) -> ModelT:
    """Return what was given elsewhere than in a file as `model`. Raises InputError for the first thing that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problem, remedy = describe(error.errors(include_url=False)[0], model)
        raise InputError(problem, remedy=remedy, place=place) from None


def _keys_at(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    """Return the keys known at a location inside a model, as far as its annotations can be followed."""
    current: set[type[BaseModel]] = {model}
    for part in location:
        following: set[type[BaseModel]] = set()
        for candidate in current:
            for name, info in candidate.model_fields.items():
                if part in (name, info.alias):
                    following |= _models_in(info.annotation)
        current = following or current
    return [info.alias or name for candidate in current for name, info in candidate.model_fields.items()]


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(cast(type[object], annotation), BaseModel):
        return {annotation}
    return {found for part in cast(tuple[Any, ...], getattr(annotation, "__args__", ())) for found in _models_in(part)}


def name_place(place: Place) -> str | None:
    """Return a place as text: `rubric[0].use`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or None


def read_place(name: str | None) -> Place:
    """Parse a place written by `name_place`; () for none."""
    return tuple(int(part) if part.isdigit() else part for part in _PARTS.findall(name or ""))


def read_document(path: Path) -> Document:
    """Read one YAML file whose top level is a mapping.

    Plain scalars follow YAML 1.2: only true and false are booleans, dates stay text. Raises InputError for a file that is
    missing, too large, not UTF-8, not YAML, too deep, or that expands (by aliases) to more than MAX_NODES values.
    """
    try:
        text = file_bytes(path, most=MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"the file is not UTF-8 (byte {error.start})", remedy="save it as UTF-8", file=path) from None
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=path) from None
    return parse_document(text, path)


def parse_document(text: str, path: Path) -> Document:
    """Return the document in `text`, as if read from `path`; raises InputError like `read_document`."""
    try:
        root = cast("yaml.Node | None", yaml.compose(text, Loader=_Loader))  # pyright: ignore[reportUnknownMemberType]
        if not isinstance(root, yaml.MappingNode):
            raise InputError("the top level must be a mapping of keys", line=1)
        reader = _Reader()
        return Document(path, reader.value(root, ()), reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputError(f"not YAML: {error.problem}", file=path, line=mark.line + 1 if mark else None) from None
    except InputError as error:
        raise error.at(file=path) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"not YAML: {str(error).splitlines()[0]}", file=path) from None


class _Loader(_Base):
    """Limits depth while composing: libyaml's composer is recursive, and deep input would crash the process with a stack overflow."""

    depth: int = 0

    def descend_resolver(self, current_node: yaml.Node | None, current_index: object) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            line = current_node.start_mark.line + 1 if current_node is not None else None
            raise InputError(_TOO_DEEP, remedy="flatten it", line=line)

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _Reader:
    """Turns nodes into data. Its InputErrors do not name the file yet."""

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self.visited = 0

    def value(self, node: yaml.Node, place: Place) -> JsonValue:
        line = node.start_mark.line + 1
        self.lines.setdefault(place, line)
        self.visited += 1
        if self.visited > MAX_NODES:
            raise InputError(f"the file expands to more than {MAX_NODES} values", line=line)
        if len(place) > MAX_DEPTH:
            raise InputError(_TOO_DEEP, remedy="flatten it", line=line)
        if node.tag not in _TAGS:
            raise InputError(f"the tag {node.tag!r} is not allowed", remedy="remove it", line=line)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]
        return self.scalar(cast(yaml.ScalarNode, node), line)

    def mapping(self, node: yaml.MappingNode, place: Place) -> JsonObject:
        found: JsonObject = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError("a key must be plain text", line=line)
            key = key_node.value
            self.check_text(key, line)
            # YAML forbids it, but PyYAML silently keeps the last one.
            if key in found:
                raise InputError(
                    f"the key {key!r} appears twice", remedy="keep one", line=line, place=name_place(place)
                )
            self.lines[(*place, key)] = line
            found[key] = self.value(value_node, (*place, key))
        return found

    def check_text(self, text: str, line: int) -> None:
        """Raise InputError for text that cannot be written to a file."""
        if "\0" in text:
            raise InputError("the text contains a null character", remedy="remove it", line=line)
        if not text.isascii() and _SURROGATE.search(text):
            raise InputError("the text contains half a character (a surrogate)", remedy="write it whole", line=line)

    def scalar(self, node: yaml.ScalarNode, line: int) -> JsonValue:
        text = node.value
        self.check_text(text, line)
        # Quoted: a text, whatever it looks like.
        if node.style:
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        # Longer ones may be ids; as numbers they would lose digits in other programs.
        if _INTEGER.fullmatch(text) and len(text) < 20:
            return int(text)
        if not _FLOAT.fullmatch(text):
            return text
        if isinf(number := float(text)):
            raise InputError(f"the number {text} is too large", line=line)
        return number

"""Find chat templates: by a shipped name, in a .jinja file, or in the files of a Hugging Face tokenizer, read without it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import orjson

from simtrain.files.file_bytes import file_bytes
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object

# A tokenizer's config lists all added tokens and may have megabytes.
_MOST_BYTES = 64 * 1024 * 1024
_SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """A template's source, its name in messages, and the special tokens that it may refer to."""

    name: str
    source: str
    tokens: dict[str, str] = field(default_factory=dict[str, str])


def shipped() -> list[str]:
    """Return the names of the shipped templates."""
    return sorted(Path(file.name).stem for file in _SHIPPED.iterdir() if file.name.endswith(".jinja"))


def find_template(name: str | Path) -> TemplateFile:
    """Return the template of a shipped name, a .jinja file, a tokenizer_config.json or a folder with one.

    A folder's `chat_template.jinja` goes before its `tokenizer_config.json`, as in transformers; of several templates
    in there the one named `tool_use` is taken. Raises InputError.
    """
    if str(name) in shipped():
        return TemplateFile(str(name), (_SHIPPED / f"{name}.jinja").read_text("utf-8"))
    path = Path(name)
    if path.is_dir():
        return _of_folder(path)
    if not path.is_file():
        raise InputError(
            f"there is no chat template {str(name)!r}",
            remedy=f"{nearest(str(name), shipped())}; or give a .jinja file or the folder of a tokenizer",
        )
    if path.suffix == ".json":
        return _of_config(path, path.name)
    return TemplateFile(path.stem, _text(path))


def _of_folder(folder: Path) -> TemplateFile:
    config = folder / "tokenizer_config.json"
    tokens = _tokens(_json(config)) if config.is_file() else {}
    for beside in (folder / "additional_chat_templates" / "tool_use.jinja", folder / "chat_template.jinja"):
        if beside.is_file():
            return TemplateFile(folder.name, _text(beside), tokens)
    if not config.is_file():
        raise InputError("there is no tokenizer_config.json or chat_template.jinja in the folder", file=folder)
    return _of_config(config, folder.name)


def _of_config(path: Path, name: str) -> TemplateFile:
    config = _json(path)
    for source in _sources(config.get("chat_template")):
        return TemplateFile(name, source, _tokens(config))
    raise InputError("it holds no chat_template", remedy="give a .jinja file, or use hermes or qwen", file=path)


def _sources(value: JsonValue) -> Iterator[str]:
    """Yield the sources under `chat_template`: a single one, or those of a list of named ones, the one for tools first."""
    if isinstance(value, str):
        yield value
    elif is_list(value):
        named = {str(one.get("name")): one.get("template") for one in value if is_object(one)}
        chosen = (named.get("tool_use"), named.get("default"))
        yield from (source for source in chosen if isinstance(source, str))


def _tokens(config: JsonObject) -> dict[str, str]:
    """Return the special tokens; each is given as text, or as an object with `content`."""
    given = {name: config.get(name) for name in _SPECIAL}
    found = {
        name: value if isinstance(value, str) else as_object(value).get("content") for name, value in given.items()
    }
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _json(path: Path) -> JsonObject:
    try:
        value = orjson.loads(_text(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", file=path) from None
    if not is_object(value):
        raise InputError("not a JSON object", file=path)
    return value


def _text(path: Path) -> str:
    try:
        return file_bytes(path, most=_MOST_BYTES).decode()
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text", file=path) from None


_SHIPPED = files("simtrain.llm") / "chat_templates"

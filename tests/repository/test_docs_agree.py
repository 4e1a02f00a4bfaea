"""What the documentation names exists, its tables can be read, and its words are those of the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from jsonschema import Draft202012Validator
from pages import PAGES, ROOT, cells, code_spans, commands, fenced, prose, without_blocks

from simtrain.cli import build
from simtrain.cli.schemas import schema_of
from simtrain.plugins import PLUGINS

LONGEST_CELL = 25

# Options of other programs, and of the project's own scripts.
FOREIGN = {
    "--allow-blocking", "--api-key", "--db-path", "--host-resolver-rules", "--init", "--local-timezone", "--mcp-config",
    "--no-deps", "--file", "--print", "--proxy-url", "--python", "--rounds", "--svg", "--tasks", "--tau2", "--tool", "--world",
}  # fmt: skip
FILE = re.compile(r"(?:simtrain|tests|benchmarks|docs|examples|scenarios|worlds|perturbations)/[\w./*-]+")
MODULE = re.compile(r"simtrain(?:\.[a-z_]+)+")
# Files that commands make, and names to be filled in.
MADE = re.compile(r"benchmarks/(figures\.json|peers/\.venvs)|[{]|NAME|FAMILY|MODEL|KIND")
# Fragments of a probe file and of a knob.
NO_PART = {"probes", "goal"}
# Words that the glossary has another one for, with that word.
RETIRED = {
    r"\bbe(?:nt|nds?|nding)\b": "perturbed, changed",
    r"\bstands?\b(?! in\b|-in)": "is, appears",
    r"\bcourses?\b(?! of\b)|\btapes?\b": "recorded session, recording",
    r"\brungs?\b|\bladders?\b": "level, curriculum",
    r"\bgolden\b|\bground truth\b|\bgold answer": "gold",
    r"\bthat one wishes\b|\bof one's own\b": "you, your own",
}


@lru_cache
def application() -> Any:
    return typer.main.get_command(build())


def subcommands(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def options(command: Any) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {
        "-h",
        "--help",
    }


def all_options(command: Any) -> Iterator[str]:
    yield from options(command)
    for each in subcommands(command).values():
        yield from all_options(each)


def unknown(words: list[str]) -> str | None:
    """Return the first word of a command that simtrain does not take, if any."""
    command = application()
    for place, word in enumerate(words):
        name = word.partition("=")[0]
        if word == "--":
            return None
        if subcommands(command) and not word.startswith("-"):
            if re.fullmatch(r"[A-Z]+|\.\.\.", word):
                return None
            if word not in subcommands(command):
                return word
            command = subcommands(command)[word]
        elif name.startswith("-") and not re.fullmatch(r"-\d.*|-", name):
            known = options(command) if place else options(application())
            if name not in known and not (re.match(r"-[a-zA-Z]\w", name) and name[:2] in known):
                return name
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_is_one_with_these_options(page: Path) -> None:
    assert [words for words in commands(page) if unknown(words)] == []


@pytest.mark.parametrize(
    "words", [["runs"], ["run", "helpdesk", "--agents", "x"], ["world", "checks"], ["world", "check", "x", "--no"]]
)
def test_a_command_that_does_not_exist_is_found(words: list[str]) -> None:
    assert unknown(words)


def test_commands_are_read_from_all_places() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_on_a_page_is_one_of_some_command(page: Path) -> None:
    known = {*all_options(application()), *FOREIGN}
    named = {found for span in code_spans(page) for found in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", span)}
    assert sorted(named - known) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_module_on_a_page_exists(page: Path) -> None:
    spans = [span for span in code_spans(page) if not MADE.search(span)]
    files = {match[0].rstrip("/") for span in spans if (match := FILE.match(span))} - written_by_readers()
    assert [name for name in sorted(files) if not any(ROOT.glob(name))] == []
    modules = {match[0] for span in spans if (match := MODULE.match(span))}
    assert [name for name in sorted(modules) if not resolves(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_import_in_a_block_works(page: Path) -> None:
    found = re.findall(r"^ *from (simtrain(?:\.[\w.]+)?) import (.+)$", page.read_text(), re.MULTILINE)
    names = [(module, name.strip()) for module, listed in found for name in listed.split(",")]
    assert [f"{module}.{name}" for module, name in names if not hasattr(import_module(module), name)] == []


def fragments() -> list[Any]:
    """Return the YAML fragments of the pages that are a part of a file, each with its page."""
    found = [
        (block.page.name, yaml.safe_load(block.text))
        for page in PAGES
        for block in fenced(page)
        if block.language == "yaml" and block.info == "fragment" and "..." not in block.text
    ]
    whole = [(name, part) for name, part in found if isinstance(part, dict) and not NO_PART & {*part}]
    return [pytest.param(part, id=f"{name}-{'-'.join(part)}") for name, part in whole]


@pytest.mark.parametrize("part", fragments())
def test_a_fragment_of_yaml_has_keys_and_knobs_that_exist(part: dict[str, Any]) -> None:
    found = [error.message for error in mistakes(part)]
    assert found == []


def test_a_knob_that_does_not_exist_is_found() -> None:
    assert [*mistakes({"perturbations": [{"use": "latency", "with": {"secs": 2}}]})]
    assert [*mistakes({"flavors": {}})]


def mistakes(part: dict[str, Any]) -> list[Any]:
    """Return what the schema of the kind of file that fits best objects to, besides what is missing."""
    complaints = (
        [error for error in validator.iter_errors(base | part) if error.validator != "required"]
        for base, validator in validators()
    )
    return min(complaints, key=len)


@lru_cache
def validators() -> list[tuple[dict[str, Any], Draft202012Validator]]:
    task = {"name": "x", "world": "x", "prompt": "x", "rubric": [{"use": "answer", "with": {"value": "x"}}]}
    world = {"kind": "search", "name": "x"}
    machine = {"kind": "machine", "name": "x", "hostname": "x", "user": "x"}
    kinds: list[tuple[str, dict[str, Any]]] = [("scenario", task), ("world", world), ("world", machine), ("recipe", {})]
    return [(base, Draft202012Validator(schema_of(kind))) for kind, base in kinds]


def resolves(dotted: str) -> bool:
    """True if a dotted name is a module, or the attribute of one, or a group of entry points."""
    head, _, last = dotted.rpartition(".")
    if head == "simtrain" and last in PLUGINS:
        return True
    try:
        return find_spec(dotted) is not None or hasattr(import_module(head), last)
    except ModuleNotFoundError:
        return hasattr(import_module(head), last) if find_spec(head) else False


@lru_cache
def written_by_readers() -> set[str]:
    """The files that a page asks its reader to write."""
    texts = [page.read_text() for page in PAGES]
    return {
        name
        for text in texts
        for name in re.findall(r"(?:file=|[Ss]ave (?:it|this) as `|[Tt]he file, `)([\w./]+)", text)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_cell_of_a_table_is_long(page: Path) -> None:
    assert [cell for cell in cells(page) if len(cell.split()) > LONGEST_CELL] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_a_page_uses_the_words_of_the_glossary(page: Path) -> None:
    text = prose(page)
    found = [(match[0], better) for pattern, better in RETIRED.items() for match in re.finditer(pattern, text)]
    assert found == []


def glossary() -> list[str]:
    text = without_blocks(ROOT / "docs" / "concepts.md")
    part = text.partition("## Glossary")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")]
    return [word.strip() for row in rows if row != "word" for word in row.split(",")]


def test_the_glossary_defines_each_word_once_and_only_words_that_are_used() -> None:
    words = glossary()
    assert len(words) > 60 and len(words) == len({*words})
    texts = [prose(page) for page in PAGES if page.name != "concepts.md"]
    texts += [re.sub(r"([a-z])([A-Z])", r"\1 \2", path.read_text()) for path in (ROOT / "simtrain").rglob("*.py")]
    text = re.sub(r"[_\s]+", " ", " ".join(texts).lower())
    assert [word for word in words if not re.search(rf"\b{re.escape(word.rstrip('y'))}", text)] == []


@pytest.mark.parametrize("word", ["bent", "stands"])
def test_a_word_that_is_retired_is_found(word: str) -> None:
    assert any(re.search(pattern, f"what {word} there") for pattern in RETIRED)
    assert not any(re.search(pattern, "a stand-in stands in for a server") for pattern in RETIRED)

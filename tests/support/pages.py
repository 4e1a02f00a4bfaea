"""The pages of the documentation, their fenced blocks, tables, prose and commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]

_FENCE = re.compile(r"^```([a-z]+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^    +(\S.*)$", re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SHELL = re.compile(r"[|&;<>]+|done|do")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, language, the rest of its info string (`fragment`, `file=PATH` or nothing), and text."""

    page: Path
    language: str
    info: str
    text: str

    @property
    def file(self) -> str | None:
        return self.info.removeprefix("file=") if self.info.startswith("file=") else None


def fenced(page: Path) -> Iterator[Block]:
    for language, info, text in _FENCE.findall(page.read_text()):
        yield Block(page, language, info.strip(), text)


def blocks(*languages: str, page: str | None = None) -> Iterator[Block]:
    """Yield the blocks that are no fragments, in order."""
    for path in PAGES:
        if page is None or path.name == page:
            yield from (block for block in fenced(path) if block.language in languages and block.info != "fragment")


def without_blocks(page: Path) -> str:
    """Return a page without its fenced and indented blocks."""
    return _INDENTED.sub("", _FENCE.sub("", page.read_text()))


def code_spans(page: Path) -> list[str]:
    """Return what stands in backticks on a page, outside of blocks."""
    return [text.strip() for _, text in _CODE.findall(without_blocks(page))]


def prose(page: Path) -> str:
    """Return a page without code and without the targets of its links."""
    return re.sub(r"\]\([^)]*\)", "]", _CODE.sub("", without_blocks(page)))


def cells(page: Path) -> Iterator[str]:
    """Yield the cells of all tables on a page; targets of links left out."""
    for line in without_blocks(page).splitlines():
        if line.startswith("|"):
            bare = re.sub(r"\]\([^)]*\)", "]", line.strip().strip("|"))
            yield from re.split(r"(?<!\\)\|", bare)


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every call of simtrain on a page: in blocks of shell, indented lines and code spans."""
    lines = [
        line for block in fenced(page) if block.language in ("sh", "bash", "console") for line in block.text.split("\n")
    ]
    for line in [*lines, *_INDENTED.findall(page.read_text()), *code_spans(page)]:
        for start in re.finditer(r"(?<![\w./'\"-])simtrain (?=[a-z])", re.sub(r"\s#\s.*", "", line)):
            words = _words(line[start.end() :])
            if words:
                yield words


def _words(text: str) -> list[str]:
    """Return the words of a command up to the shell's next operator; a trailing comment is left out."""
    lexer = shlex.shlex(text.removesuffix('"'), posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found: list[str] = []
    try:
        for word in lexer:
            if _SHELL.fullmatch(word):
                break
            found.append(word)
    except ValueError:  # A quotation that the command stands in ends behind it.
        pass
    return found

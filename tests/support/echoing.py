"""An agent that looks nothing up: it repeats what the prompt says. Written from prompts alone; it knows no wording and no world."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

Row = Sequence[str]

_MARKS = ("columns", "headings", "each of the following", "列", "表头")
_CAPITALS = re.compile(r"\b[A-Z][\w'-]+(?: (?:of |the )*[A-Z][\w'-]+)*")
_QUOTED = re.compile(r"[\u4e00-\u9fff]+")


def headings(prompt: str) -> list[str]:
    """The columns that a prompt asks for: the longest enumeration in the first sentence that speaks of columns."""
    zh = _QUOTED.search(prompt) is not None
    stop, comma = ("。", "、") if zh else (r"\.(?= |$)", ", ")
    sentences = re.split(stop, prompt)
    for at, part in enumerate(sentences):
        if "Markdown" not in part:
            continue
        told = next((one for one in sentences[at : at + 2] if any(mark in one for mark in _MARKS)), None)
        if told is None:
            continue
        lists = re.split(r"[:：]|headings |columns ", told)
        return [name.strip() for name in lists[-1].split(comma)]
    return []


def task(prompt: str) -> str:
    """What comes before the talk of tables."""
    return prompt.partition("Markdown")[0]


def names(prompt: str) -> list[str]:
    """What a prompt enumerates after a colon, else whatever is written with capitals and has several words."""
    listed = re.search(r"[:：]\s*([^:：]*?[;；].*?)(?:[.。?？]|$)", task(prompt))
    if listed is not None:
        return [name.strip() for name in re.split("[;；]", listed[1])]
    sole = re.search(
        r"(?:following [\w ]+|these [\w ]+|Here are some [\w ]+|以下[^：]*|下列[^：]*)[:：] ?([A-Z][^.。?？，]*)",
        task(prompt),
    )
    if sole is not None:
        return [sole[1].strip()]
    return [phrase for phrase in phrases(task(prompt)) if " " in phrase]


def phrases(text: str) -> list[str]:
    """Everything written with a capital."""
    return list(dict.fromkeys(_CAPITALS.findall(text)))


def in_order(prompt: str, columns: Row) -> list[Row]:
    return [[name, *["N/A"] * (len(columns) - 1)] for name in names(prompt)]


def left_empty(prompt: str, columns: Row) -> list[Row]:
    return [[name, *[""] * (len(columns) - 1)] for name in names(prompt)]


def repeated(prompt: str, columns: Row) -> list[Row]:
    return [[name] * len(columns) for name in names(prompt)]


def every_phrase(prompt: str, columns: Row) -> list[Row]:
    return [[name, *["N/A"] * (len(columns) - 1)] for name in phrases(prompt)]


def cartesian(prompt: str, columns: Row) -> list[Row]:
    found = names(prompt)[:8]
    width = min(2, len(columns))
    return [[*pair, *["N/A"] * (len(columns) - width)] for pair in itertools.product(found, repeat=width)]


def words_in_turn(prompt: str, columns: Row) -> list[Row]:
    """The names in the first column, words and figures of the prompt in the others."""
    words = re.findall(r"\d[\d,.]*\d|\d|[a-z]{4,}|[\u4e00-\u9fff]{2,}", prompt)
    return [
        [name, *(words[(at + place) % len(words)] for place in range(1, len(columns)))]
        for at, name in enumerate(names(prompt))
    ]


def nothing_exists(prompt: str, columns: Row) -> list[Row]:
    return [["N/A"] * len(columns)]


VARIANTS: dict[str, Callable[[str, Row], list[Row]]] = {
    call.__name__: call
    for call in (in_order, left_empty, repeated, every_phrase, cartesian, words_in_turn, nothing_exists)
}


def echo(prompt: str, variant: str) -> str:
    """The answer of a variant to a prompt; to one that asks for no table, the first thing that it says."""
    columns = headings(prompt)
    if not columns:
        return f"ANSWER: {next(iter(phrases(prompt)[1:]), 'N/A')}"
    rows = [columns, ["---"] * len(columns), *VARIANTS[variant](prompt, columns)]
    return "ANSWER:\n```markdown\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n```"

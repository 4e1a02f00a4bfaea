"""Enriching a search world: a model rewords its pages. A new text is kept only if every statement in it is unchanged."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from simtrain.files.jsonl import LineWriter
from simtrain.llm.client import ChatClient
from simtrain.llm.completion import CUT_OFF
from simtrain.values.types import JsonObject, JsonValue, Usage
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.pages.rewording import Cut, Reworded, cut_page, digest, faults, read_reworded

SYSTEM = """\
You rewrite pages of a web site in better, more natural prose. Marks such as ⟦1⟧ stand for facts, links, lists and tables that are
put back later; a list says what each stands for. Keep every mark, each exactly once. A mark that stands alone on its line stays
alone on its line. Marks of figures and dates keep their order, and so do those of names. Write prose only, in the voice of the
page, about as long as it is. Beside the marks no digits, no numbers in words, no dates, no names and no facts that are not there
already. Reply with the rewritten page and nothing else."""

SHOWN = 80
"""Characters of a part that the model is shown."""


@dataclass(frozen=True, slots=True)
class PageToReword:
    """A page to be reworded: URL, title, and its text split into prose and fixed parts."""

    url: str
    title: str
    apart: Cut


@dataclass
class Enriched:
    """The outcome: counts of reworded and unchanged pages, and the first fault for each unchanged page."""

    kept: int = 0
    refused: int = 0
    faults: dict[str, str] = field(default_factory=dict[str, str])
    usage: Usage = field(default_factory=Usage)


async def enrich(
    file: Path,
    out: Path,
    client: ChatClient,
    *,
    sampling: Mapping[str, JsonValue] | None = None,
    limit: int | None = None,
    site: str | None = None,
    concurrency: int = 8,
    on_page: Callable[[], None] = lambda: None,
) -> Enriched:
    """Reword the pages of a world file, written to the file `out`. Pages that it already holds are skipped.

    A text that loses, repeats or invents something is sent back once with its faults; if that fails, the page keeps its own words.
    Raises InputError for an invalid file, ModelFault if the model cannot be reached.
    """
    result = Enriched()
    with closing(open_file(file)) as connection, closing(LineWriter(out)) as writer:
        # By text as well: a page that has changed since is reworded again.
        done = {(line.url, line.was) for _, line in read_reworded(out)}
        # Shared by all workers: each takes the next page when it is free. Nothing awaits inside, so no lock is needed.
        waiting = iter(_pages(connection, done, limit=limit, site=site))

        async def work() -> None:
            for page in waiting:
                text, wrong = await _reworded(page, client, sampling or {}, result)
                if wrong:
                    result.refused += 1
                    result.faults[page.url] = wrong[0]
                else:
                    result.kept += 1
                    line = Reworded(url=page.url, was=digest(page.apart.body), text=text)
                    writer.write(orjson.dumps(line.model_dump(), option=orjson.OPT_APPEND_NEWLINE))
                on_page()

        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    return result


def pages_of(file: Path, *, limit: int | None = None, site: str | None = None) -> int:
    """Return the number of pages to reword, including those already done. Raises InputError."""
    with closing(open_file(file)) as connection:
        return sum(1 for _ in _pages(connection, set(), limit=limit, site=site))


def _pages(
    connection: sqlite3.Connection, done: set[tuple[str, str]], *, limit: int | None, site: str | None
) -> Iterator[PageToReword]:
    sql = "select p.id, p.url, p.title, p.body from _pages p join _sites s on s.id = p.site where ? in (s.name, '') order by p.id limit ?"
    for page, url, title, body in connection.execute(sql, (site or "", -1 if limit is None else limit)).fetchall():
        if (url, digest(body)) not in done:
            yield PageToReword(url, title, cut_page(connection, page, body))


async def _reworded(
    page: PageToReword, client: ChatClient, sampling: Mapping[str, JsonValue], result: Enriched
) -> tuple[str, list[str]]:
    """Return the model's text and its faults."""
    legend = "\n".join(
        f"⟦{number}⟧ = {_shown(page.apart.part(number))}" for number in range(1, len(page.apart.parts) + 1)
    )
    messages: list[JsonObject] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"Title: {page.title}\n\n{legend}\n\nThe page:\n\n{page.apart.text}"},
    ]
    text, wrong = "", [""]
    for _ in range(2):
        completion = await client.complete(messages, **sampling)
        result.usage += completion.usage or Usage()
        text = completion.text.strip()
        wrong = [CUT_OFF] if completion.cut else faults(page.apart, text)
        if not wrong:
            break
        again = "This cannot be used: " + "; ".join(wrong[:8]) + ". Reply with the whole page, corrected."
        earlier: list[JsonObject] = [{"role": "assistant", "content": text}] if text else []
        messages = [*messages, *earlier, {"role": "user", "content": again}]
    return text, wrong


def _shown(part: str) -> str:
    plain = " ".join(part.split())
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]} ..."

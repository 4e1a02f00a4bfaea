"""A world and questions about it as a folder: a corpus with judgements like BrowseComp-Plus has them, and WideSearch's own files."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from simtrain.contracts.question import Question, gold_csv
from simtrain.contracts.world import World
from simtrain.files.whole_folder import whole_folder
from simtrain.questions.corpora.tables import Form, check_form, write_rows
from simtrain.questions.gathering import gather
from simtrain.questions.stating import Needed
from simtrain.questions.widesearch.aliases import aliases_in
from simtrain.questions.widesearch.files import ANY
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, encode
from simtrain.worlds.search.engine.page_opening import absolute
from simtrain.worlds.search.file import open_file

MOST_DOCUMENTS: Final = 200
"""Most pages of each kind for one question; a fact that every page states is found on these."""


def export(
    path: Path,
    out: Path,
    *,
    form: Form = "jsonl",
    world: World | None = None,
    questions: Sequence[Question] = (),
    force: bool = False,
    on_step: Callable[[], None] = lambda: None,
) -> JsonObject:
    """Write a built file, and questions about its world, into a folder that appears whole or not at all.

    Gives what was written, by file. Raises InputError for a folder that is there (unless `force`), and where an extra is missing.
    """
    # Before anything is written: a missing extra must not end a long export.
    check_form(form)
    if out.exists() and not force:
        raise InputError("it is there already", remedy="choose another folder, or say --force", file=out)
    connection = open_file(path)
    try:
        with whole_folder(out) as folder:
            found: JsonObject = {f"corpus.{form}": write_rows(documents(connection, on_step), folder / "corpus", form)}
            if world is not None and questions:
                found |= _judged(world, questions, folder, form, on_step)
                found |= _widesearch(world, questions, folder)
    finally:
        connection.close()
    return found


def documents(connection: sqlite3.Connection, on_step: Callable[[], None] = lambda: None) -> Iterator[JsonObject]:
    """Yield every page as a document: `text` begins with title and date as front matter, links are whole."""
    rows = connection.execute(
        "select p.id, p.url, p.title, p.date, p.kind, p.body, w.domain from _pages p join _sites w on w.id = p.site order by p.id"
    )
    for page, url, title, date, kind, body, domain in rows:
        text = f"---\ntitle: {title}\ndate: {date or ''}\n---\n{absolute(body, url)}"
        yield {
            "docid": str(page),
            "url": url,
            "title": title,
            "date": date or "",
            "site": domain,
            "kind": kind,
            "text": text,
        }
        on_step()


def _judged(
    world: World, questions: Sequence[Question], folder: Path, form: Form, on_step: Callable[[], None]
) -> JsonObject:
    """Return queries with their answers and documents, and the same judgements in TREC's form."""
    rows = [row for question in questions if (row := _query(world, question, on_step)) is not None]
    (folder / "qrels").mkdir()
    for kind in ("gold", "evidence"):
        # TREC's qrels: query, iteration (unused), document, relevance.
        lines = [f"{row['query_id']} 0 {document} 1\n" for row in rows for document in row[f"{kind}_docs"]]
        (folder / "qrels" / f"{kind}.txt").write_text("".join(lines), encoding="utf-8")
    return {f"queries.{form}": write_rows(rows, folder / "queries", form), "qrels/gold.txt": len(rows)}


def _query(world: World, question: Question, on_step: Callable[[], None]) -> JsonObject | None:
    """Return a question with the documents that state its cells (`gold_docs`), and those for the rest of its evidence
    (`evidence_docs`).
    """
    on_step()
    if question.evidence is None or question.answer == "unanswerable":
        return None
    gathered = gather(question, world)
    gold = _documents_of(world, gathered.stated)
    evidence = [*gold, *(page for page in _documents_of(world, gathered.facts) if page not in gold)]
    single = question.answer == "single"
    answer = str(next(iter(gathered.rows[0].values()))) if single else gold_csv(question.columns, gathered.rows)
    return {
        "query_id": question.id,
        "query": question.query,
        "answer": answer,
        "language": question.language,
        "gold_docs": gold[:MOST_DOCUMENTS],
        "evidence_docs": evidence[:MOST_DOCUMENTS],
    }


def _documents_of(world: World, facts: Sequence[Needed]) -> list[str]:
    """Return the pages that state these facts with the intended values; those that state most of them first."""
    wanted = [[fact.type, fact.name, fact.entity, fact.site] for fact in facts]
    rows = world.query(
        "with wanted as (select json_extract(value, '$[0]') as type, json_extract(value, '$[1]') as name, "
        "json_extract(value, '$[2]') as entity, json_extract(value, '$[3]') as site from json_each(:wanted)) "
        "select s.page as page, count(distinct s.attribute || ' ' || s.entity) as facts from wanted w "
        "join _attributes a on a.type = w.type and a.name = w.name "
        "join _types k on k.name = a.type join _statements s on s.type = k.position and s.attribute = a.id "
        "and s.entity = w.entity join _pages p on p.id = s.page "
        "join _sites t on t.id = p.site where case when w.site is null then s.claim is null else t.name = w.site end "
        "group by 1 order by 2 desc, 1",
        {"wanted": encode(wanted)},
    )
    return [str(row["page"]) for row in rows]


def _widesearch(world: World, questions: Sequence[Question], folder: Path) -> JsonObject:
    """Return the questions that have a table, as WideSearch keeps them, and the world's other names for its scorer."""
    answerable = [question for question in questions if question.answer != "unanswerable"]
    gold = folder / "widesearch_gold"
    gold.mkdir()
    with (folder / "widesearch.jsonl").open("w", encoding="utf-8") as file:
        for question in answerable:
            file.write(encode(question.widesearch()) + "\n")
            table = gold_csv(question.columns, question.gold(world.query))
            (gold / f"{question.id}.csv").write_text(table, encoding="utf-8")
    types = world.query("select name from _types where kind = 'entity' order by position")
    known = {ANY: {"keys": aliases_in(world, ((str(kind["name"]), None) for kind in types))}}
    (folder / "aliases.json").write_text(encode(known) + "\n", encoding="utf-8")
    return {
        "widesearch.jsonl": len(answerable),
        "widesearch_gold": len(answerable),
        "aliases.json": len(known[ANY]["keys"]),
    }

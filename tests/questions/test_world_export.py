"""A search world as a corpus: every page, judgements that hold, WideSearch files that the scorer reads, whole or not at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from simtrain.cli import main
from simtrain.cli.built_worlds import search_source

pytestmark = pytest.mark.slow


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), json.loads(out) if out.startswith("{") else out, err


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "reach"
    with pytest.raises(SystemExit) as ended:
        main(["world", "export", "kestrel_reach", "--out", str(out), "-n", "24", "--json"])
    assert not ended.value.code
    return out


def test_the_corpus_holds_every_page_as_a_document(exported: Path) -> None:
    documents = lines(exported / "corpus.jsonl")
    source = search_source("kestrel_reach").build()
    stored = source.query("select id, url, title, date, body from _pages order by id")
    assert [(one["docid"], one["url"]) for one in documents] == [(str(row["id"]), row["url"]) for row in stored]
    assert documents[5]["text"].startswith(f"---\ntitle: {stored[5]['title']}\ndate: {stored[5]['date']}\n---\n")
    assert "](/" not in documents[5]["text"]


def test_the_gold_documents_of_a_query_state_its_answer(exported: Path) -> None:
    documents = {one["docid"]: one for one in lines(exported / "corpus.jsonl")}
    queries = lines(exported / "queries.jsonl")
    assert len(queries) > 15
    for query in queries:
        assert set(query["gold_docs"]) <= set(query["evidence_docs"])
        rows = list(csv.reader(query["answer"].splitlines()))
        names = [row[0] for row in rows[1:]] if len(rows) > 1 else [query["answer"]]
        text = " ".join(documents[one]["text"] + documents[one]["title"] for one in query["gold_docs"]).casefold()
        assert any(name.casefold() in text for name in names)
    judged = [line.split() for line in (exported / "qrels" / "evidence.txt").read_text().splitlines()]
    assert [(row[0], row[2]) for row in judged] == [
        (query["query_id"], document) for query in queries for document in query["evidence_docs"]
    ]
    assert all(row[1] == "0" and row[3] == "1" for row in judged)


def test_the_scorer_reads_what_was_exported(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = tmp_path / "answers.jsonl"
    with answers.open("w") as file:
        for question in lines(exported / "widesearch.jsonl"):
            name = question["instance_id"]
            rows = list(csv.reader((exported / "widesearch_gold" / f"{name}.csv").read_text().splitlines()))
            rows.insert(1, ["---"] * len(rows[0]))
            table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
            file.write(json.dumps({"instance_id": name, "response": f"```markdown\n{table}\n```"}) + "\n")
    arguments = ["--questions", str(exported / "widesearch.jsonl"), "--gold", str(exported / "widesearch_gold")]
    more = ["--responses", str(answers), "--aliases", str(exported / "aliases.json"), "--json"]
    code, found, _ = run(capsys, "score-widesearch", *arguments, *more)
    assert (code, found["avg"]["score"], found["questions"] > 15) == (0, 1.0, True)
    pytest.importorskip("pandas")
    _, found, _ = run(capsys, "score-widesearch", *arguments, *more, "--mode", "compatible", "--as-of", "2026-01-01")
    assert found["avg"]["f1_by_item"] > 0.9


def test_questions_of_a_file_are_exported_instead(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = run(
        capsys, "world", "questions", "kestrel_reach", "-n", "5", "--out", str(tmp_path / "asked"), "--json"
    )
    assert code == 0
    asked = tmp_path / "asked" / "questions.jsonl"
    code, found, _ = run(
        capsys, "world", "export", "kestrel_reach", "--out", str(tmp_path / "out"), "--ask", str(asked), "--json"
    )
    assert (code, found["written"]["widesearch.jsonl"]) == (
        0,
        sum(one["answer"] != "unanswerable" for one in lines(asked)),
    )


def test_a_built_file_alone_gives_its_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = search_source("kestrel_reach").build_file()
    code, found, _ = run(capsys, "world", "export", str(path), "--out", str(tmp_path / "out"), "--json")
    assert (code, list(found["written"])) == (0, ["corpus.jsonl"])


def test_parquet_holds_the_same_rows(exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "out"
    run(capsys, "world", "export", "kestrel_reach", "--out", str(out), "-n", "24", "--parquet", "--json")
    for name in ("corpus", "queries"):
        assert parquet.read_table(out / f"{name}.parquet").to_pylist() == lines(exported / f"{name}.jsonl")


def test_what_is_there_is_kept_unless_it_is_to_be_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    path = str(search_source("kestrel_reach").build_file())
    code, _, err = run(capsys, "world", "export", path, "--out", str(out))
    assert (code, err.count("\n"), "it already exists" in err) == (2, 1, True)
    assert (out / "mine.txt").read_text() == "mine"

    def breaks(*_: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("simtrain.questions.corpora.export.absolute", breaks)
        code, _, err = run(capsys, "world", "export", path, "--out", str(out), "--force")
    assert (code, err.count("\n")) == (2, 1)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert (out / "mine.txt").read_text() == "mine"
    code, _, _ = run(capsys, "world", "export", path, "--out", str(out), "--force")
    assert (code, [one.name for one in out.iterdir()]) == (0, ["corpus.jsonl"])


def test_a_missing_extra_is_named_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = str(search_source("kestrel_reach").build_file())
    code, _, err = run(capsys, "world", "export", path, "--out", str(tmp_path / "out"), "--parquet")
    assert (code, "pip install 'simtrain[parquet]'" in err) == (2, True)
    assert list(tmp_path.iterdir()) == []

"""`simtrain score-widesearch` over files as the public benchmark has them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from widesearching import GOLD, OBSERVATORIES, fenced

from simtrain.cli import main
from simtrain.testing import FakeOpenAI, Say

pytestmark = pytest.mark.slow

EVALUATION = {
    "unique_columns": ["observatory"],
    "required": [column.name for column in OBSERVATORIES.columns],
    "eval_pipeline": {
        column.name: {
            "preprocess": list(column.preprocess),
            "metric": list(column.metric),
            **({} if column.criterion is None else {"criterion": column.criterion}),
        }
        for column in OBSERVATORIES.columns
    },
}


class Bench:
    """A benchmark of two questions in a folder, and the command over it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        (folder / "gold").mkdir()
        for name in ("ws_en_001", "ws_zh_002"):
            with (folder / "gold" / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([["Observatory", "Founded", "Mirror", "Director"], *GOLD])
        self.questions(
            {"instance_id": "ws_en_001", "query": "?", "language": "en", "evaluation": EVALUATION},
            {"instance_id": "ws_zh_002", "query": "?", "language": "zh", "evaluation": json.dumps(EVALUATION)},
        )
        self.responses({"instance_id": "ws_en_001", "response": fenced(GOLD), "trial_idx": 0})

    def questions(self, *rows: Any) -> None:
        (self.folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def responses(self, *rows: Any) -> None:
        (self.folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(self, *more: str, responses: str = "r.jsonl") -> tuple[int, str, str]:
        arguments = ["--questions", "q.jsonl", "--gold", "gold", "--responses", responses]
        paths = [text if text.startswith("--") else str(self.folder / text) for text in arguments]
        with pytest.raises(SystemExit) as ended:
            main(["score-widesearch", *paths, *more])
        out, err = self.capsys.readouterr()
        return int(ended.value.code or 0), out, err


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_trials_are_averaged_and_a_question_without_a_response_counts_as_zero(bench: Bench) -> None:
    bench.responses(
        {"instance_id": "ws_en_001", "response": fenced(GOLD), "trial_idx": 0},
        {"instance_id": "ws_en_001", "response": fenced(GOLD[:1]), "trial_idx": 1, "messages": []},
    )
    code, out, _ = bench.run("--json", "--out", str(bench.folder / "answers.jsonl"))
    found = json.loads(out)
    assert (code, found["questions"], found["trials"], found["pass"]) == (0, 2, 3, 0.5)
    assert found["avg"]["recall_by_row"] == pytest.approx((1 + 1 / 3) / 2 / 2)
    assert found["columns"]["mirror"] == {"right": 4.0, "wrong": 0.0, "absent": 5.0}
    lines = (bench.folder / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["instance_id"] for line in lines] == ["ws_en_001", "ws_en_001", "ws_zh_002"]


def test_the_report_for_people_tells_figures_and_losses(bench: Bench) -> None:
    code, out, _ = bench.run()
    assert code == 0
    assert "2 questions, 2 answers (strict)" in out
    assert "Pass@N 0.5000" in out
    assert "mirror" in out
    assert "50.0%" in out


def test_a_folder_of_responses_is_read_whole(bench: Bench) -> None:
    (bench.folder / "out").mkdir()
    for number, name in enumerate(("ws_en_001", "ws_zh_002")):
        row = {"instance_id": name, "response": fenced(GOLD), "trial_idx": number}
        (bench.folder / "out" / f"m_{name}_0_response.jsonl").write_text(json.dumps(row) + "\n")
    _, out, _ = bench.run("--json", responses="out")
    assert json.loads(out)["avg"]["score"] == 1.0


@pytest.mark.parametrize("mode", ["strict", "compatible"])
def test_accepted_pairs_count_in_both_modes_as_the_page_writes_them(mode: str, bench: Bench) -> None:
    """The example of docs/widesearch.md, read from the page."""
    if mode == "compatible":
        pytest.importorskip("pandas")
    page = (Path(__file__).parents[2] / "docs" / "widesearch.md").read_text()
    known = json.loads(page[(start := page.index('{"ws_en_001"')) : page.index("}}`", start) + 2])
    ((said, due),) = known["ws_en_001"]["accepted"]
    rows = [(*row[:3], said if row[3] == due else row[3]) for row in GOLD]
    assert rows != GOLD
    bench.responses({"instance_id": "ws_en_001", "response": fenced(rows), "trial_idx": 0})
    (bench.folder / "known.json").write_text(json.dumps(known))
    scores = []
    for more in ((), ("--aliases", str(bench.folder / "known.json"))):
        _, out, _ = bench.run("--json", "--mode", mode, *more)
        scores.append(json.loads(out)["columns"]["director"]["wrong"])
    assert scores == [1.0, 0.0]


def test_aliases_of_a_file_align_names(bench: Bench) -> None:
    bench.responses({"instance_id": "ws_en_001", "response": fenced([("VHS", *GOLD[0][1:]), *GOLD[1:]])})
    known = bench.folder / "aliases.json"
    known.write_text(json.dumps({"*": {"keys": {"VHS": "Velkora Heights"}}}))
    _, out, _ = bench.run("--json", "--aliases", str(known))
    assert json.loads(out)["answers"][0]["score"] == 1.0


def test_a_model_is_asked_when_named_and_its_failure_is_told(bench: Bench) -> None:
    bench.responses({"instance_id": "ws_en_001", "response": fenced([(*GOLD[0][:3], "Mme Trammick"), *GOLD[1:]])})
    with FakeOpenAI([Say('{"verdicts": [1]}')]) as server:
        code, out, _ = bench.run("--json", "--model", "fake", "--base-url", server.url)
    assert (code, json.loads(out)["answers"][0]["score"]) == (0, 1.0)
    with FakeOpenAI([Say("?"), Say("?")]) as server:
        code, out, err = bench.run("--json", "--model", "fake", "--base-url", server.url)
    assert (code, json.loads(out)["failed"]) == (1, 1)
    assert "said nothing that can be read" in err


def test_compatible_scoring_tells_the_day_that_it_takes_for_today(bench: Bench) -> None:
    pytest.importorskip("pandas")
    code, out, _ = bench.run("--mode", "compatible", "--as-of", "2026-01-31", "--json")
    found = json.loads(out)
    assert (code, found["as_of"], found["avg"]["score"]) == (0, "2026-01-31", 0.5)


def test_bad_input_is_one_line_that_names_the_place(bench: Bench) -> None:
    def refused(*more: str) -> str:
        code, out, err = bench.run(*more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err

    assert "there is no mode 'lenient'" in refused("--mode", "lenient")
    assert "--as-of: 'soon' is not a date" in refused("--as-of", "soon")
    assert "no file can be written there" in refused("--out", str(bench.folder / "nowhere" / "scores.jsonl"))
    bench.responses({"instance_id": "ws_en_01", "response": ""})
    assert "r.jsonl:1: no question is called 'ws_en_01'; did you mean 'ws_en_001'?" in refused()
    bench.responses({"instance_id": "ws_en_001", "response": 7})
    assert "r.jsonl:1: `response` is not a text" in refused()
    bench.responses(*[{"instance_id": "ws_en_001", "response": "", "trial_idx": 0}] * 2)
    assert "r.jsonl:2: trial 0 of 'ws_en_001' comes twice" in refused()
    bench.responses({"instance_id": "ws_en_001", "response": ""})
    for evaluation, problem in (
        ("{", "q.jsonl:1: evaluation: not JSON"),
        ({}, "`unique_columns` is not a list of column names"),
        ({**EVALUATION, "unique_columns": ["x"]}, "the key 'x' is not among the required columns"),
        (
            {**EVALUATION, "eval_pipeline": {"mirror": {"metric": ["guess"]}}},
            "evaluation.eval_pipeline.mirror: metric.0",
        ),
    ):
        bench.questions({"instance_id": "ws_en_001", "query": "?", "evaluation": evaluation})
        assert problem in refused()
    bench.questions({"instance_id": "../x", "query": "?", "evaluation": EVALUATION})
    assert "'../x' is not a file name" in refused()
    bench.questions({"instance_id": "ws_en_003", "query": "?", "evaluation": EVALUATION})
    assert "ws_en_003.csv: no such file" in refused()

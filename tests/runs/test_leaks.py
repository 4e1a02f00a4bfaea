"""What splits share is found where it was planted, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bakery import write_files

from simtrain import export, load_scenario, run
from simtrain.cli import main
from simtrain.values.types import JsonObject

ROW: JsonObject = {
    "scenario": "one",
    "episode": "c0",
    "world": {"name": "shop", "digest": "d", "seed": 1, "rows": {}},
    "case": {"cake": "A", "query": "Which cake is sweet?"},
    "prompt": "Order a cake.",
}
FREE: JsonObject = {
    "scenario": "two",
    "episode": "c1",
    "world": {"name": "shop", "digest": "d", "seed": 2, "rows": {}},
    "case": {"cake": "B", "query": "Which cake is large?"},
    "prompt": "Order two cakes.",
}

PLANTED: dict[str, tuple[JsonObject, set[str]]] = {
    "nothing": ({}, set()),
    "a seed": ({"world": {**FREE["world"], "seed": 1, "rows": {"cakes": 9}}}, {"seed"}),
    "a world": ({"world": ROW["world"]}, {"seed", "world"}),
    "an episode": (
        {"world": ROW["world"], "scenario": "one", "case": ROW["case"]},
        {"seed", "world", "episode", "question"},
    ),
    "a prompt in other letters": ({"prompt": " ORDER  a cake.\n"}, {"prompt"}),
    "a question": ({"case": {"cake": "B", "query": "which cake is  sweet?"}}, {"question"}),
}


def command(arguments: list[str]) -> int | str | None:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def write_run(folder: Path, *rows: JsonObject) -> str:
    """A folder with trajectories, as far as leaks go."""
    folder.mkdir()
    (folder / "trajectories-000.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_leak_is_found_and_nothing_else(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, kinds = PLANTED[planted]
    other = {**FREE, "world": {**FREE["world"], "seed": 7}, "case": {"cake": "C", "query": "?"}, "prompt": "Other."}
    train = write_run(tmp_path / "train", other, ROW)
    test = write_run(tmp_path / "test", {**FREE, **change})
    code = command(["leaks", train, test, "--json"])
    found: list[Any] = json.loads(capsys.readouterr().out)["leaks"]
    assert {leak["kind"] for leak in found} == kinds and code == (1 if kinds else None)
    assert all(leak["count"] == 1 for leak in found)
    assert all(
        shown[1:] == ["trajectories-000.jsonl:2 (c0)", "trajectories-000.jsonl:1 (c1)"]
        for leak in found
        for shown in leak["shown"]
    )
    for kind in kinds:
        capsys.readouterr()
        command(["leaks", train, test, "--except", kind])
        assert f"share 1 {kind}" not in capsys.readouterr().out


def test_an_export_is_compared_by_the_words_of_its_tasks(tmp_path: Path) -> None:
    scenario = load_scenario(write_files(tmp_path))
    for name, seeds in (("a", [3, 4]), ("b", [4, 5]), ("c", [6])):
        run([scenario], "resilient", out=tmp_path / name, seeds=seeds, episodes=6)
        export(tmp_path / name, "trl", out=tmp_path / f"{name}.jsonl")
    assert command(["leaks", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]) == 1
    assert command(["leaks", str(tmp_path / "a"), str(tmp_path / "b.jsonl")]) == 1
    assert command(["leaks", str(tmp_path / "a.jsonl"), str(tmp_path / "c.jsonl")]) is None
    assert command(["leaks", str(tmp_path / "a"), str(tmp_path / "c")]) is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["a"], "nothing to compare"),
        (["a", "a"], "nothing to compare"),
        (["a", "b", "--split-by", "seed"], "takes one run folder"),
        (["a", "gone"], "gone"),
        (["a", "empty"], "no trajectories"),
        (["a", "broken.jsonl"], "broken.jsonl:1: not JSON"),
        (["a", "--split-by", "seed"], "not a trajectory"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "a", ROW)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.jsonl").write_text("{\n")
    assert command(["leaks", *arguments]) == 2
    said = capsys.readouterr().err
    assert problem in said and said.count("\n") == 1

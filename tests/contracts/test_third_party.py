"""Another package adds one plug-in of each kind by entry points, without a line of the core touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bakery import WORLD, write_files

pytestmark = pytest.mark.slow

PACKAGE = (Path(__file__).parents[1] / "support") / "third_party"

TOOL = """\
  - {name: cakes.cheapest, description: The cheapest cake below a limit., input: {limit: {type: number}}, handler: cheapest_cake}
"""
MIRROR = """\
kind: mirror
name: mirror
schema: "create table words (id integer primary key, word text not null);"
rows: {words: [{word: olleh}]}
tools: [{name: words.list, description: All words., input: {}, read: {words: "select id, word from words order by id"}}]
"""


def simtrain(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process that has the third-party package on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(Path(__file__).parents[2])])}
    return subprocess.run(
        [sys.executable, "-m", "simtrain", *words], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("perturbations", "burnt"),
        ("graders", "brevity"),
        ("exporters", "prompts"),
        ("agents", "baker"),
        ("world_models", "shouting"),
    ],
)
def test_plug_ins_of_another_package_are_listed(kind: str, name: str, tmp_path: Path) -> None:
    done = simtrain("list", kind, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert name in [row["name"] for row in json.loads(done.stdout)]


def test_plug_ins_of_another_package_play_together(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        world_text=WORLD + TOOL,
        more=(
            "  - {use: brevity, with: {steps: 3}}\n"
            "paradigm: first_case\ndomain: telegram\nworld_models: [{tools: 'cakes.*', use: shouting}, {tools: '*', use: embedded}]\n"
            "perturbations: [{use: burnt, when: {tools: orders.list}}]\n"
        ),
    )
    done = simtrain("run", "birthday.yaml", "--agent", "baker", "--out", "out", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    line = json.loads(next((tmp_path / "out").glob("trajectories-*.jsonl")).read_text())
    step = line["turns"][0]["steps"][0]
    assert step["observation"]["provenance"]["source"] == "shouting" and '"CAKES"' in step["observation"]["text"]
    assert [reward["value"] for reward in line["rewards"] if reward["grader"] == "brevity"] == [1.0]
    assert line["stop"]["reason"] == "abstained"
    exported = simtrain("export", "out", "--format", "prompts", "-o", "rows.jsonl", folder=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert json.loads((tmp_path / "rows.jsonl").read_text())["prompt"].startswith("Order two")


def test_a_handler_of_another_package_answers_over_the_worlds_state(tmp_path: Path) -> None:
    (tmp_path / "look.yaml").write_text(
        "name: look\nworld: bakery.yaml\nprompt: 'What is the cheapest cake up to {{ limit }}?'\ncases: [{limit: 500}, {limit: 1}]\n"
        "reference:\n  steps:\n    - {call: cakes.cheapest, with: {limit: '{{ limit }}'}, as: found}\n"
        '  answer: "{{ found.name if found.error is not defined else found.error }}"\n'
        'rubric: [{use: answer, with: {sql: "select coalesce((select name from cakes where price <= :limit order by price, id limit 1), '
        "'Nothing is that cheap.')\"}}]\n"
    )
    write_files(tmp_path, world_text=WORLD + TOOL)
    done = simtrain("run", "look.yaml", "--agent", "oracle", "--out", "out", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"]["success"] == 1.0


def test_an_argument_style_of_another_package_words_what_is_wrong(tmp_path: Path) -> None:
    write_files(tmp_path, world_text=WORLD.replace("tools:\n", "errors: {arguments: grumpy}\ntools:\n", 1))
    (tmp_path / "wrong.yaml").write_text(
        "name: wrong\nworld: bakery.yaml\nprompt: Look.\n"
        "reference: {steps: [{call: cakes.get, with: {name: 7}, as: found}], answer: nothing}\n"
        "rubric: [{use: answer, with: {value: nothing}}]\n"
    )
    done = simtrain("run", "wrong.yaml", "--agent", "naive", "--out", "out", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    line = json.loads(next((tmp_path / "out").glob("trajectories-*.jsonl")).read_text())
    said = line["turns"][0]["steps"][0]["observation"]["text"]
    assert said == "Invalid arguments for tool cakes.get: I do not like this, said cakes.get"


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.full)])
def test_a_transport_of_another_package_carries_the_calls(workers: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    words = ["--agent", "oracle", "--out", "out", "--episodes", "2", "--workers", workers, "--via", "courier"]
    done = simtrain("run", "birthday.yaml", *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ahoy: 4 tools") == 2
    unknown = simtrain("run", "birthday.yaml", "--via", "curier", folder=tmp_path)
    assert unknown.returncode == 2 and "courier" in unknown.stderr


def test_a_kind_of_world_of_another_package_is_built(tmp_path: Path) -> None:
    (tmp_path / "mirror.yaml").write_text(MIRROR)
    (tmp_path / "say.yaml").write_text(
        "name: say\nworld: mirror.yaml\nprompt: Which word is it?\n"
        "reference: {steps: [{call: words.list, as: all}], answer: '{{ all.words[0].word }}'}\n"
        "rubric: [{use: answer, with: {value: hello}}]\n"
    )
    done = simtrain("run", "say.yaml", "--agent", "oracle", "--out", "out", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"]["success"] == 1.0


def test_a_plug_in_that_cannot_be_imported_is_one_clear_line(tmp_path: Path) -> None:
    broken = tmp_path / "simtrain_broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: simtrain-broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[simtrain.graders]\nabsent = no_such_module:Grader\n")
    write_files(tmp_path, more="  - {use: absent}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])}
    done = subprocess.run(
        [sys.executable, "-m", "simtrain", "run", "birthday.yaml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "absent" in done.stderr and "no_such_module" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1

"""`simtrain train`: a tiny model is really trained and really served; killed, broken and full disks lose nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiny_model
import yaml
from gate import GATE
from training import need_trainers, played

from simtrain.integrations.train.recipe import Recipe
from simtrain.integrations.train.working import train
from simtrain.values.errors import InputError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

SERVER = Path(__file__).parents[1] / "support" / "tiny_chat_server.py"
SEARCHER = SERVER.with_name("scripted_searcher.py")
WEBS = Path(__file__).parents[2] / "examples" / "training" / "webs"
SHORT: dict[str, Any] = {
    "worlds": {"train": "1..10", "validation": 11, "test": 14},
    "evaluate": {"scenarios": [GATE], "cases": 1},
    "chat": {"max_tokens": 16},
}
"""What a recipe plays whose figures say nothing."""


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model, with a tokenizer that was learnt from episodes."""
    need_trainers()
    import torch

    from simtrain.runs.export import build_exporter
    from simtrain.runs.run_folder import read_run

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("blank")
    exporter = build_exporter("rendered", {})
    texts = [row["text"] for run in played(folder / "runs") for one in read_run(run) for row in exporter.rows(one)]
    words = tiny_model.tokenizer(texts)
    tiny_model.model(words, width=128).save_pretrained(folder / "model")
    words.save_pretrained(folder / "model")
    return folder / "model"


def recipe(blank: Path, **more: Any) -> dict[str, Any]:
    """A recipe over the gates with demonstrations; `more` replaces keys."""
    fit = {
        "epochs": 25,
        "learning_rate": 1.5e-3,
        "batch": 2,
        "micro_batch": 2,
        "precision": "fp32",
        "checkpoint_every": 5,
    }
    return {
        "name": "gates",
        "model": str(blank),
        "server": {"use": "command", "command": f"{sys.executable} {SERVER} {{model}} {{port}} {{name}}", "slots": 2},
        "chat": {"max_tokens": 120},
        "worlds": {"train": "1..10", "validation": "11..13", "test": "14..16"},
        "stages": [{"method": "sft", "data": {"scenarios": [GATE], "cases": None}, "with": fit}],
        "evaluate": {"scenarios": [GATE], "cases": None},
        **more,
    }


def shares(report: Any) -> list[float]:
    return [one["share"] for one in report.data()["success"]]


def command(tmp_path: Path, found: dict[str, Any], *words: str) -> list[str]:
    file = tmp_path / "recipe.yaml"
    file.write_text(yaml.safe_dump(found))
    return [sys.executable, "-m", "simtrain", "train", str(file), "--out", str(tmp_path / "out"), *words]


def test_sft_lifts_a_model_in_worlds_that_it_has_not_seen_and_repeats_nothing_that_is_done(
    blank: Path, tmp_path: Path
) -> None:
    found = Recipe.model_validate(recipe(blank))
    report = train(found, tmp_path)
    before, after = shares(report)
    assert before == 0 and after >= 0.85
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    again = train(found, tmp_path)
    assert again.data() == report.data()
    changed = [path.name for path, when in files.items() if path.stat().st_mtime_ns != when]
    assert set(changed) <= {"validation.json", "validation.html"}
    tested = train(found, tmp_path, split="test")
    assert shares(tested)[1] >= 0.85
    (start, _) = sorted(tmp_path.glob("played/test-*"))
    assert {one["world"]["seed"] for one in _trajectories(start)} == {14, 15, 16}


def test_a_killed_trainer_goes_on_from_its_last_whole_checkpoint_to_the_same_model(blank: Path, tmp_path: Path) -> None:
    found = recipe(blank, **SHORT)
    found["stages"][0]["with"] |= {"epochs": 0.6}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir(), broken.mkdir()
    assert subprocess.run(command(whole, found), capture_output=True, check=False).returncode == 0
    process = subprocess.Popen(command(broken, found), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoint = _appears(broken, "out/models/sft-*/checkpoints/checkpoint-5/whole", process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for torn in checkpoint.parents[1].glob("checkpoint-*"):
        if not (torn / "whole").exists():
            (torn / "optimizer.pt").unlink(missing_ok=True)
    (checkpoint.parents[1] / "checkpoint-9").mkdir()
    done = subprocess.run(command(broken, found, "--json"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    curves = [
        [json.loads(line) for line in _only(place, "curve.jsonl").read_text().splitlines()] for place in (whole, broken)
    ]
    assert [line["step"] for line in curves[1]] == list(range(1, 13))
    assert [line["loss"] for line in curves[1]] == pytest.approx([line["loss"] for line in curves[0]], abs=1e-4)
    models = [next(iter(place.glob("out/models/sft-*/model/model.safetensors"))) for place in (whole, broken)]
    assert _distance(*models) < 1e-3


def _appears(folder: Path, pattern: str, process: subprocess.Popen[bytes]) -> Path:
    until = time.monotonic() + 240
    while time.monotonic() < until and process.poll() is None:
        for path in folder.glob(pattern):
            return path
        time.sleep(0.05)
    raise AssertionError(f"there is no {pattern}; the command ended with {process.poll()}")


def _only(folder: Path, name: str) -> Path:
    (found,) = folder.glob(f"out/models/*/{name}")
    return found


def _distance(*files: Path) -> float:
    from safetensors.torch import load_file

    one, other = map(load_file, files)
    assert sorted(one) == sorted(other)
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def test_a_full_disk_at_a_checkpoint_is_one_line_and_loses_nothing(blank: Path, tmp_path: Path) -> None:
    found = recipe(blank, **SHORT)
    found["stages"][0]["with"] |= {"epochs": 0.5}
    weights = (blank / "model.safetensors").stat().st_size
    # The weights of a checkpoint fit, the state of its optimiser does not.
    limited = f'ulimit -f {weights * 3 // 2 // 1024}; exec "$@"'
    full = subprocess.run(
        ["bash", "-c", limited, "-", *command(tmp_path, found)], capture_output=True, text=True, check=False
    )
    error = [line for line in full.stderr.splitlines() if line.startswith("error:")]
    assert full.returncode == 2 and len(error) == 1, full.stderr
    assert "checkpoints: cannot be written" in error[0] and "Traceback" not in full.stderr
    done = subprocess.run(command(tmp_path, found, "--json"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rejection_sampling_learns_from_what_the_model_solved(blank: Path, tmp_path: Path) -> None:
    fit = {"epochs": 2, "learning_rate": 1e-3, "batch": 2, "micro_batch": 2, "precision": "fp32"}
    demonstrations = {"scenarios": [GATE], "cases": None}
    early = {"method": "sft", "data": demonstrations, "with": {**fit, "epochs": 8}}
    sampled = {"method": "rejection", "data": {"scenarios": [GATE], "cases": None, "rounds": 2}, "with": fit}
    report = train(Recipe.model_validate(recipe(blank, stages=[early, sampled])), tmp_path)
    assert len(shares(report)) == 3
    first, second = sorted(tmp_path.glob("models/rejection-*/round-*"))
    both = [len((round / "curve.jsonl").read_text().splitlines()) for round in (first, second)]
    assert report.data()["models"][-1]["updates"] == sum(both) > both[1] > 0
    sampled = [_trajectories(round / "samples") for round in (first, second)]
    solved = {one["episode"] for one in sampled[0] if one["reward"] == 1}
    assert 0 < len(solved) == json.loads((first / "rows.json").read_text())["episodes"] <= 20
    worlds = [{one["world"]["seed"] for one in found} for found in sampled]
    assert worlds == [{1, 3, 5, 7, 9}, {2, 4, 6, 8, 10}]


def test_a_curriculum_deals_samples_and_goes_on_after_a_server_that_failed(blank: Path, tmp_path: Path) -> None:
    ladder = tmp_path / "mills.yaml"
    levels = [
        {"name": name, "questions": {"count": 40, "hops": [0, 0], "rows": [rows, rows], "columns": [2, 2], **looked_up}}
        for name, rows in (("one_mill", 1), ("two_mills", 2))
        for looked_up in ({"compose": ["looked_up"], "unanswerable": 0},)
    ]
    band = {"low": 0.01, "high": 0.2, "window": 4}
    tools = ["web_search", "web_extractor"]
    spec = {"name": "mills", "worlds": {"train": [str(WEBS / "mill_country.yaml")]}, "seeds": [1, 2, 3]}
    ladder.write_text(yaml.safe_dump({**spec, "tools": tools, "levels": levels, "adaptive": band}))
    fit = {"epochs": 1, "batch": 2, "micro_batch": 1, "precision": "fp32"}
    data = {"curriculum": str(ladder), "tasks": 8, "attempts": 2, "rounds": 2}
    lookups = {"scenarios": [str(WEBS / "scenarios" / "one_fact_mill_country.yaml")]}
    found = recipe(blank, stages=[{"method": "rejection", "data": data, "with": fit}], evaluate=lookups)
    # Enough replies for three episodes of an evaluation, not for the samples.
    broken = f"{sys.executable} {SEARCHER} {{model}} {{port}} {{name}} 9"
    for command, slots in ((broken, 2), (broken.removesuffix(" 9"), 4)):
        found["server"] = {"use": "command", "command": command, "slots": slots}
        if command == broken:
            with pytest.raises(InputError, match="through no fault of the agent"):
                train(Recipe.model_validate(found), tmp_path / "out")
    report = train(Recipe.model_validate(found), tmp_path / "out")
    (stage,) = tmp_path.glob("out/models/rejection-*")
    lines = [json.loads(line) for line in (stage / "ledger.jsonl").read_text().splitlines()[1:]]
    assert sorted(line["dealt"] for line in lines if "dealt" in line) == list(range(16))
    assert sorted(line["rewarded"] for line in lines if "rewarded" in line) == list(range(16))
    assert {line["level"] for line in lines if "dealt" in line} == {0, 1}
    first, second = (_trajectories(stage / f"round-{number}" / "samples") for number in (1, 2))
    for sampled in (first, second):
        assert len({(one["scenario"], one["episode"], one["attempt"]) for one in sampled}) == len(sampled) == 16
    assert report.data()["models"][-1]["episodes"] >= 2


@pytest.mark.parametrize("sampler", ["generate", "slots"])
def test_grpo_takes_a_step_from_what_the_model_played(blank: Path, tmp_path: Path, sampler: str) -> None:
    fit = {"epochs": 8, "learning_rate": 1e-3, "batch": 2, "micro_batch": 2, "precision": "fp32"}
    early = {"method": "sft", "data": {"scenarios": [GATE], "cases": None}, "with": fit}
    steps = {"steps": 2, "prompts": 2, "samples": 4, "micro_batch": 8, "learning_rate": 1e-4, "precision": "fp32"}
    grpo = {"method": "grpo", "data": {"scenarios": [GATE], "cases": None}, "with": {**steps, "longest": 300}}
    grpo["with"] |= {"sampler": sampler, "context": 1024}
    train(Recipe.model_validate(recipe(blank, stages=[early, grpo], evaluate=SHORT["evaluate"])), tmp_path)
    (curve,) = tmp_path.glob("models/grpo-*/curve.jsonl")
    lines = [json.loads(line) for line in curve.read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2] and all(0 <= line["reward"] <= 1 for line in lines)
    models = [next(iter(tmp_path.glob(f"models/{name}-*/model/model.safetensors"))) for name in ("sft", "grpo")]
    assert _distance(*models) > 0


def test_a_loss_of_nan_ends_in_one_line(blank: Path, tmp_path: Path) -> None:
    found = recipe(blank, **SHORT)
    found["stages"][0]["with"] |= {"learning_rate": 1e18, "warmup": 0}
    done = subprocess.run(command(tmp_path, found), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the loss of update" in done.stderr and "Traceback" not in done.stderr


def test_a_server_that_ends_by_itself_says_why(blank: Path, tmp_path: Path) -> None:
    found = recipe(blank, server={"use": "command", "command": "sh -c 'echo out of memory; exit 3'"})
    done = subprocess.run(command(tmp_path, found), capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "sh ended with code 3: out of memory" in done.stderr


def _trajectories(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in run.glob("trajectories-*.jsonl") for line in file.read_text().splitlines()]

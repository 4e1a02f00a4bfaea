"""Run folders as datasets for SFT and for preferences: every argument as it was, and what is trained on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_model
from gate import GATE
from training import QUIET, changed, need_trainers, played, sft_config, shown, weights

from simtrain import export, load_scenarios, run
from simtrain.integrations.trl import preference_dataset, sft_dataset
from simtrain.runs.export import Selection
from simtrain.values.errors import InputError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _trainers() -> None:
    need_trainers()


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_arguments_of_different_tools_stay_as_they_were_on_the_way_through_arrow(tmp_path: Path) -> None:
    import datasets

    run(load_scenarios("helpdesk"), "oracle", out=tmp_path / "run", episodes=40)
    rows = sft_dataset(tmp_path / "run")
    export(tmp_path / "run", "trl", out=tmp_path / "rows.jsonl", selection=Selection(minimum=1.0))
    expected = [{name: row[name] for name in ("messages", "tools")} for row in lines(tmp_path / "rows.jsonl")]
    keys = {frozenset(call["function"]["arguments"]) for row in expected for call in calls(row)}
    assert len(keys) > 5
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.save_to_disk(tmp_path / "saved")
    again = datasets.Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path / "cache"))
    for dataset in (rows, again, datasets.load_from_disk(tmp_path / "saved")):
        assert dataset.to_list() == expected


def calls(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for message in row["messages"]:
        yield from message.get("tool_calls") or []


@pytest.mark.parametrize("completion_only", [False, True])
def test_only_what_the_agent_wrote_is_trained_on(tmp_path: Path, completion_only: bool) -> None:
    import trl

    rows = sft_dataset(played(tmp_path), completion_only=completion_only)
    assert len(rows) == 4, "the episodes with full reward"
    words = tiny_model.tokenizer(shown(sft_dataset(played(tmp_path))))
    loss = {"assistant_only_loss": not completion_only, "completion_only_loss": completion_only}
    config = sft_config(tmp_path, max_steps=1, per_device_train_batch_size=2, **loss)
    trainer = trl.SFTTrainer(tiny_model.model(words), config, train_dataset=rows, processing_class=words)
    batch = next(iter(trainer.get_train_dataloader()))
    for labels in batch["labels"].tolist():
        trained = words.decode([token for token in labels if token != -100])
        told = trained.count("<tool_call>"), trained.count("ANSWER:"), trained.count("<tool_response>")
        assert told == (1, 1, int(completion_only)) and "Is gate" not in trained
    trainer.train()


def test_pairs_of_a_right_and_a_wrong_end_train_dpo(tmp_path: Path) -> None:
    import trl

    text = Path(GATE).read_text().replace("world: gates.yaml", f"world: {Path(GATE).with_name('gates.yaml')}")
    file = tmp_path / "unsteady.yaml"
    file.write_text(text + "perturbations: [{use: transient_error, when: {tools: '*', nth: 1}}]\n")
    for agent in ("resilient", "naive"):
        run(load_scenarios(str(file)), agent, out=tmp_path / agent)
    rows = preference_dataset([tmp_path / "resilient", tmp_path / "naive"])
    assert set(rows.column_names) == {"prompt", "chosen", "rejected", "tools"} and len(rows) > 1
    for row in rows:
        assert row["chosen"][0]["tool_calls"][0]["function"]["arguments"]["name"] in row["prompt"][1]["content"]
        assert [message["content"] for message in row["rejected"]] == ["ANSWER: Done."]
    words = tiny_model.tokenizer(shown(sft_dataset(played(tmp_path / "clean"))))
    tiny_model.model(words).save_pretrained(tmp_path / "model")
    args = trl.DPOConfig(str(tmp_path), max_steps=1, per_device_train_batch_size=2, learning_rate=1e-3, **QUIET)
    trainer = trl.DPOTrainer(str(tmp_path / "model"), args=args, train_dataset=rows, processing_class=words)
    before = weights(trainer.model)
    trainer.train()
    assert changed(before, weights(trainer.model)) == len(before)


def test_where_no_episode_gives_a_row_it_is_said_why(tmp_path: Path) -> None:
    run(load_scenarios(GATE), "wrong", out=tmp_path / "wrong")
    with pytest.raises(InputError) as told:
        sft_dataset(tmp_path / "wrong")
    assert str(told.value) == (
        "the dataset has no rows: 4 episodes: 4 that do not fit the filters; play more episodes, or select others"
    )
    with pytest.raises(InputError, match="without another end of the case"):
        preference_dataset(tmp_path / "wrong")
    with pytest.raises(InputError, match="not a run folder"):
        sft_dataset(tmp_path / "none")

"""The shipped recipes with the small real model, shrunk to minutes; and its GGUF file, read by llama.cpp and by transformers.

Without the model and its server the tests skip and say so; where CI is set they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard, get_args

import httpx
import pytest
import yaml
from training import need_trainers

from simtrain.integrations.train.gguf_files import write_gguf
from simtrain.integrations.train.models import SavedModel, find_model, load, prepare
from simtrain.integrations.train.recipe import Recipe, Rejection, ServerSpec, Stage, Weights, load_recipe
from simtrain.integrations.train.servers import serving
from simtrain.integrations.train.working import train
from simtrain.values.errors import InputError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

FULL = bool(os.environ.get("SIMTRAIN_FULL"))
RECIPES = sorted((Path(__file__).parents[2] / "examples" / "training").glob("*.yaml"))
TAUGHT_TWICE = "rejection"
"""A recipe whose stages are those of `search`, but for the curriculum."""
PROMPT = (
    "<|im_start|>user\nName three colours of the rainbow, and one that is not in it.<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> SavedModel:
    """SmolLM2-135M as transformers reads it."""
    need_trainers()
    try:
        find_model("smollm2")
        reason = "" if find_spec("xllamacpp") and find_spec("gguf") else "its server is not installed"
    except InputError as error:
        reason = str(error)
    if reason:
        reason = f"NO REAL MODEL WAS TRAINED: {reason}; `make .venv/.real` installs both"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    import torch

    torch.set_num_threads(1)
    return prepare("smollm2", tmp_path_factory.mktemp("start") / "model")


@pytest.fixture(scope="module")
def url(start: SavedModel) -> Iterator[str]:
    """llama.cpp, with the GGUF file that was written from the folder of transformers."""
    with serving(start, ServerSpec(slots=1)) as found:
        yield found.removesuffix("/v1")


def test_what_llama_cpp_serves_continues_a_prompt_as_transformers_does(start: SavedModel, url: str) -> None:
    model, tokenizer = load(start.source)
    ids = tokenizer.encode(PROMPT, add_special_tokens=False)
    import torch

    expected = model.generate(torch.tensor([ids]), max_new_tokens=24, do_sample=False)[0].tolist()[len(ids) :]
    body = {"prompt": PROMPT, "temperature": 0, "n_predict": 24, "return_tokens": True}
    found = httpx.post(f"{url}/completion", json=body, timeout=120).json()["tokens"]
    assert len(found) >= 16 and found == expected[: len(found)]


def test_a_model_of_another_recipe_keeps_its_file_for_llama_cpp(start: SavedModel, url: str, tmp_path: Path) -> None:
    assert prepare(str(start.folder), tmp_path / "model").gguf == start.folder / "model.gguf"


def test_llama_cpp_reads_a_text_as_the_same_tokens(start: SavedModel, url: str) -> None:
    tokenizer = load(start.source)[1]
    texts = [
        PROMPT,
        '<tool_call>\n{"name": "a_b", "arguments": {"x": [1, 20.5]}}\n</tool_call>',
        "Ünï\t\n\n  code: 123456, naïve — ok",
    ]
    for text in texts:
        found = httpx.post(f"{url}/tokenize", json={"content": text, "parse_special": True}, timeout=60).json()[
            "tokens"
        ]
        assert found == tokenizer.encode(text, add_special_tokens=False)


@pytest.mark.parametrize("weights", get_args(Weights) if FULL else ("bf16",))
def test_the_weights_come_back_from_the_file_as_transformers_itself_reads_it(
    start: SavedModel, weights: Weights, tmp_path: Path
) -> None:
    assert start.gguf is not None
    file = tmp_path / "again.gguf"
    write_gguf(start.folder, start.gguf, file, weights=weights)
    again = prepare(str(file), tmp_path / "again")
    one, other = (load(model.source)[0].state_dict() for model in (start, again))
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        if weights == "bf16" and tensor.ndim > 1:
            # 8 bits of significand.
            bound = tensor.abs() * 2**-8
        elif weights == "f16" or tensor.ndim == 1:
            # 16-bit floats: a relative error of at most 2^-11, and 2^-25 near zero.
            bound = tensor.abs() * 2**-11 + 2**-25
        else:
            # 8 bits: half a step of the largest of 32 neighbours in 127, with a 16-bit scale that errs as above.
            largest = tensor.reshape(-1, 32).abs().amax(dim=1, keepdim=True).expand(-1, 32).reshape(tensor.shape)
            bound = largest * (0.5 / 127 + 2**-11) + 2**-25 * 127
        assert bool(((tensor - other[name]).abs() <= bound).all()), name


def narrowed(curriculum: Path, folder: Path) -> tuple[Path, Path]:
    """The same curriculum with one level and one question, and a family that asks the same."""
    data: dict[str, Any] = yaml.safe_load(curriculum.read_text())
    worlds = {split: [str(curriculum.resolve().parent / names[0])] for split, names in data["worlds"].items()}
    questions = data["levels"][0]["questions"] | {"count": 1}
    levels = [data["levels"][0] | {"questions": questions}]
    family = {"paradigm": "fiction", "world": worlds["train"][0], "cases": {"questions": questions}}
    found = folder / "curriculum.yaml", folder / "asked.yaml"
    for file, content in zip(
        found,
        (data | {"worlds": worlds, "seeds": [1], "levels": levels}, family | {"name": "asked", "tools": data["tools"]}),
        strict=True,
    ):
        file.write_text(yaml.safe_dump(content))
    return found


def shrunk(recipe: Recipe, model: SavedModel, folder: Path) -> Recipe:
    """The same recipe over one world, with one seed, one arm and one family, a few updates a stage, for a model that is prepared."""
    data: dict[str, Any] = recipe.model_dump(by_alias=True, exclude_unset=True) | {"model": str(model.folder)}
    arms: dict[str, Any] = data.pop("arms", {})
    data["stages"] = next(iter(arms.values()))["stages"] if arms else data["stages"]
    first = data["evaluate"]["scenarios"][0]
    for stage in data["stages"]:
        if "curriculum" in stage["data"]:
            curriculum, asked = narrowed(Path(stage["data"]["curriculum"]), folder)
            stage["data"] |= {"curriculum": str(curriculum), "tasks": 2, "rounds": 1, "temperature": 0.2}
            first = str(asked)
    # What a model samples has to be solved now and then: it learns the one episode by heart, and is asked for it again.
    epochs = 2 if len(data["stages"]) == 1 else 7
    for stage in data["stages"]:
        if stage["method"] == "sft":
            stage["data"] = [{"scenarios": [first], "cases": 1}]
            stage["with"] = stage.get("with", {}) | {"epochs": epochs, "batch": 1, "warmup": 0}
            continue
        stage["data"]["attempts"] = 2
        if "curriculum" not in stage["data"]:
            kept = {key: value for key, value in stage["data"].items() if key != "rounds"}
            stage["data"] = kept | {"scenarios": [first], "cases": 1, "temperature": 0.2}
    data["chat"] = data.get("chat", {}) | {"max_tokens": 96}
    data["evaluate"] |= {"scenarios": [first], "cases": 1}
    data["evaluate"]["conditions"] = data["evaluate"].get("conditions", ["clean"])[:2]
    # llama.cpp reads a prompt several times slower, and has tests of its own above.
    data["server"] = {"use": "transformers", "weights": "bf16", "slots": 2}
    return Recipe.model_validate(data | {"seeds": [1], "worlds": {"train": 1, "validation": 2, "test": 3}})


def _deals(stage: Stage) -> TypeGuard[Rejection]:
    return isinstance(stage, Rejection) and bool(stage.data.curriculum)


@pytest.mark.parametrize(
    "file", [path for path in RECIPES if FULL or path.stem != TAUGHT_TWICE], ids=lambda path: path.stem
)
def test_a_shipped_recipe_runs_from_demonstrations_to_a_report(file: Path, start: SavedModel, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    recipe = shrunk(load_recipe(file), start, folder)
    report = train(recipe, tmp_path / "out")
    dealt = [ledger.read_text().count('"rewarded"') for ledger in (tmp_path / "out" / "models").rglob("ledger.jsonl")]
    assert dealt == [stage.data.tasks * stage.data.rounds for stage in recipe.stages if _deals(stage)]
    assert len(list((tmp_path / "out" / "models").iterdir())) == 1 + len(recipe.stages)
    last = report.data()["models"][-1]
    assert last["updates"] > 0 and last["success"]["clean"]["episodes"] >= 1
    assert (tmp_path / "out" / "validation.html").read_text().startswith("<!doctype html>")

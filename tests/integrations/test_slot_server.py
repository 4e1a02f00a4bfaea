"""The server of models of transformers: what it writes in slots is what transformers writes by itself, one text at a time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
import tiny_model
from training import need_trainers

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

TEXT = "The keeper of the lighthouse counts the ships that pass by night, and writes them down in the morning. "


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two random models with one tokenizer: of Qwen3's kind, and one that sees no further back than 24 tokens."""
    need_trainers()
    transformers: Any = import_module("transformers")
    at = tmp_path_factory.mktemp("models")
    words = tiny_model.tokenizer([TEXT])
    made = tiny_model.model(words)
    config = {**made.config.to_dict(), "max_position_embeddings": 256, "max_window_layers": 0}
    windowed = {**config, "use_sliding_window": True, "sliding_window": 24, "layer_types": ["sliding_attention"] * 2}
    for name, values in (("plain", config), ("windowed", windowed)):
        transformers.set_seed(3)
        model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config.from_dict(values))
        # Random weights of the usual size say nothing of what was read.
        for weights in model.parameters():
            weights.data *= 3 if weights.dim() > 1 else 1
        model.save_pretrained(at / name)
        words.save_pretrained(at / name)
    return at


def engine(source: Path, **options: Any) -> Any:
    from simtrain.integrations.train.slot_engine import SlotEngine

    return SlotEngine.load(str(source), **({"slots": 3, "context": 200, "dtype": "float32", "threads": 1} | options))


def alone(source: Path, prompt: list[int], count: int) -> list[int]:
    """What transformers makes of a prompt by itself, always the likeliest token."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(source, attn_implementation="eager")
    ids = torch.tensor([prompt])
    with torch.inference_mode():
        for _ in range(count):
            ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)], dim=1)
            if int(ids[0, -1]) == model.config.eos_token_id:
                break
    return ids[0, len(prompt) :].tolist()


@pytest.mark.parametrize("batched", [False, True], ids=["rows", "batch"])
@pytest.mark.parametrize("kind", ["plain", "windowed"])
def test_slots_write_what_the_model_writes_alone(folder: Path, kind: str, batched: bool) -> None:
    from simtrain.integrations.train.slot_engine import Generation

    found = engine(folder / kind, batched=batched)
    prompts = [
        found.tokenizer(TEXT[begin:end])["input_ids"] for begin, end in ((0, 30), (10, 100), (40, 45), (0, 90), (7, 60))
    ]
    works = [Generation(prompt, 20 + 5 * number) for number, prompt in enumerate(prompts)]
    waiting, ended = list(works), list[Any]()
    while waiting or found.busy:
        # They come at different times, so that rows of all lengths stand beside one another.
        if waiting and found.free:
            # Two at once where there is room, of unequal lengths.
            found.begin([waiting.pop(0) for _ in range(min(2, found.free, len(waiting)))])
        ended += found.step()
    assert {id(work) for work in ended} == {id(work) for work in works}
    for prompt, work in zip(prompts, works, strict=True):
        assert work.ids == alone(folder / kind, prompt, work.max_tokens)
    assert len({tuple(work.ids) for work in works}) == len(works)


def test_a_conversation_that_goes_on_reads_only_what_is_new(folder: Path) -> None:
    from simtrain.integrations.train.slot_engine import Generation

    found = engine(folder / "plain")
    prompt = found.tokenizer(TEXT[:50])["input_ids"]
    for turn in range(4):
        work = Generation(prompt, 6)
        found.begin([work])
        while found.busy:
            found.step()
        assert work.ids == alone(folder / "plain", prompt, 6)
        assert (work.cached > 0) == (turn > 0)
        prompt = [*prompt, *work.ids, *found.tokenizer(f" and {turn} more")["input_ids"]]
    # Another beginning, with the rest in common, is read anew.
    other = Generation([prompt[1], *prompt[1:]], 6)
    found.begin([other])
    while found.busy:
        found.step()
    assert (other.cached, other.ids) == (0, alone(folder / "plain", list(other.prompt), 6))


def test_samples_follow_the_models_chances_and_the_seed(folder: Path) -> None:
    from simtrain.integrations.train.slot_engine import Generation

    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    found = engine(folder / "plain")
    prompt = found.tokenizer(TEXT[:40])["input_ids"]

    def first(seed: int, **how: Any) -> tuple[int, float]:
        work = Generation(prompt, 1, temperature=2.0, seed=seed, **how)
        found.begin([work])
        found.step()
        return work.ids[0], work.logprobs[0]

    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "plain")
    with torch.inference_mode():
        chances = (model(torch.tensor([prompt])).logits[0, -1] / 2.0).softmax(-1)
    samples = [first(seed) for seed in range(600)]
    counts = Counter(token for token, _ in samples)
    for token, chance in enumerate(chances.tolist()):
        spread = (600 * chance * (1 - chance)) ** 0.5
        assert abs(counts[token] - 600 * chance) < 5 * spread + 1, token
    for token, logprob in samples[:50]:
        assert logprob == pytest.approx(float(chances[token].log()), abs=1e-4)
    assert [first(seed)[0] for seed in range(20)] == [token for token, _ in samples[:20]]
    likeliest = int(chances.argmax())
    assert {first(seed, top_p=1e-6)[0] for seed in range(10)} == {likeliest}


def test_bfloat16_is_close_to_float32(folder: Path) -> None:
    from simtrain.integrations.train.slot_engine import Generation

    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    found = engine(folder / "plain", dtype="bfloat16")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "plain")
    differences: list[float] = []
    for begin in range(0, 60, 6):
        work = Generation(found.tokenizer(TEXT[begin:])["input_ids"], 1)
        found.begin([work])
        found.step()
        with torch.inference_mode():
            exact = model(torch.tensor([work.prompt])).logits[0, -1].log_softmax(-1)
        differences += [work.logprobs[0] - float(exact[work.ids[0]]), float(exact.max() - exact[work.ids[0]])]
    assert max(map(abs, differences)) < 0.25, differences


@pytest.fixture(scope="module")
def url(folder: Path, free_port: int) -> Generator[str]:
    command = [
        sys.executable,
        "-m",
        "simtrain.integrations.train.slot_server",
        str(folder / "plain"),
        str(free_port),
        "tiny",
    ]
    command += ["--slots", "2", "--context", "100", "--threads", "1", "--dtype", "float32"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    base, until = f"http://127.0.0.1:{free_port}", time.monotonic() + 120
    while True:
        try:
            httpx.get(f"{base}/v1/models")
            break
        except httpx.HTTPError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
    yield base
    assert process.stdin is not None
    process.stdin.close()
    # It ends with whoever started it.
    assert process.wait(20) == 0


@pytest.fixture(scope="module")
def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_it_answers_as_servers_do(url: str, folder: Path) -> None:
    def ask(**body: Any) -> Any:
        return httpx.post(f"{url}/v1/completions", json=body, timeout=60).json()

    assert [one["id"] for one in httpx.get(f"{url}/v1/models").json()["data"]] == ["tiny"]
    ids = httpx.post(f"{url}/tokenize", json={"prompt": TEXT[:30]}).json()["tokens"]
    expected = alone(folder / "plain", ids, 12)
    plain = ask(prompt=TEXT[:30], max_tokens=12, temperature=0, return_token_ids=True, logprobs=1)
    choice = plain["choices"][0]
    assert (choice["token_ids"], choice["prompt_token_ids"], choice["finish_reason"]) == (expected, ids, "length")
    assert len(choice["logprobs"]["token_logprobs"]) == 12
    assert ask(prompt=ids, max_tokens=12, temperature=0)["choices"][0]["text"] == choice["text"]
    assert plain["usage"] | {"prompt_tokens_details": {}} == {
        "prompt_tokens": len(ids), "completion_tokens": 12, "total_tokens": len(ids) + 12, "prompt_tokens_details": {},
    }  # fmt: skip
    stop = choice["text"][4:6]
    cut = ask(prompt=ids, max_tokens=12, temperature=0, stop=[stop])["choices"][0]
    assert (cut["text"], cut["finish_reason"]) == (choice["text"].partition(stop)[0], "stop")
    to_the_end = ask(prompt=ids, max_tokens=500, temperature=0)
    assert to_the_end["usage"]["total_tokens"] == 100
    assert to_the_end["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": [3] * 100}, "the prompt has 100 tokens, and the context 100"),
        ({"prompt": [99_999]}, "none of the"),
        ({"prompt": [-1]}, "none of the"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens: "),
        ({"prompt": "a", "temperature": "hot"}, "temperature: "),
        ({}, "prompt"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(url: str, body: dict[str, Any], said: str) -> None:
    reply = httpx.post(f"{url}/v1/completions", json=body, timeout=60)
    message = reply.json()["error"]["message"]
    assert reply.status_code == 400
    assert said in message
    assert "\n" not in message
    assert httpx.post(f"{url}/v1/completions", content=b"{", timeout=60).status_code == 400


def test_a_recipe_names_it_as_the_server_of_its_models(folder: Path) -> None:
    from simtrain.integrations.train.models import SavedModel
    from simtrain.integrations.train.recipe import ServerSpec
    from simtrain.integrations.train.servers import NAME, serving

    with serving(
        SavedModel(folder / "plain"), ServerSpec(use="transformers", slots=1, context=256, weights="bf16")
    ) as url:
        body = {"model": NAME, "prompt": TEXT[:30], "max_tokens": 3, "temperature": 0}
        assert httpx.post(f"{url}/completions", json=body, timeout=60).json()["usage"]["completion_tokens"] == 3
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models", timeout=5)


def test_weights_of_eight_bits_are_llama_cpps(tmp_path: Path) -> None:
    from pydantic import ValidationError

    from simtrain.integrations.train.recipe import ServerSpec

    assert ServerSpec(use="transformers", weights="bf16").slots == 8
    with pytest.raises(ValidationError, match="f16 or bf16"):
        ServerSpec(use="transformers", weights="q8_0")

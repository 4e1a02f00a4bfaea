"""A server that speaks the calls which TRL's async trainer makes to vLLM, with a small model behind it that really samples.

The paths and fields are those of trl 1.16, experimental/async_grpo: `vllm_client.py` and `_generate_one_turn` of
`async_rollout_worker.py`. Weights come in a file, since NCCL needs GPUs; the calls around them are the client's own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

MODEL_LENGTH = 1024


@dataclass(eq=False)
class SmallServer:
    """The model, and every path that was called, in order; only the first of repeated ones."""

    model: Any
    end: int
    called: list[str] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def app(self) -> Starlette:
        """The server's routes."""
        posts = ("pause", "resume", "init_weight_transfer_engine", "start_weight_update", "finish_weight_update")
        return Starlette(
            routes=[
                Route("/health", self._done),
                Route("/v1/models", self._models),
                Route("/server_info", self._info),
                Route("/get_world_size", self._size),
                *(Route(f"/{path}", self._done, methods=["POST"]) for path in posts),
                Route("/update_weights", self._update, methods=["POST"]),
                Route("/v1/completions", self._complete, methods=["POST"]),
            ]
        )

    def _note(self, request: Request) -> None:
        path = request.url.path
        if not self.called or self.called[-1] != path:
            self.called.append(path)

    async def _done(self, request: Request) -> JSONResponse:
        self._note(request)
        return JSONResponse({})

    async def _models(self, request: Request) -> JSONResponse:
        self._note(request)
        return JSONResponse({"data": [{"id": "tiny", "max_model_len": MODEL_LENGTH}]})

    async def _info(self, request: Request) -> JSONResponse:
        self._note(request)
        return JSONResponse({"vllm_config": {"model_config": {"dtype": "torch.float32"}}})

    async def _size(self, request: Request) -> JSONResponse:
        self._note(request)
        return JSONResponse({"world_size": 1})

    async def _update(self, request: Request) -> JSONResponse:
        self._note(request)
        told = (await request.json())["update_info"]
        sent = import_module("safetensors.torch").load_file(told["path"])
        shapes = [list(sent[name].shape) for name in told["names"]]
        if sorted(sent) != sorted(told["names"]) or shapes != told["shapes"]:
            return JSONResponse({"error": "other weights than were announced"}, 400)
        with self._lock:
            self.model.load_state_dict(sent, strict=False)
        return JSONResponse({})

    async def _complete(self, request: Request) -> JSONResponse:
        self._note(request)
        asked = await request.json()
        self.prompts.append(asked["prompt"])
        ids, logprobs = await asyncio.to_thread(self._sample, asked)
        reason = "stop" if ids[-1] == self.end else "length"
        choice = {"token_ids": ids, "logprobs": {"token_logprobs": logprobs}, "finish_reason": reason}
        return JSONResponse({"choices": [choice]})

    def _sample(self, asked: dict[str, Any]) -> tuple[list[int], list[float]]:
        """Sample token by token at the temperature that is asked for; the log probabilities are those of the sampled tokens."""
        torch: Any = import_module("torch")
        chance = torch.Generator().manual_seed(asked["seed"])
        read, past = torch.tensor([asked["prompt"]]), None
        ids: list[int] = []
        logprobs: list[float] = []
        with self._lock, torch.no_grad():
            while len(ids) < asked["max_tokens"] and (not ids or ids[-1] != self.end):
                given = self.model(input_ids=read, past_key_values=past, use_cache=True)
                likely = (given.logits[0, -1].float() / asked["temperature"]).log_softmax(-1)
                token = int(torch.multinomial(likely.exp(), 1, generator=chance))
                ids.append(token)
                logprobs.append(float(likely[token]))
                read, past = torch.tensor([[token]]), given.past_key_values
        return ids, logprobs


@contextmanager
def serving(model: Any, end: int) -> Iterator[SmallServer]:
    """The server, in a thread of this process, as long as the block runs."""
    small = SmallServer(model.eval(), end)
    server = uvicorn.Server(uvicorn.Config(small.app(), port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    small.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield small
    finally:
        server.should_exit = True
        thread.join()


class WeightsByFile:
    """TRL's weight transfer, with the client's own calls, and a file where NCCL would carry the tensors."""

    def __init__(self, client: Any, folder: Path) -> None:
        self._client = client
        self._path = folder / "weights.safetensors"

    def init_weight_transfer(self) -> None:
        self._client.wait_for_server_ready()
        assert self._client.get_dtype() == "torch.float32" and self._client.get_world_size() == 1
        self._client.init_weight_transfer_engine({"backend": "file"})

    def pause(self) -> None:
        self._client.pause()

    def send_weights(self, iterator: Iterator[tuple[str, Any]]) -> None:
        self._client.start_weight_update()
        sent = {name: tensor.detach().clone().contiguous() for name, tensor in iterator}
        import_module("safetensors.torch").save_file(sent, self._path)
        told = {
            "names": list(sent),
            "shapes": [list(tensor.shape) for tensor in sent.values()],
            "path": str(self._path),
        }
        self._client.update_weights(told)
        self._client.finish_weight_update()

    def resume(self) -> None:
        self._client.resume()

    def destroy(self) -> None:
        self._path.unlink(missing_ok=True)


class PlainAttention:
    """What the async trainer asks of its attention kernel, which needs a GPU, in plain torch: packed sequences, causal from the end."""

    def flash_attn_varlen_func(
        self, query: Any, key: Any, value: Any, ends_q: Any, ends_k: Any, *_: Any, softmax_scale: float, **__: Any
    ) -> Any:
        torch: Any = import_module("torch")
        groups = query.size(1) // key.size(1)
        found = []
        for at in range(len(ends_q) - 1):
            one = query[ends_q[at] : ends_q[at + 1]].transpose(0, 1)
            keys, values = (
                part[ends_k[at] : ends_k[at + 1]].repeat_interleave(groups, dim=1).transpose(0, 1)
                for part in (key, value)
            )
            seen = torch.ones(one.size(1), keys.size(1), dtype=torch.bool).tril(keys.size(1) - one.size(1))
            scores = (one @ keys.transpose(1, 2) * softmax_scale).masked_fill(~seen, float("-inf"))
            found.append((scores.softmax(-1) @ values).transpose(0, 1))
        return torch.cat(found)

"""A model in a folder of transformers behind `/v1/completions`: `python tiny_chat_server.py FOLDER PORT NAME`. Samples on a CPU."""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch
import transformers
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Sampler:
    """The model, one request at a time."""

    def __init__(self, folder: str) -> None:
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.lock = threading.Lock()

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        ids = self.tokenizer.encode(body["prompt"], add_special_tokens=False)
        hot = body.get("temperature", 1.0) > 0
        with self.lock, torch.no_grad():
            torch.manual_seed(body.get("seed", 0))
            whole = self.model.generate(
                torch.tensor([ids]),
                max_new_tokens=body["max_tokens"],
                do_sample=hot,
                **({"temperature": body["temperature"], "top_k": 0} if hot else {}),
            )[0].tolist()
        text = self.tokenizer.decode(whole[len(ids) :], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        ends = [place for stop in body.get("stop", ()) if (place := text.find(stop)) >= 0]
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(whole) - len(ids)}
        choice = {
            "index": 0,
            "text": text[: min(ends)] if ends else text,
            "finish_reason": "stop" if ends else "length",
        }
        return {"id": "tiny", "object": "text_completion", "choices": [choice], "usage": usage, "model": body["model"]}


def app(folder: str, name: str) -> Starlette:
    """The server's routes."""
    sampler = Sampler(folder)

    async def models(_: Request) -> JSONResponse:
        return JSONResponse({"data": [{"id": name, "max_model_len": 8192}]})

    async def complete(request: Request) -> JSONResponse:
        return JSONResponse(sampler.complete(await request.json()))

    return Starlette(routes=[Route("/v1/models", models), Route("/v1/completions", complete, methods=["POST"])])


if __name__ == "__main__":
    torch.set_num_threads(1)
    where, port, called = sys.argv[1:]
    uvicorn.run(app(where, called), host="127.0.0.1", port=int(port), log_level="error")

"""A model of transformers behind `/v1/completions`: `python -m simtrain.integrations.train.slot_server MODEL PORT NAME ...`.

It has what a trained model is played with, and no more: completions of text or token ids, with ids and log probabilities as vLLM gives
them, `/tokenize`, and the list of models.
"""

import asyncio
import os
import queue
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import uvicorn
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from simtrain.integrations.train.server_arguments import end_with_input, server_arguments
from simtrain.integrations.train.slot_engine import Generation, SlotEngine
from simtrain.values.errors import InputError


class CompletionRequest(BaseModel):
    """The fields of a request that are heard; others are passed over, as servers do."""

    model_config = ConfigDict(extra="ignore")

    prompt: str | list[int]
    max_tokens: int = Field(default=16, ge=1)
    temperature: float = Field(default=1.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int | None = None
    stop: str | list[str] | None = None
    logprobs: int | None = None
    return_token_ids: bool = False


class TokenizeRequest(BaseModel):
    """A text to be split into tokens, as vLLM takes it."""

    model_config = ConfigDict(extra="ignore")

    prompt: str


@dataclass(frozen=True)
class _Job:
    work: Generation
    done: Future[Generation]


class SlotServer:
    """The routes over one engine, which runs in a thread of its own."""

    def __init__(self, engine: SlotEngine, name: str) -> None:
        """Start the thread."""
        self._engine = engine
        self._name = name
        self._asked: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._running: dict[Generation, Future[Generation]] = {}
        threading.Thread(target=self._serve, name="engine", daemon=True).start()

    @property
    def app(self) -> Starlette:
        """Return the web application."""
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/completions", self._complete, methods=["POST"]),
                Route("/tokenize", self._tokenize, methods=["POST"]),
            ]
        )

    def _serve(self) -> None:
        while True:
            try:
                self._admit()
                for work in self._engine.step():
                    self._running.pop(work).set_result(work)
            except Exception as error:
                for done in self._running.values():
                    done.set_exception(error)
                # What the engine holds is not to be relied on any more.
                os._exit(1)

    def _admit(self) -> None:
        """Take requests while there is a free slot; wait for one where nothing is to be done."""
        jobs: list[_Job] = []
        while len(jobs) < self._engine.free:
            try:
                jobs.append(self._asked.get(block=not (jobs or self._engine.busy)))
            except queue.Empty:
                break
        if jobs:
            self._running |= {job.work: job.done for job in jobs}
            self._engine.begin([job.work for job in jobs])

    async def _models(self, _: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [{"id": self._name, "object": "model"}]})

    async def _tokenize(self, request: Request) -> JSONResponse:
        try:
            asked = TokenizeRequest.model_validate_json(await request.body())
        except ValidationError as error:
            return _refused(_first(error))
        return JSONResponse({"tokens": self._ids(asked.prompt)})

    def _ids(self, text: str) -> list[int]:
        return list(self._engine.tokenizer(text, add_special_tokens=False)["input_ids"])

    async def _complete(self, request: Request) -> JSONResponse:
        try:
            asked = CompletionRequest.model_validate_json(await request.body())
        except ValidationError as error:
            return _refused(_first(error))
        prompt = self._ids(asked.prompt) if isinstance(asked.prompt, str) else asked.prompt
        most = self._engine.context
        if not prompt:
            return _refused("the prompt is empty")
        if not all(0 <= token < self._engine.vocabulary for token in prompt):
            return _refused(f"the prompt has ids that are none of the {self._engine.vocabulary} tokens")
        if len(prompt) + 1 > most:
            return _refused(f"the prompt has {len(prompt)} tokens, and the context {most}")
        stop = [asked.stop] if isinstance(asked.stop, str) else asked.stop or []
        work = Generation(
            prompt, asked.max_tokens, asked.temperature, asked.top_p, asked.seed, [text for text in stop if text]
        )
        job = _Job(work, Future())
        self._asked.put(job)
        await asyncio.wrap_future(job.done)
        return JSONResponse(self._answer(asked, work))

    def _answer(self, asked: CompletionRequest, work: Generation) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "text": work.text, "finish_reason": work.finish}
        if asked.return_token_ids:
            choice |= {"token_ids": work.ids, "prompt_token_ids": list(work.prompt)}
        if asked.logprobs is not None:
            choice["logprobs"] = {"token_logprobs": work.logprobs}
        read, written = len(work.prompt), len(work.ids)
        return {
            "object": "text_completion",
            "model": self._name,
            "choices": [choice],
            "usage": {
                "prompt_tokens": read,
                "completion_tokens": written,
                "total_tokens": read + written,
                "prompt_tokens_details": {"cached_tokens": work.cached},
            },
        }


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc'])) or 'the request'}: {found['msg']}"


def _refused(message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status_code=400)


def main() -> None:
    """Serve until standard input ends."""
    parser = server_arguments("folder of a model of transformers")
    parser.add_argument("--dtype", required=True)
    options = parser.parse_args()
    threading.Thread(target=end_with_input, daemon=True).start()
    try:
        engine = SlotEngine.load(
            options.model, slots=options.slots, context=options.context, dtype=options.dtype, threads=options.threads
        )
    except InputError as error:
        sys.exit(str(error))
    server = SlotServer(engine, options.name)
    uvicorn.run(server.app, host="127.0.0.1", port=options.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()

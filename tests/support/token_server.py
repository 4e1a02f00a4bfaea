"""A server that samples tokens, with the wire of vLLM, SGLang or llama.cpp, and a tokenizer in which text has several spellings.

Its model writes what a script says, one token for each character, while its tokenizer writes `th`, `he` and `er` as one token: ids
made anew from text are not those that were sampled.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from aiohttp import web

from simtrain.llm.chat_template import ChatTemplate, Conversation

Dialect = Literal["vllm", "sglang", "llama.cpp", "plain"]
SPECIAL = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")
PAIRS = ("th", "he", "er")
END = "<|im_end|>"


def spell(text: str, *, pairs: bool = True) -> list[int]:
    """Token ids of a text: special tokens, then (as the tokenizer does, not the model) pairs, then characters."""
    ids, at = [], 0
    known = [*SPECIAL, *(PAIRS if pairs else ())]
    while at < len(text):
        piece = next((one for one in known if text.startswith(one, at)), text[at])
        ids.append(10_000 + (*SPECIAL, *PAIRS).index(piece) if piece in known else ord(piece))
        at += len(piece)
    return ids


def unspell(ids: Sequence[int]) -> str:
    """The text of token ids."""
    return "".join((*SPECIAL, *PAIRS)[one - 10_000] if one >= 10_000 else chr(one) for one in ids)


def logprob(place: int) -> float:
    """The logprob of the token at a place."""
    return -0.5 - place / 64


class TokenServer:
    """Answers in turn with the texts of a script; a reply that does not end its turn was cut off."""

    def __init__(self, script: Sequence[str], dialect: Dialect = "vllm") -> None:
        self.script, self.dialect = list(script), dialect
        self.template = ChatTemplate.load("hermes")
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.replies: list[bytes] = []
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._completions)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/apply-template", self._apply)
        return app

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        text = body["content" if self.dialect == "llama.cpp" else "prompt"]
        special = body["parse_special"] if self.dialect == "llama.cpp" else not body["add_special_tokens"]
        return web.json_response({"tokens": spell(text) if special else []})

    async def _apply(self, request: web.Request) -> web.Response:
        if self.dialect != "llama.cpp":
            return web.json_response({"error": "no such route"}, status=404)
        return web.json_response({"prompt": self.prompt(await request.json())})

    def prompt(self, body: dict[str, Any]) -> str:
        """The prompt of a chat: vLLM and SGLang hand arguments to the template as objects, llama.cpp as they were sent."""
        messages = json.loads(json.dumps(body["messages"]))
        for message in messages:
            message["content"] = message.get("content") or ""
            for call in message.get("tool_calls", ()) if self.dialect != "llama.cpp" else ():
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        return self.template.render(Conversation(tuple(messages), tuple(body.get("tools") or ())), generate=True)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append((request.path, body, dict(request.headers)))
        if self.dialect == "plain" and {"return_token_ids", "logprobs"} & set(body):
            return web.json_response({"error": {"message": "Unrecognized request argument supplied"}}, status=400)
        return await self._reply(request, body, spell(self.prompt(body)), chat=True)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append((request.path, body, dict(request.headers)))
        prompt = body["prompt"]
        return await self._reply(request, body, spell(prompt) if isinstance(prompt, str) else prompt, chat=False)

    async def _reply(
        self, request: web.Request, body: dict[str, Any], prompt: list[int], *, chat: bool
    ) -> web.StreamResponse:
        if body.get("stream") and self.dialect == "sglang" and self._asks(body) and chat:
            return web.json_response(
                {"error": {"message": "return_token_ids is not supported with stream"}}, status=400
            )
        one_token = body.get("max_tokens") == 1
        text = "a" if one_token else self.script.pop(0)
        ids = spell(text, pairs=False)
        finish = "stop" if text.endswith(END) else "length"
        shown = text.removesuffix(END)
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": len(prompt) + len(ids)}
        if body.get("stream"):
            return await self._stream(request, body, prompt, ids, shown, finish, chat=chat)
        said = {"message": {"role": "assistant", "content": shown}} if chat else {"text": shown}
        data = {
            "id": "c1",
            "object": "chat.completion" if chat else "text_completion",
            "model": "m",
            "choices": [{"index": 0, **said, "finish_reason": finish, **self._ids(body, prompt, ids, chat=chat)}],
            **({"prompt_token_ids": prompt} if self._asks(body) and self.dialect == "vllm" and chat else {}),
            "usage": usage,
        }
        content = json.dumps(data).encode()
        self.replies.append(content)
        return web.Response(body=content, content_type="application/json", headers={"X-Own": "kept"})

    def _asks(self, body: dict[str, Any]) -> bool:
        return bool(body.get("return_token_ids"))

    def _ids(self, body: dict[str, Any], prompt: list[int], ids: list[int], *, chat: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"logprobs": None}
        if body.get("logprobs") and (chat or self.dialect == "llama.cpp"):
            key = {"id": None} if self.dialect == "llama.cpp" else {}
            entries = [{"token": unspell([one]), "logprob": logprob(n)} for n, one in enumerate(ids)]
            found["logprobs"] = {"content": [e | dict.fromkeys(key, one) for e, one in zip(entries, ids, strict=True)]}
        elif body.get("logprobs"):
            found["logprobs"] = {"tokens": ["?"] * len(ids), "token_logprobs": [logprob(n) for n in range(len(ids))]}
        if self._asks(body) and self.dialect in ("vllm", "sglang"):
            found["token_ids"] = ids
            if self.dialect == "sglang" or not chat:
                found["prompt_token_ids"] = prompt
        return found

    async def _stream(
        self, request: web.Request, body: dict[str, Any], prompt: list[int], ids: list[int], shown: str, finish: str,
        *, chat: bool,
    ) -> web.StreamResponse:  # fmt: skip
        if self.dialect == "sglang" and self._asks(body) and chat:
            return web.json_response(
                {"error": {"message": "return_token_ids is not supported with stream"}}, status=400
            )
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        sent = b""
        for place, one in enumerate(ids):
            piece = unspell([one])
            delta = {"delta": {"content": piece if piece != END else ""}} if chat else {"text": piece}
            choice = {"index": 0, **delta, "finish_reason": finish if place == len(ids) - 1 else None}
            extra = self._ids(body, prompt, [one], chat=chat)
            extra.pop("prompt_token_ids", None)
            if extra["logprobs"] is None:
                extra.pop("logprobs")
            event = {"id": "c1", "object": "chat.completion.chunk", "choices": [choice | extra]}
            if place == 0 and self._asks(body) and self.dialect == "vllm":
                event["prompt_token_ids"] = prompt
            line = b"data: " + json.dumps(event).encode() + b"\n\n"
            sent += line
            await response.write(line)
        await response.write(b"data: [DONE]\n\n")
        self.replies.append(sent + b"data: [DONE]\n\n")
        await response.write_eof()
        return response


@contextmanager
def served(server: TokenServer) -> Iterator[TokenServer]:
    """The server at work, in a thread of its own."""
    ready, loop = threading.Event(), asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        runner = web.AppRunner(server.app(), access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        ready.set()
        return runner

    def run() -> None:
        runner = loop.run_until_complete(start())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

"""A server for `/v1/completions` that looks things up in mill_country: `python scripted_searcher.py FOLDER PORT NAME [REPLIES]`.

It searches for the first thing that is named, and answers from the first result where that states one of a few numbers and dates.
With REPLIES it answers 500 from then on.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

DAY = r"(\d+ [A-Z][a-z]+ \d{4})"
COLUMNS = {
    "Sails": r"(\d+) sails",
    "Pairs of stones": r"(\d+) pairs of stones",
    "Building date": rf"(?:built|[Ff]inished|Built) on {DAY}",
    "Licence date": rf"on {DAY}",
}


def reply(prompt: str) -> str:
    """Return what the model writes next."""
    question = prompt.split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
    if "<tool_response>" not in prompt:
        query = question.split(": ")[1].split(";")[0].split(".")[0].split("?")[0]
        return f"<tool_call>\n{json.dumps({'name': 'web_search', 'arguments': {'query': query}})}\n</tool_call>"
    first = prompt.split("1. [")[1].split("\n\n")[0]
    name, text = first.split("]")[0], first.split("\n")[-1]
    for column, pattern in COLUMNS.items():
        kind = re.search(rf"(Mill|Miller), {column}\b", question)
        value = re.search(pattern, text)
        if kind and value and name in question:
            found = value[1]
            if "date" in column:
                found = datetime.strptime(found, "%d %B %Y").date().isoformat()
            return f"ANSWER: ```markdown\n| {kind[1]} | {column} |\n| --- | --- |\n| {name} | {found} |\n```"
    return "CANNOT: it is not there."


def app(name: str, most: float) -> Starlette:
    """The server's routes."""
    given = 0

    async def models(_: Request) -> JSONResponse:
        return JSONResponse({"data": [{"id": name, "max_model_len": 8192}]})

    async def complete(request: Request) -> JSONResponse:
        nonlocal given
        given += 1
        if given > most:
            return JSONResponse({"error": {"message": "out of order"}}, status_code=500)
        body = await request.json()
        choice = {"index": 0, "text": reply(body["prompt"]), "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return JSONResponse(
            {"id": "one", "object": "text_completion", "choices": [choice], "usage": usage, "model": name}
        )

    return Starlette(routes=[Route("/v1/models", models), Route("/v1/completions", complete, methods=["POST"])])


if __name__ == "__main__":
    _, _, port, name, *replies = sys.argv
    uvicorn.run(app(name, int(replies[0]) if replies else float("inf")), port=int(port), log_level="warning")

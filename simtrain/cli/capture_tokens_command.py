"""`simtrain capture-tokens`: a relay in front of a chat server that records the token ids of whoever's agent."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import serve_until_stopped

if TYPE_CHECKING:
    from simtrain.mcp.relay.token_relay import TokenRelay

HELP = """Stand between an agent and its chat server, and record token ids.

Everything is passed on as it is, streams too. Where the agent did not ask for
token ids and logprobs, the server is asked for them, and they are taken out of
its reply. A request belongs to the episode that its header X-Simtrain-Episode
names, or its API key `episode:NAME`, or its field `user`. Neither messages nor
keys are written.

vLLM, SGLang and llama.cpp tell ids. `simtrain export --format tokens --with
capture=FILE` makes rows of them.

\b
Examples:
  simtrain capture-tokens --upstream http://127.0.0.1:8000/v1 \\
      --out tokens.jsonl --port 8700
  simtrain capture-tokens --upstream https://gpu.example.com/v1 \\
      --out tokens.jsonl --api-key-env GPU_KEY
"""


def command(
    upstream: Annotated[str, typer.Option("--upstream", help="Base URL of the chat server, usually ending in /v1.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to append to, JSON lines: one for each reply.")],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0 takes a free one.")
    ] = 0,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            "--api-key-env", help="Variable with the key that the server gets for a key that names an episode."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say the address and the final counts as JSON.")] = False,
) -> None:
    """Relay until the user ends it, and say how many replies were recorded."""
    import asyncio

    from simtrain.files.jsonl import LineWriter
    from simtrain.mcp.relay.token_relay import TokenRelay
    from simtrain.mcp_wire.targets import http_target
    from simtrain.values.errors import InputError

    target = http_target(upstream)
    key = os.environ.get(api_key_env) if api_key_env else None
    if api_key_env and not key:
        raise InputError(f"the environment variable {api_key_env} is not set", remedy="set it to the server's key")
    # Synced on each line: the ids of a sampled reply cannot be obtained again.
    writer = LineWriter(out, sync_every=1)
    try:
        relay = TokenRelay(target, writer=writer, key=key, port=port)
        asyncio.run(_serve(relay, as_json=as_json))
    finally:
        writer.close()
    _say({"requests": relay.tally.requests, "recorded": relay.tally.recorded, "file": str(out)}, as_json=as_json)


async def _serve(relay: TokenRelay, *, as_json: bool) -> None:
    async with relay:
        _say({"url": relay.url}, as_json=as_json)
        await serve_until_stopped(relay.failed)


def _say(facts: dict[str, object], *, as_json: bool) -> None:
    import json

    line = json.dumps(facts) if as_json else ", ".join(f"{name} {fact}" for name, fact in facts.items())
    # On standard error, flushed: a program that starts the relay waits for the address.
    print(line if as_json else f"capture-tokens: {line}", file=sys.stderr, flush=True)

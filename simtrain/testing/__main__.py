"""Run the fake server as a process: `python -m simtrain.testing --port 8099 --calls 10 --tool orders_search`.

Every episode makes that many tool calls, one per turn, and then answers. The base URL is printed when the server is ready.
"""

import argparse
import asyncio
import signal

from simtrain.testing.replies import Say, Tool, by_turn
from simtrain.testing.server import FakeOpenAI


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser("python -m simtrain.testing", description="A fake OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 chooses a free one")
    parser.add_argument("--model", default="fake", help="name of the one model that exists")
    parser.add_argument("--tool", default="ping", help="tool that the model calls, as the wire names it")
    parser.add_argument("--arguments", default="{}", help="arguments of every call, as JSON text")
    parser.add_argument("--calls", type=int, default=10, help="turns with a call before the answer")
    parser.add_argument("--answer", default="ANSWER: done", help="text of the last turn")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    replies = [Say(calls=[Tool(options.tool, options.arguments)])] * options.calls + [Say(options.answer)]
    # By turn, not in sequence: many episodes may talk to this server at once.
    script = by_turn(replies)
    server = FakeOpenAI(script, models=[options.model], latency=options.latency, record=False, port=options.port)
    asyncio.run(_serve(server))


async def _serve(server: FakeOpenAI) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with server:
        # Flushed, since whoever started this process waits for the line on a pipe.
        print(server.url, flush=True)
        await stop.wait()


if __name__ == "__main__":
    main()

"""Runs in a container as its first process: carries out command lines, and leads connections to a Unix socket. The standard library alone.

Requests and replies are lines of JSON on standard input and output.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio import StreamReader, StreamWriter

LINGERING = 0.3
"""Seconds that output may still come when a command has ended whose children hold its pipes."""


async def collect(stream: StreamReader, most: int, kept: bytearray) -> None:
    """Read a stream to its end and keep its first bytes."""
    while part := await stream.read(65_536):
        kept += part[: max(0, most - len(kept))]


async def carry_out(request: dict[str, object]) -> dict[str, object]:
    """Run one command line and return its reply."""
    out, err = bytearray(), bytearray()
    most = int(str(request["most"]))
    try:
        process = await asyncio.create_subprocess_exec(
            *list(map(str, request["argv"])),  # type: ignore[call-overload]
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=str(request["cwd"]),
            env=dict(request["env"]),  # type: ignore[call-overload]
            start_new_session=True,
        )
    except OSError as error:
        return {"code": 127, "stdout": "", "stderr": f"{request['cwd']}: {error.strerror}\n", "late": False}
    assert process.stdout is not None and process.stderr is not None
    reading = [
        asyncio.create_task(collect(process.stdout, most, out)),
        asyncio.create_task(collect(process.stderr, most, err)),
    ]
    late = False
    try:
        code = await asyncio.wait_for(process.wait(), float(str(request["timeout"])))
    except TimeoutError:
        late, code = True, 124
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    _, waiting = await asyncio.wait(reading, timeout=LINGERING)
    for task in waiting:
        task.cancel()
    texts = {"stdout": out.decode(errors="replace"), "stderr": err.decode(errors="replace")}
    return {"code": code if code >= 0 else 128 - code, **texts, "late": late}


async def pump(reader: StreamReader, writer: StreamWriter) -> None:
    """Pass on what one side says."""
    with contextlib.suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


async def lead(port: int, path: str) -> None:
    """Lead connections to a port of this network to a Unix socket."""

    async def connected(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            other_reader, other_writer = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer))

    await asyncio.start_server(connected, "127.0.0.1", port)


async def main() -> None:
    """Answer requests until standard input ends."""
    for part in sys.argv[1:]:
        port, _, path = part.partition("=")
        await lead(int(port), path)
    requests = StreamReader(limit=1 << 26)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin.buffer)
    running: set[asyncio.Task[None]] = set()

    async def answer(request: dict[str, object]) -> None:
        reply = await carry_out(request)
        sys.stdout.write(json.dumps({"id": request["id"], **reply}) + "\n")
        sys.stdout.flush()

    sys.stdout.write('{"id": 0}\n')
    sys.stdout.flush()
    while line := await requests.readline():
        task = asyncio.create_task(answer(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)


if __name__ == "__main__":
    asyncio.run(main())

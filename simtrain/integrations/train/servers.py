"""A trained model behind an OpenAI-compatible server of its own, for as long as it plays."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import httpx

from simtrain.integrations.train.gguf_files import write_gguf
from simtrain.integrations.train.models import GGUF, SavedModel
from simtrain.integrations.train.recipe import ServerSpec, Weights
from simtrain.values.errors import InputError
from simtrain.values.extras import require

NAME = "trained"
"""The name under which every model is served."""

PATIENCE = 900.0
"""Seconds until a server has loaded its model."""

_DTYPES = {"f16": "float16", "bf16": "bfloat16"}
_VLLM = "vllm serve {model} --served-model-name {name} --host 127.0.0.1 --port {port}"


@contextmanager
def serving(model: SavedModel, server: ServerSpec) -> Generator[str]:
    """Start the server of a model and give its base URL; it ends with the block.

    Raises InputError where the server is not installed, ends by itself, or does not answer in time.
    """
    port = _free_port()
    command = _command(model, server, port)
    url = f"http://127.0.0.1:{port}/v1"
    with TemporaryFile() as log:
        try:
            # A group of its own: servers have workers, which are to end with it.
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
        except OSError as error:
            raise InputError(f"{command[0]} cannot be started: {error.strerror}") from None
        try:
            _wait(process, url, log, command[0])
            yield url
        finally:
            _end(process)


def _command(model: SavedModel, server: ServerSpec, port: int) -> list[str]:
    if server.use == "llama.cpp":
        if not server.program:
            require("llamacpp", "xllamacpp")
        return [
            *(sys.executable, "-m", "simtrain.integrations.train.llama_server"),
            *(str(_gguf(model, server.weights)), str(port), NAME),
            *("--slots", str(server.slots), "--context", str(server.context), "--threads", str(server.threads)),
            *(["--program", server.program] if server.program else []),
        ]
    if server.use == "transformers":
        return [
            *(sys.executable, "-m", "simtrain.integrations.train.slot_server", str(model.folder), str(port), NAME),
            *("--slots", str(server.slots), "--context", str(server.context), "--threads", str(server.threads)),
            *("--dtype", _DTYPES[server.weights]),
        ]
    values = {"model": str(model.folder), "name": NAME, "port": str(port)}
    template = _VLLM if server.use == "vllm" else server.command
    try:
        return [word.format(**values) for word in shlex.split(template)]
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(f"`command` cannot be filled in: {error}", remedy="use {model}, {name} and {port}") from None


def _gguf(model: SavedModel, weights: Weights) -> Path:
    if model.gguf is None:
        raise InputError(
            "llama.cpp needs a model that began as a .gguf file",
            remedy="name one as `model`, or set server: {use: vllm}",
        )
    file = model.folder / (GGUF if weights == "f16" else f"model-{weights}.gguf")
    if not file.exists():
        write_gguf(model.folder, model.gguf, file, weights=weights)
    return file


def _wait(process: subprocess.Popen[bytes], url: str, log: IO[bytes], name: str) -> None:
    until = time.monotonic() + PATIENCE
    with httpx.Client(timeout=5) as client:
        while time.monotonic() < until:
            if process.poll() is not None:
                raise InputError(f"{name} ended with code {process.returncode}: {_last_line(log)}")
            # Until it listens, and while it loads its model, it refuses.
            with suppress(httpx.HTTPError):
                if client.get(f"{url}/models").is_success:
                    return
            time.sleep(0.2)
    raise InputError(f"{name} did not answer within {PATIENCE:g} s: {_last_line(log)}")


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=20)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()
    if process.stdin:
        process.stdin.close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]

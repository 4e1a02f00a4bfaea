"""llama.cpp's own HTTP server in a process of its own: `python -m simtrain.integrations.train.llama_server MODEL PORT NAME ...`."""

import argparse
import os
import subprocess
import sys
import threading
from importlib import import_module
from typing import Any


def main() -> None:
    """Serve until standard input ends, so that the server never outlives whoever started it, not even by kill -9."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("port", type=int)
    parser.add_argument("name", help="the name that clients know the model by")
    for name in ("--slots", "--context", "--threads"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--program", help="a llama-server to start in place of the installed llama.cpp")
    options = parser.parse_args()
    if options.program:
        sys.exit(_run_program(options))
    # Held by name: a server that nothing refers to is torn down.
    server = _start(options)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # A server that is being torn down first finishes what it generates, for nobody.
    os._exit(0)


def _run_program(options: argparse.Namespace) -> int:
    """Run a llama-server until it ends, or standard input does; return its exit status."""
    command = [options.program, "--model", options.model, "--alias", options.name, "--port", str(options.port)]
    command += ["--ctx-size", str(options.context * options.slots), "--parallel", str(options.slots)]
    command += ["--threads", str(options.threads), "--threads-batch", str(options.threads), "--no-webui"]
    # On a CPU flash attention takes most of a token's time: a core with eight slots gives 55 tokens a second without it, 22 with it.
    command += ["--flash-attn", "off", "--no-kv-unified"]
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    def end() -> None:
        sys.stdin.read()
        program.kill()

    threading.Thread(target=end, daemon=True).start()
    return program.wait()


def _start(options: argparse.Namespace) -> Any:
    llama: Any = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.port = options.port
    # The context is shared out among the slots.
    params.n_ctx, params.n_parallel = options.context * options.slots, options.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.verbosity = -1
    return llama.Server(params)


if __name__ == "__main__":
    main()

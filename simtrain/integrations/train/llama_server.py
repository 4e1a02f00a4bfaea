"""llama.cpp's own HTTP server in a process of its own: `python -m simtrain.integrations.train.llama_server MODEL PORT NAME ...`."""

import argparse
import subprocess
import sys
import threading
from importlib import import_module
from typing import Any

from simtrain.integrations.train.server_arguments import end_with_input, server_arguments


def main() -> None:
    """Serve until standard input ends."""
    parser = server_arguments("GGUF file")
    parser.add_argument("--program", help="a llama-server to start in place of the installed llama.cpp")
    options = parser.parse_args()
    if options.program:
        sys.exit(_run_program(options))
    # Held by name: a server that nothing refers to is torn down.
    server = _start(options)
    print(server.listening_address, flush=True)
    end_with_input()


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

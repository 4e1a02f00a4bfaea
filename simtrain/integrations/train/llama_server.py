"""llama.cpp's own HTTP server in a process of its own: `python -m simtrain.integrations.train.llama_server MODEL PORT NAME ...`."""

import argparse
import os
import sys
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
    options = parser.parse_args()
    llama: Any = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.port = options.port
    # The context is shared out among the slots.
    params.n_ctx, params.n_parallel = options.context * options.slots, options.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.verbosity = -1
    server = llama.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # A server that is being torn down first finishes what it generates, for nobody.
    os._exit(0)


if __name__ == "__main__":
    main()

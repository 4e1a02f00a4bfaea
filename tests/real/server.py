"""SmolLM2-135M on llama.cpp's own HTTP server, in a process of its own: prints its address, and ends when its input does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import xllamacpp

HERMES = Path(__file__).with_name("hermes.jinja")


def main() -> None:
    """Serve until standard input ends, so that the server never outlives whoever started it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument(
        "--own-template", action="store_true", help="the model's own chat template, which ignores tools"
    )
    options = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {"smollm2"}
    params.n_ctx, params.n_parallel = options.context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.seed, params.sampling.temp = 1, 0.0
    params.verbosity = -1
    if not options.own_template:
        params.chat_template = HERMES.read_text("utf-8")
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

"""What every server of a trained model is told, in a process of its own: `MODEL PORT NAME --slots N --context N --threads N`."""

import argparse
import os
import sys


def server_arguments(model: str) -> argparse.ArgumentParser:
    """Return the arguments that all servers take; `model` says what the first of them is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", help=model)
    parser.add_argument("port", type=int)
    parser.add_argument("name", help="the name that clients know the model by")
    for name in ("--slots", "--context", "--threads"):
        parser.add_argument(name, type=int, required=True)
    return parser


def end_with_input() -> None:
    """Wait until standard input ends, and end this process.

    Whoever started it holds the other end, so it never outlives them, not even by kill -9. It ends at once: a server that is torn
    down first finishes what it generates, for nobody.
    """
    sys.stdin.read()
    os._exit(0)

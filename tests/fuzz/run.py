"""Try hostile inputs: `python -m tests.fuzz.run`. Exit code 1 where one ends in a traceback, a hang, or more than 1 GiB.

An input is made from a seed and its number alone: `--only 17` tries number 17 again.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic

INPUTS = 1500
MODULE = ["-m", "tests.fuzz.child"]
PATIENCE = 30.0
"""Seconds that one input may take; a statement has two, and an input holds a few."""


class Child:
    """A process that tries inputs, started anew after each that ended it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._seed = seed
        self._folder = folder
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def try_one(self, number: int) -> str | None:
        """What is wrong with one input; None where nothing is."""
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{number}\n".encode())
        process.stdin.flush()
        # The first answer of a process waits for its imports.
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        line = process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)["wrong"]
        self.end()
        return f"it took more than {PATIENCE:g} s" if not ready else f"the process died with {process.returncode}"

    def _start(self) -> subprocess.Popen[bytes]:
        self._starts += 1
        folder = self._folder / str(self._starts)
        folder.mkdir()
        # Every arena of the allocator takes addresses, of which there is only a gigabyte.
        environment = {
            **os.environ,
            "MALLOC_ARENA_MAX": "1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONHASHSEED": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, *MODULE, str(self._seed)],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self._process

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def main() -> None:
    """Try them and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="this number alone")
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so long, and say how far it came")
    options = parser.parse_args()
    numbers = range(options.inputs) if options.only is None else [options.only]
    begun, wrong = monotonic(), Counter[str]()
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        child = Child(options.seed, Path(folder))
        for number in numbers:
            if monotonic() - begun > options.seconds:
                break
            problem = child.try_one(number)
            done += 1
            if problem is not None:
                wrong[problem.strip().splitlines()[-1][:200]] += 1
                print(f"--- input {number}\n{problem}", flush=True)
        child.end()
    print(f"{done} of {len(numbers)} inputs in {monotonic() - begun:.0f} s, {sum(wrong.values())} wrong")
    sys.exit(1 if wrong or not done else 0)


if __name__ == "__main__":
    main()

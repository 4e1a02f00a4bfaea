"""Tries inputs by their numbers, one after the other, within 1 GiB: `python -m tests.fuzz.child SEED`, numbers on standard input."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import traceback
from pathlib import Path
from random import Random

MOST_MEMORY = 1 << 30


def main() -> None:
    """Answer every number with a line: its door, and what was wrong."""
    seed = sys.argv[1]
    # The commands print; what is said to the parent goes another way.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    from tests.fuzz.doors import door_of

    base = Path.cwd()
    for line in sys.stdin:
        number = int(line)
        door = door_of(number)
        folder = base / "input"
        folder.mkdir()
        wrong = None
        try:
            door(Random(f"{seed}/{number}"), folder)
        except BaseException:
            wrong = traceback.format_exc()
        shutil.rmtree(folder, ignore_errors=True)
        answers.write(json.dumps({"number": number, "door": door.__name__, "wrong": wrong}) + "\n")


if __name__ == "__main__":
    main()

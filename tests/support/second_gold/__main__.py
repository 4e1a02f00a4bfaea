"""Compare gold tables with the second builder's: `python -m second_gold FILE.sqlite FOLDER`, with what `simtrain world questions` wrote."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from .comparing import SecondGold


def main(world: Path, folder: Path) -> int:
    """Print each difference and how many there are."""
    second, count, differences, idle = SecondGold(world), 0, 0, 0
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        file = folder / "gold" / f"{question['id']}.csv"
        gold = None
        if question["answer"] != "unanswerable":
            with file.open(encoding="utf-8-sig", newline="") as stream:
                gold = list(csv.DictReader(stream))
        count += 1
        why = second.difference(question["query"], question["language"], gold)
        if why is not None:
            differences += 1
            print(f"{question['id']}: {why}")
        elif gold is not None:
            found = second.idle(question["query"], question["language"])
            idle += bool(found)
            if found and "--idle" in sys.argv:
                print(f"{question['id']}: changes nothing: {found}")
    print(f"{count} questions, {differences} differences, {idle} with a condition that changes nothing")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))

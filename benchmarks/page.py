"""Refuse a page of figures that were not measured: every figure of the table in docs/benchmarks.md has to be one of the recorded ones.

`make bench` records what each benchmark prints (`--record`), with a digest of the code, and asks this last. Figures are compared in the
precision in which the page states them. Exit code 1 where one was not measured, or was measured with other code.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
RECORD = ROOT / "benchmarks" / "figures.json"
TABLE = "## Figures"

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def code_digest() -> str:
    """A digest of the code that is measured."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted((ROOT / "simtrain").rglob("*.py")):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def record(file: Path, title: str, figures: list[dict[str, Any]]) -> None:
    """Add the figures of one benchmark to a file; those of other code are dropped."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if found.get("code") != code_digest():
        found = {"code": code_digest(), "benchmarks": {}}
    found["benchmarks"][title] = figures
    file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def problems(page: str, recorded: dict[str, Any] | None, code: str) -> list[str]:
    """What keeps the page from being believed, a line each."""
    if recorded is None:
        return ["no figures are recorded: run `make bench`"]
    if recorded["code"] != code:
        return ["the recorded figures are those of other code: run `make bench`"]
    values = [float(figure["value"]) for figures in recorded["benchmarks"].values() for figure in figures]
    found: list[str] = []
    for name, measured in _rows(page):
        for number in _NUMBER.findall(measured):
            if not any(_is(number, value) for value in values):
                found.append(f"{name}: {number} was not measured")
    return found


def _rows(page: str) -> list[tuple[str, str]]:
    """What is measured, and the figure, of each row of the first table below the heading."""
    lines = page.partition(TABLE)[2].partition("\n#")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [(row[0], row[1]) for row in cells[2:]]


def _is(number: str, value: float) -> bool:
    """Whether a value, in the precision of a written number, is that number."""
    plain = number.replace(",", "")
    places = len(plain.partition(".")[2])
    if not places:
        places = len(plain.rstrip("0")) - len(plain)
    return round(value, places) == float(plain)


def main() -> int:
    """Check the page; the exit code."""
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else None
    found = problems(PAGE.read_text(), recorded, code_digest())
    for line in found:
        print(f"docs/benchmarks.md: {line}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

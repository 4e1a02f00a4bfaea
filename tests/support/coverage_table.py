"""Print which share of the lines of each folder of the package was run: `python tests/support/coverage_table.py .coverage.json`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Any


def table(report: dict[str, Any]) -> list[str]:
    """A row for each folder under simtrain/, for the files beside them, and for all; the least covered first.

    `report` is what `coverage json` writes.
    """
    lines: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in report["files"].items():
        inner = PurePosixPath(Path(name).as_posix()).parts[1:]
        for folder in (f"{inner[0]}/" if len(inner) > 1 else "(root)", "all"):
            lines[folder][0] += file["summary"]["num_statements"]
            lines[folder][1] += file["summary"]["covered_lines"]
    rows = sorted(lines.items(), key=lambda item: (item[0] == "all", item[1][1] / max(item[1][0], 1)))
    width = max(map(len, lines))
    head = f"{'folder':<{width}}  {'lines':>6}  {'run':>6}"
    return [head, *(f"{name:<{width}}  {count:>6,}  {run / max(count, 1):>6.1%}" for name, (count, run) in rows)]


if __name__ == "__main__":
    print("\n".join(table(json.loads(Path(sys.argv[1]).read_text()))))

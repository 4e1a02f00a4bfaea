"""Building a search world beside phantom-wiki, another generator of invented worlds, in the same run.

phantom-wiki (https://github.com/kilian-group/phantom-wiki) makes family trees in Prolog, an article for each person, and questions. It
needs Python 3.12 and SWI-Prolog, and is no dependency of simtrain: `--python` names an interpreter that has it. Both run as commands of
their own, start included. phantom-wiki runs three times at each size: without questions; as it comes (80 questions of depth 6); and with
the questions of depth 20 of which its published data sets are made, for which `--limit` seconds are given.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from commands import Cost, cost
from report import Figure, options, show

WORLD = "kestrel_reach"
TREE = 50
"""People in a family tree, as in the published data sets."""

UNLIMITED = 3600.0
TIMES = 20.0
"""How many times the articles a second of a whole run simtrain is to build."""


@dataclass(frozen=True)
class Run:
    """A way to run phantom-wiki, its options for it, what the ratio to it is to be, and whether it may be cut off."""

    name: str
    options: tuple[str, ...] = ()
    target: float | None = TIMES
    limited: bool = False


RUNS = (
    Run("articles alone", ("--num-questions-per-type", "0"), target=None),
    Run("whole run, 80 questions of depth 6"),
    Run(
        "whole run, 500 questions of depth 20",
        ("--question-depth", "20", "--max-family-tree-depth", "20"),
        limited=True,
    ),
)


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--python", type=Path, help="an interpreter that has phantom-wiki")
    parser.add_argument(
        "--pages", type=int, nargs="+", default=[500, 5_000], help="how many articles and pages to make"
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a run of phantom-wiki may take")
    given = parser.parse_args()
    if given.python is None:
        print("\nphantom-wiki: not measured; --python names an interpreter that has it")
        return
    _look(given.python)
    with tempfile.TemporaryDirectory() as folder:
        for pages in given.pages:
            figures = _figures(given.python, pages, Path(folder), given.limit)
            show(f"search worlds beside phantom-wiki, {pages:,} pages", figures, as_json=given.json)


def _look(python: Path) -> None:
    """Raises SystemExit where something is missing."""
    if shutil.which("swipl") is None:
        raise SystemExit("phantom-wiki needs SWI-Prolog: there is no swipl (Debian: apt-get install swi-prolog-nox)")
    if not python.is_file():
        raise SystemExit(f"there is no interpreter {python}")
    if subprocess.run([python, "-c", "import phantom_wiki"], capture_output=True).returncode:
        raise SystemExit(f"{python} has no phantom-wiki that can be imported: {python} -m pip install phantom-wiki")


def _figures(python: Path, pages: int, folder: Path, limit: float) -> list[Figure]:
    ours = cost(
        [sys.executable, "-m", "simtrain", "world", "build", WORLD, "--pages", str(pages), "--force", "--out", folder / "world"]
    )  # fmt: skip
    rate = pages / ours.cpu
    figures = [Figure(f"simtrain world build {WORLD}, CPU", rate, "pages/s"), _by_the_clock(pages, ours)]
    for number, run in enumerate(RUNS):
        made = folder / f"{pages}-{number}"
        spent = cost(
            [python, "-m", "phantom_wiki", "--output-dir", made, "--num-family-trees", str(max(1, pages // TREE)),
             "--max-family-tree-size", str(min(TREE, pages)), "--article-format", "json", "--question-format", "json",
             "--seed", "1", "--quiet", *run.options],
            limit=limit if run.limited else UNLIMITED,
        )  # fmt: skip
        written = made / "articles.json"
        articles = json.loads(written.read_text("utf-8")) if written.exists() else []
        count = len(articles) or pages
        theirs = count / spent.cpu
        most, least = ("", "") if spent.ended else (f"; cut off after {limit:g} s, so at most", ", at least")
        decided = spent.ended or rate / theirs >= TIMES
        figures += [
            Figure(f"phantom-wiki, {run.name}, CPU{most}", theirs, "articles/s"),
            _by_the_clock(count, spent),
            Figure(
                f"  simtrain against that{least}", rate / theirs, "times", run.target if decided else None, more=True
            ),
        ]
        if number == 0:
            words = sum(len(article["article"].split()) for article in articles) / len(articles)
            facts = sum(len(article["facts"]) for article in articles) / len(articles)
            figures += [Figure("  words of an article", words, ""), Figure("  facts of an article", facts, "")]
    return figures


def _by_the_clock(count: int, spent: Cost) -> Figure:
    return Figure("  by the clock", count / spent.wall, "/s")


if __name__ == "__main__":
    main()

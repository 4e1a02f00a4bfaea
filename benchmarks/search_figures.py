"""All figures of search worlds in one run: building, size, searching, episodes, questions, and the same world in every build.

A world of `--pages` pages is built by the command and then searched; the other benchmarks run as they are, each as a process of its own.
`--pages 1000000` takes about five minutes more. With `--phantom-wiki PYTHON` that generator is measured as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from commands import cost
from report import Figure, options, show

from simtrain.worlds.search.file import open_file

HERE = Path(__file__).parent
WORLD = "kestrel_reach"
SIMTRAIN = (sys.executable, "-m", "simtrain")

LARGE = 1_000_000
SECONDS = 150.0
CORES = 2
GIBIBYTES = 1.5
BYTES = 3_500.0
"""What a file of a million pages may take to build, and a page on disk."""

BUILDS = 2


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.set_defaults(rounds=3)
    parser.add_argument("--pages", type=int, default=100_000, help="pages of the world that is built and searched")
    parser.add_argument("--built", type=int, default=60_000, help="pages that are built beside the bare loop")
    parser.add_argument("--compared", type=int, default=5_000, help="pages of the worlds whose digests are compared")
    parser.add_argument("--questions", type=int, default=1_000, help="questions to make over 10,000 pages")
    parser.add_argument("--phantom-wiki", type=Path, metavar="PYTHON", help="an interpreter that has phantom-wiki")
    given = parser.parse_args()
    figures = [*alone(given), *whole(given), *alike(given.compared)]
    if given.phantom_wiki:
        figures += measured("bench_phantom_wiki.py", "--python", given.phantom_wiki)
    show("search worlds", figures, as_json=given.json)
    raise SystemExit(any(figure.met is False for figure in figures))


def alone(given: argparse.Namespace) -> list[Figure]:
    """What building costs beside the bare loop, and making questions."""
    return [
        *measured("bench_search_build.py", "--pages", given.built, "--rounds", given.rounds),
        *measured("bench_questions.py", "--count", given.questions),
    ]


def whole(given: argparse.Namespace) -> list[Figure]:
    """One world file, built by the command and searched."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.world"
        spent = cost([*SIMTRAIN, "world", "build", WORLD, "--pages", str(given.pages), "--out", file])
        connection = open_file(file)
        pages: int = connection.execute("select count(*) from _pages").fetchone()[0]
        connection.close()
        size = f"{pages:,} pages in one file"
        seconds = SECONDS if pages >= LARGE else None
        return [
            Figure(f"{size}: built, by the clock", spent.wall, "s", seconds),
            Figure("  CPU", spent.cpu, "s", seconds and CORES * seconds),
            Figure("  memory", spent.memory / 2**30, "GiB", GIBIBYTES),
            Figure("  bytes a page", file.stat().st_size / pages, "bytes", BYTES),
            *measured("bench_search.py", "--file", file, "--rounds", given.rounds),
        ]


def alike(pages: int) -> list[Figure]:
    """Whether two builds in processes of their own, with other hash seeds, hold the same and rank the same."""
    found: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(BUILDS):
            file = Path(folder) / f"{number}.world"
            told = {**os.environ, "PYTHONHASHSEED": str(number)}
            for command in (
                [*SIMTRAIN, "world", "build", WORLD, "--pages", str(pages), "--out", file],
                [*SIMTRAIN, "world", "digest", file],
            ):
                ran = subprocess.run(command, env=told, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
            found.add(ran.stdout.decode().strip())
    return [
        Figure(f"different digests of {BUILDS} builds, 1,000 rankings each, in as many processes", len(found), "", 1)
    ]


def measured(name: str, *given: object) -> list[Figure]:
    """The figures of a benchmark, which runs as a process of its own."""
    print(f"{name} ...", file=sys.stderr)
    command = [sys.executable, HERE / name, "--json", *map(str, given)]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    rows = [row for line in lines for row in json.loads(line)["figures"]]
    return [Figure(**{key: value for key, value in row.items() if key != "met"}) for row in rows]


if __name__ == "__main__":
    main()

"""Draws mutants by a seed and counts how many the tests kill: `make mutants`.

Every mutant is written into a copy of the tree and its targeted tests are run there once, in a process of its own that is forked from one
which has read the libraries. What fails, breaks down or runs out of time is killed; what passes survives, equivalent or not. Results
are a line each in the report; a mutant that is in it already is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from mutation.mutants import Mutant, mutants_of, mutated  # noqa: E402
from mutation.targets import TARGETS  # noqa: E402

SEED = 11
COUNT = 150
SECONDS = 45
"""Processor time that the tests of one mutant may take; waiting for a processor does not count, so that a busy machine kills nothing."""
IDLE = 30
"""Seconds that they may do nothing but wait for something else."""
LEAST = 0.85
COPIED = (
    "simtrain",
    "tests",
    "scenarios",
    "worlds",
    "perturbations",
    "examples",
    "docs",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
)
LIBRARIES = (
    "pytest", "hypothesis", "pydantic", "orjson", "yaml", "jinja2", "jsonschema", "jsonschema_rs", "pandas", "dateparser", "httpx",
    "openai", "langgraph.graph", "mcp", "starlette", "uvicorn", "rich", "typer", "tenacity", "aiohttp", "asyncio",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: `killed`, `timeout` or `survived`."""

    name: str
    signature: str
    end: str
    seconds: float
    kind: str
    before: str
    after: str


def drawn(seed: int, count: int) -> list[tuple[str, Mutant]]:
    """So many of all mutants, each with its signature. A change of one file moves the draw among the mutants of others by few places."""
    found: list[tuple[str, Mutant]] = []
    for file in TARGETS:
        often: Counter[str] = Counter()
        for mutant in mutants_of(file, (ROOT / file).read_text()):
            what = f"{file}|{mutant.kind}|{mutant.before}|{mutant.after}"
            often[what] += 1
            found.append((blake2b(f"{seed}|{what}|{often[what]}".encode(), digest_size=8).hexdigest(), mutant))
    return sorted(found, key=lambda item: item[0])[:count]


def tests_of(file: str) -> list[str]:
    """The targeted tests that there are."""
    return [test for test in TARGETS[file] if (ROOT / test.partition("::")[0]).exists()]


def run_tests(tree: Path, tests: Sequence[str]) -> tuple[int | None, float]:
    """The exit status of the tests in a copy of the tree (None where they ran out of time), and their processor time."""
    child = os.fork()
    if child == 0:
        try:
            _become(tree, tests)
        finally:
            # Nothing of the parent may go on here.
            traceback.print_exc()
            os._exit(98)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        status = _awaited(child)
    finally:
        # Whatever ends the tests, or this process, ends the processes that they have left behind.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        return None, spent
    return os.waitstatus_to_exitcode(status), spent


def _awaited(child: int) -> int | None:
    """The status with which a process ends; None for one that had to be ended since it did nothing."""
    idle_since, spent_then = time.monotonic(), 0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        running, spent_now = _at_work(child)
        if running or spent_now > spent_then:
            idle_since, spent_then = time.monotonic(), spent_now
        elif time.monotonic() > idle_since + IDLE:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.05)


def _at_work(process: int) -> tuple[bool, int]:
    """Whether a process runs or waits for a processor, and its processor time so far, in ticks."""
    state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return state == "R", int(fields[10]) + int(fields[11])


def _become(tree: Path, tests: Sequence[str]) -> None:
    """Run the tests in this process, which ends with them."""
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    os.chdir(tree)
    with (tree / "output.txt").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.path[:0] = [str(tree), str(tree / "tests" / "support")]
    sys.path[:] = [place for place in sys.path if Path(place).resolve() not in (ROOT, ROOT / "tests" / "support")]
    os.environ.update(PYTHONPATH=str(tree), PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
    sys.dont_write_bytecode = True
    import pytest

    code = pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=line", "--assert=plain", *tests]
    )
    import simtrain

    inside = Path(simtrain.__file__).is_relative_to(tree)
    os._exit(int(code) if inside else 99)


def copied(folder: Path) -> Path:
    """A copy of what tests need of the tree."""
    tree = folder / "tree"
    tree.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    return tree


def baseline(tree: Path, files: Sequence[str]) -> None:
    """End the process where the tests of a file fail without any mutant, or take too long: they would tell nothing."""
    for tests in sorted({tuple(tests_of(file)) for file in files}):
        code, seconds = run_tests(tree, tests)
        print(f"without mutants: {' '.join(tests)}: {seconds:.1f} s", flush=True)
        if code != 0:
            sys.exit(f"these tests fail without any mutant ({code}):\n{(tree / 'output.txt').read_text()[-3000:]}")


def play(tree: Path, signature: str, mutant: Mutant) -> Outcome:
    """Run the tests of one mutant, and put the file back."""
    file = tree / mutant.file
    source = file.read_text()
    file.write_text(mutated(mutant, source))
    try:
        code, seconds = run_tests(tree, tests_of(mutant.file))
    finally:
        file.write_text(source)
    if code in (98, 99):
        sys.exit(f"the tests did not run in the copy of the tree:\n{(tree / 'output.txt').read_text()[-3000:]}")
    end = "timeout" if code is None else "killed" if code else "survived"
    return Outcome(mutant.name, signature, end, round(seconds, 1), mutant.kind, mutant.before, mutant.after)


def main() -> None:
    """Draw, run what is not in the report yet, and print the share that was killed; exit code 1 where it is too small."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--only", default="", help="only files in whose path this pattern is found")
    parser.add_argument("--again", action="store_true", help="run once more what survived")
    parser.add_argument("--shard", default="1/1", help="such as 1/2: the first half")
    parser.add_argument("--report", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--list", action="store_true", help="print the sample and run nothing")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    sample = [item for item in drawn(asked.seed, asked.count) if re.search(asked.only, item[1].file)]
    if asked.list:
        for _, mutant in sample:
            print(_words(mutant))
        return
    known = _read(asked.report)
    left = [item for item in sample if item[0] not in known or (asked.again and known[item[0]]["end"] == "survived")]
    shard, shards = map(int, asked.shard.split("/"))
    left = left[shard - 1 :: shards]
    for name in LIBRARIES:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = copied(Path(folder))
        if left and shard == 1:
            baseline(tree, [mutant.file for _, mutant in left])
        for place, (signature, mutant) in enumerate(left, 1):
            outcome = play(tree, signature, mutant)
            with asked.report.open("a") as report:
                report.write(json.dumps(asdict(outcome)) + "\n")
            print(f"{place}/{len(left)} {outcome.end} {outcome.seconds} s {_words(mutant)}", flush=True)
    _tell(sample, _read(asked.report))


def _words(mutant: Mutant) -> str:
    return f"{mutant.name} {mutant.kind}: {mutant.before}  ->  {mutant.after}"


def _read(report: Path) -> dict[str, dict[str, str]]:
    """The last that is known of each mutant, by signature."""
    lines = report.read_text().splitlines() if report.exists() else []
    return {row["signature"]: row for row in map(json.loads, lines)}


def _tell(sample: Sequence[tuple[str, Mutant]], known: dict[str, dict[str, str]]) -> None:
    run = [(known[signature], mutant) for signature, mutant in sample if signature in known]
    by_file: dict[str, Counter[str]] = {}
    for row, mutant in run:
        by_file.setdefault(mutant.file, Counter())[row["end"]] += 1
    for file, counts in sorted(by_file.items()):
        print(
            f"{file}: {sum(counts.values())} mutants, {counts['survived']} survived, {counts['timeout']} ran out of time"
        )
    for row, mutant in run:
        if row["end"] == "survived":
            print(f"survived: {_words(mutant)}")
    killed = sum(row["end"] != "survived" for row, _ in run)
    print(f"{killed} of {len(run)} killed ({killed / max(1, len(run)):.1%})")
    if run and killed < LEAST * len(run):
        sys.exit(1)


if __name__ == "__main__":
    main()

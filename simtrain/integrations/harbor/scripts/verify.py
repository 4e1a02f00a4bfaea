"""Lays out copies of the agent's repository to run tests in, and turns what came of them into the reward. The standard library alone.

`verify.py prepare WORK` makes a folder in WORK for each run, with its `tree` and either `files`, the names of test files, one a line, or
`program.py`. `verify.py judge WORK` reads the `outcomes` of tests and what programs `printed`, and writes the reward. It reads from
standard input the seal, a word that each line of `outcomes` bears.
"""

import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simtrain.grading import trees
    from simtrain.integrations.harbor.scripts import state
    from simtrain.values import normal_text
else:
    # The copies beside this file.
    import normal_text
    import state
    import trees

HERE = Path(__file__).parent
LOGS = Path("/logs/verifier")
Files = dict[str, bytes]


@dataclass
class TreeRun:
    """One run: a tree, and the test files to run in it (none: all), or a program."""

    tree: Files
    files: list[str] = field(default_factory=list[str])
    program: bytes | None = None


@dataclass
class TestedTree:
    """What came of a run of tests. `whole` if it ran to its end and every file could be collected."""

    tests: dict[str, str]
    whole: bool


def main() -> None:
    """Prepare the runs, or judge them."""
    what, work = sys.argv[1], Path(sys.argv[2])
    case: dict[str, Any] = json.loads((HERE / "case.json").read_text())
    before, after = files_of(HERE / "repository"), files_of(Path(case["directory"]))
    seal = sys.stdin.readline().strip() if what == "judge" else ""
    parts = [
        PARTS[part["use"]]({**part, "seal": seal}, HERE / str(number), before, after)
        for number, part in enumerate(case["graders"])
    ]
    if what == "prepare":
        for number, part in enumerate(parts):
            for name, run in part.runs():
                lay_out(run, work / f"{number}-{name}")
        return
    values: list[float] = []
    for number, part in enumerate(parts):
        value, reason = part.value(work, f"{number}-")
        values.append(value)
        print(f"{part.facts['use']}: {value:g} {reason}".rstrip())
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "reward.txt").write_text(f"{total(case, values):g}\n")


def total(case: Mapping[str, Any], values: list[float]) -> float:
    """Return the reward as the scenario's rubric combines it: gates multiply the mean, or the minimum, of the others."""
    pairs = [(part, value) for part, value in zip(case["graders"], values, strict=True)]
    gates = prod(value for part, value in pairs if part["gate"])
    others = [(value, float(part["weight"])) for part, value in pairs if not part["gate"] and part["weight"] > 0]
    if not others:
        return gates
    if case["combine"] == "minimum":
        return gates * min(value for value, _ in others)
    return gates * min(1.0, sum(value * weight for value, weight in others) / sum(weight for _, weight in others))


def files_of(top: Path) -> Files:
    """Return the regular files below a folder, by their paths in it, without caches and what belongs to git."""
    found: Files = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = Path(folder, name)
            inner = path.relative_to(top).as_posix()
            if path.is_file() and not path.is_symlink() and not trees.is_cached(inner):
                found[inner] = path.read_bytes()
    return dict(sorted(found.items()))


def lay_out(run: TreeRun, place: Path) -> None:
    """Write what a run needs."""
    (place / "tree").mkdir(parents=True)
    for path, content in run.tree.items():
        goal = place / "tree" / path
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_bytes(content)
    if run.program is None:
        (place / "files").write_text("".join(f"{name}\n" for name in run.files))
    else:
        (place / "program.py").write_bytes(run.program)


def tested(run: Path, seal: str) -> TestedTree:
    """Read the lines of a run of tests that bear its seal; others are by a program that nobody trusts, and are passed over.

    Ends the program, without a reward, where pytest did not start: that says nothing about the agent.
    """
    if not (run / "outcomes").is_file():
        sys.exit("the tests did not start")
    tests: dict[str, str] = {}
    code, broken = -1, False
    for line in (run / "outcomes").read_bytes().splitlines():
        try:
            told = json.loads(line)
            if told["seal"] != seal:
                continue
            if "test" in told:
                tests.setdefault(str(told["test"]), str(told["outcome"]))
            broken = broken or "broken" in told
            code = int(told.get("code", code))
        except (ValueError, TypeError, AttributeError, KeyError):
            continue
    return TestedTree(tests, whole=code in (0, 1) and not broken)


class Part(ABC):
    """One question about the files; `facts` are those of the export, `place` has what it needs beside them."""

    def __init__(self, facts: dict[str, Any], place: Path, before: Files, after: Files) -> None:
        self.facts, self.place, self.before, self.after = facts, place, before, after

    @abstractmethod
    def runs(self) -> Iterator[tuple[str, TreeRun]]:
        """Yield what has to be run, by name."""

    @abstractmethod
    def value(self, work: Path, mark: str) -> tuple[float, str]:
        """Return the value, and a reason. The folder of a run is `work` / (`mark` + its name)."""


class TestsPart(Part):
    """The tests that were there, as they were, and the hidden ones: all must have run and passed."""

    def runs(self) -> Iterator[tuple[str, TreeRun]]:
        only, hidden = self.facts["only"], files_of(self.place / "hidden")
        tree = {**self.kept(), **hidden}
        named = sorted(path for path in tree if trees.is_test_file(path) and trees.fits(path, only)) if only else []
        yield "tests", TreeRun(tree, named)

    def value(self, work: Path, mark: str) -> tuple[float, str]:
        changed = trees.differing(self.after, self.before, self.facts["unchanged"])
        if changed:
            return 0.0, f"{changed[0]} was changed, and may not be"
        reaching = trees.reaches_for_pytest(trees.written_python(self.kept(), self.before), self.before)
        if reaching is not None:
            return 0.0, f"{reaching} reaches for pytest"
        found = trees.tests_due({**self.before, **files_of(self.place / "hidden")}, self.facts["only"])
        due = [test for test in found if test not in self.facts["passed_over"]]
        lost = trees.lost_tests(tested(work / f"{mark}tests", self.facts["seal"]).tests, due)
        return (
            (0.0, f"{len(lost)} of {len(due)} did not pass, such as {lost[0]}") if lost else (1.0, f"{len(due)} passed")
        )

    def kept(self) -> Files:
        """Return what the agent left, with tests and settings as they were."""
        files = trees.without_meddling(self.after, self.before)
        return trees.put_back(files, self.before, (*self.facts["tests"], *trees.STEERING))


class SameBehaviourPart(Part):
    """A program prints the same over the repository as it began and as it ended."""

    def runs(self) -> Iterator[tuple[str, TreeRun]]:
        program = (self.place / "program.py").read_bytes()
        yield "before", TreeRun(self.before, program=program)
        yield "after", TreeRun(self.after, program=program)

    def value(self, work: Path, mark: str) -> tuple[float, str]:
        before, after = [
            [(work / f"{mark}{name}" / part).read_bytes() for part in ("printed", "code")]
            for name in ("before", "after")
        ]
        if before == after:
            return 1.0, ""
        pairs = zip(before[0].splitlines(), after[0].splitlines(), strict=False)
        one, other = next((pair for pair in pairs if pair[0] != pair[1]), (before[0][-200:], after[0][-200:]))
        return 0.0, f"before it printed {one[:200]!r}, and now {other[:200]!r}"


class MutantsPart(Part):
    """The share of mutants that the agent's tests find; 0 if one fails on the code itself."""

    def runs(self) -> Iterator[tuple[str, TreeRun]]:
        written = trees.written_tests(self.after, self.before, self.facts["tests"])
        tested = {
            **self.before,
            **{path: text for path, text in written.items() if not trees.fits(path, trees.STEERING)},
        }
        mutants = self.mutants()
        code = trees.remarked({path: self.before[path] for made in mutants for path in made})
        if not written:
            return
        yield "code", TreeRun({**tested, **code}, list(written))
        for number, made in enumerate(mutants):
            yield str(number), TreeRun({**tested, **code, **trees.remarked(made)}, list(written))

    def mutants(self) -> list[Files]:
        """Return the changed files of each mutant."""
        return [files_of(self.place / str(number)) for number, _ in enumerate(self.facts["mutants"])]

    def value(self, work: Path, mark: str) -> tuple[float, str]:
        written = trees.written_tests(self.after, self.before, self.facts["tests"])
        try:
            new = [test for path, text in written.items() for test in trees.test_functions(path, text)]
            looks = trees.look_at_code(written, self.before, {path for made in self.mutants() for path in made})
        except ValueError as error:
            return 0.0, str(error)
        if not new:
            return 0.0, "no test was written"
        if looks is not None:
            return 0.0, f"{looks} looks at the code itself, not at what it does"
        right = tested(work / f"{mark}code", self.facts["seal"])
        if not right.whole or set(right.tests.values()) != {"passed"}:
            return 0.0, "a test does not pass on the code as it is"
        alive: list[str] = []
        for number, name in enumerate(self.facts["mutants"]):
            found = tested(work / f"{mark}{number}", self.facts["seal"])
            if found.whole and "failed" not in found.tests.values():
                alive.append(name)
        count = len(self.facts["mutants"])
        return (count - len(alive)) / count, f"not found: {', '.join(alive)}" if alive else f"{count} found"


class StatePart(Part):
    """What SQL asks about the files, those of git included."""

    def runs(self) -> Iterator[tuple[str, TreeRun]]:
        return iter(())

    def value(self, work: Path, mark: str) -> tuple[float, str]:
        database = state.opened(state.rows_below(Path(self.facts["directory"])), self.facts)
        problem = state.problem(database, self.facts)
        return (0.0, problem) if problem else (1.0, "")


class AnswerPart(Part):
    """What stands after the last mark `ANSWER:` in a file, or all of it if it has no mark."""

    def runs(self) -> Iterator[tuple[str, TreeRun]]:
        return iter(())

    def value(self, work: Path, mark: str) -> tuple[float, str]:
        written = Path(self.facts["file"])
        if not written.is_file():
            return 0.0, f"there is no file {written}"
        text = written.read_text(errors="replace")
        marks = list(MARK.finditer(text))
        if marks and marks[-1][1] == "CANNOT":
            return 0.0, "it was declined"
        answer = (text[marks[-1].end() :] if marks else text).strip()
        wanted = self.facts["gold"]
        exact = self.facts["form"] == "exact"
        same = answer == wanted if exact else normal_text.normal_text(answer) == normal_text.normal_text(wanted)
        return float(same), "" if same else f"the answer is {answer[:100]!r}"


MARK = re.compile(r"^[ \t]*(?:\*\*|__)?(ANSWER|CANNOT)(?:\*\*|__)?:(?:\*\*|__)?", re.MULTILINE)
PARTS: dict[str, type[Part]] = {
    "tests": TestsPart,
    "same_behaviour": SameBehaviourPart,
    "mutants": MutantsPart,
    "state": StatePart,
    "answer": AnswerPart,
}

if __name__ == "__main__":
    main()

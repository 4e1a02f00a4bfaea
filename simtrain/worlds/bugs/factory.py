"""The bug factory: tries candidates in turn, keeps those that are proven to be tasks, and counts what became of the others."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b

from simtrain.values.seeding import Root
from simtrain.worlds.bugs.candidates import Candidate, Candidates, find_candidates
from simtrain.worlds.bugs.healthy import HealthyRepository
from simtrain.worlds.bugs.hiding import function_of, without_tests
from simtrain.worlds.bugs.reports import Symptom, report, shows_something
from simtrain.worlds.bugs.task import BugTask
from simtrain.worlds.bugs.test_runs import TestRun
from simtrain.worlds.bugs.unfit import texts_left_out
from simtrain.worlds.repositories.history import CommittedTree
from simtrain.worlds.repositories.patches import patch_between

OPERATOR_SHARE = 5
"""No operator has more than one in five of the tasks."""
FUNCTION_TASKS = 5
"""No function is broken in more tasks than this."""
FATES = (
    ("survived", "killed by no test"),
    ("unrun", "on lines that no test runs"),
    ("equal", "equal in meaning to the good code or to another candidate"),
    ("broken", "broken too much: it cannot be imported, never ends, or most tests fail"),
    ("silent", "without a script that shows a difference"),
    ("alike", "with the symptom of a task that was kept"),
    ("unsteady", "with tests that fail or pass depending on others"),
    ("full", "not kept, as their operator or function has its share"),
)
"""What may become of a candidate other than a task, and what that means."""

_BATCH = 8
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Proven:
    """A candidate that became a task. `symptom` is what tells it from others."""

    task: BugTask
    symptom: str


@dataclass(slots=True)
class Yield:
    """What came of the candidates. `fates` counts by operator, then by fate; `kept` by operator. `left_out` are tests that did not pass.

    `interrupted` says that somebody stopped it before there were enough.
    """

    candidates: dict[str, int]
    fates: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    tasks: list[BugTask] = field(default_factory=list[BugTask])
    unread: list[str] = field(default_factory=list[str])
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    runs: int = 0
    interrupted: bool = False

    def kept(self, operator: str) -> int:
        """Return how many tasks an operator has."""
        return sum(task.operator == operator for task in self.tasks)

    def count(self, operator: str, fate: str) -> None:
        """Count one candidate."""
        self.fates.setdefault(operator, Counter())[fate] += 1


class BugFactory:
    """Makes tasks of one repository. The same repository, seed and count give the same tasks, whatever `jobs` is."""

    def __init__(
        self, healthy: HealthyRepository, trees: Sequence[CommittedTree] = (), *, seed: int = 0, jobs: int = 2
    ) -> None:
        self._healthy = healthy
        self._files = healthy.folder.files
        self._root = Root(seed, "bugs", healthy.folder.name)
        self._seed = seed
        self._jobs = jobs
        self._trees = trees

    @property
    def test_files(self) -> tuple[str, ...]:
        """The files with the tests of the repository, sorted."""
        return tuple(sorted(self._healthy.test_files))

    @property
    def never_run(self) -> tuple[str, ...]:
        """The test functions that are skipped here whatever their parameters, sorted."""
        ran = {function_of(test) for test in self._healthy.tests}
        return tuple(sorted({function_of(test) for test in self._healthy.skipped} - ran))

    def make(
        self,
        count: int,
        *,
        on_tried: Callable[[int, int], None] = lambda tried, kept: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Yield:
        """Return up to so many tasks; `on_tried` is told how many candidates were tried and kept so far.

        Where `is_stopped` says so, asked after every few candidates, those are all.
        """
        found = find_candidates(self._healthy, self._trees, seed=self._seed)
        counted = {name: len(some) for name, some in found.by_operator.items()}
        made = Yield(counted, unread=found.unread, left_out=self._healthy.left_out)
        for name, number in found.equivalent.items():
            made.candidates[name] += number
            made.fates.setdefault(name, Counter())["equal"] += number
        most = max(1, count // OPERATOR_SHARE)
        waiting = _Queue(found, most)
        symptoms: set[str] = set()
        with ThreadPoolExecutor(self._jobs) as threads:
            while len(made.tasks) < count and not made.interrupted and (batch := waiting.batch(made)):
                for candidate, result in zip(batch, threads.map(self.tried, batch), strict=True):
                    made.runs += 1
                    fate = self._judged(result, made, symptoms, waiting, count)
                    if fate is not None:
                        made.count(candidate.operator, fate)
                    on_tried(made.runs, len(made.tasks))
                made.interrupted = is_stopped()
        made.tasks = self._within_shares(made.tasks)
        return made

    def _judged(
        self, result: "Proven | str", made: Yield, symptoms: set[str], waiting: "_Queue", count: int
    ) -> str | None:
        """Keep a task, or return what becomes of the candidate instead."""
        if isinstance(result, str):
            return result
        if result.symptom in symptoms:
            return "alike"
        if len(made.tasks) >= count or not waiting.has_room(made, result.task.operator, result.task.function):
            return "full"
        symptoms.add(result.symptom)
        made.tasks.append(result.task)
        return None

    def _within_shares(self, tasks: list[BugTask]) -> list[BugTask]:
        """Return the tasks of which no operator has more than its share, where fewer were found than wanted."""
        kept = tasks
        while True:
            most = max(1, len(kept) // OPERATOR_SHARE)
            seen: Counter[str] = Counter()
            within: list[BugTask] = []
            for task in kept:
                seen[task.operator] += 1
                if seen[task.operator] <= most:
                    within.append(task)
            if len(within) == len(kept):
                return kept
            kept = within

    def tried(self, candidate: Candidate) -> "Proven | str":
        """Return the task that a candidate is, proven by running its tests, or its fate."""
        healthy, runner = self._healthy, self._healthy.runner
        covering = {test for path, first, last in candidate.spans for test in healthy.covering(path, first, last)}
        if not covering:
            return "unrun"
        ids = [test for test in healthy.tests if test in covering]
        files = {**self._files, **candidate.changed}
        work = max(2.0, 4 * healthy.seconds)
        before = runner.tests(files, ids, work=work)
        if not before.whole or set(before.outcomes) != covering:
            return "broken"
        if not before.failed:
            return "survived"
        if len(before.failed) > max(8, len(healthy.tests) // 3):
            return "broken"
        symptom = self._symptom(candidate, before)
        if symptom is None:
            return "silent"
        return self._proven(candidate, before, symptom, work)

    def _symptom(self, candidate: Candidate, before: TestRun) -> Symptom | None:
        """Return the shortest script whose output a user can see to be wrong."""
        scripts = {failure.script for failure in before.failures.values() if failure.script is not None}
        files = {**self._files, **candidate.changed}
        for script in sorted(scripts, key=lambda one: (len(one), one))[:_TRIES]:
            broken = self._healthy.runner.script(files, script)
            symptom = Symptom(script, broken, self._healthy.runner.script(self._files, script))
            if shows_something(symptom):
                return symptom
        return None

    def _proven(self, candidate: Candidate, before: TestRun, symptom: Symptom, work: float) -> "Proven | str":
        """Return the task, once all that the agent sees was run: of it the failing tests fail, and no others."""
        unfit, fit = texts_left_out(self._healthy.whole, self._healthy.folder)
        texts = {path: content.decode() for path, content in candidate.changed.items()}
        good = {path: self._files[path].decode() for path in texts}
        change = patch_between(good, texts)
        name = blake2b(f"{self._healthy.folder.name}\n{change}".encode(), digest_size=4).hexdigest()
        words = self._root.stream("task", name)
        functions = sorted({function_of(test) for test in before.failed})
        hidden_functions = words.shuffled(functions)[: (len(functions) + 1) // 2]
        hidden_files = without_tests(self._files, hidden_functions)
        if hidden_files is None:
            return "unsteady"
        agents = {**self._files, **candidate.changed, **hidden_files}
        hidden = [test for test in before.failed if function_of(test) in hidden_functions]
        seen = self._healthy.runner.tests(agents, scripts=0, work=2 * work)
        if seen.ended_by is not None or seen.broken or sorted([*seen.failed, *hidden]) != sorted(before.failed):
            return "unsteady"
        left = {test for test in self._healthy.tests if function_of(test) not in hidden_functions}
        if left != {test for test, outcome in seen.outcomes.items() if outcome != "skipped"}:
            return "unsteady"
        shown = {path: content.decode() for path, content in hidden_files.items()}
        whole = {path: self._files[path].decode() for path in shown}
        task = BugTask(
            id=f"{self._healthy.folder.name}-{name}",
            repository=self._healthy.folder.name,
            operator=candidate.operator,
            function=candidate.function,
            report=report(symptom, words),
            failing=sorted(before.failed),
            hidden=sorted(hidden),
            setup=patch_between(good | whole | unfit, fit | texts | shown),
            fix=patch_between(texts, good),
            tests=patch_between(shown, whole),
        )
        return Proven(task, f"{candidate.function}\n{symptom.broken.printed}\n{symptom.broken.error}\n{symptom.script}")


class _Queue:
    """Deals candidates of all operators in turn, none beyond the shares of operator and function."""

    def __init__(self, found: Candidates, most: int) -> None:
        self._waiting = {name: list(reversed(some)) for name, some in found.by_operator.items()}
        self._most = most
        self._dealing = self._turns()

    def has_room(self, made: Yield, operator: str, function: str) -> bool:
        """Return whether a task of this operator, in this function, may be added."""
        of_function = sum(task.function == function for task in made.tasks)
        return made.kept(operator) < self._most and of_function < FUNCTION_TASKS

    def batch(self, made: Yield) -> list[Candidate]:
        """Return the next candidates to try. Always so many, so that the number of threads changes nothing."""
        found: list[Candidate] = []
        idle = 0
        while len(found) < _BATCH and idle <= len(self._waiting):
            name = next(self._dealing)
            candidate = self._next(name, made)
            if candidate is None:
                idle += 1
                continue
            idle = 0
            found.append(candidate)
        return found

    def _next(self, name: str, made: Yield) -> Candidate | None:
        waiting = self._waiting[name]
        while waiting and made.kept(name) < self._most:
            candidate = waiting.pop()
            if self.has_room(made, name, candidate.function):
                return candidate
            made.count(name, "full")
        return None

    def _turns(self) -> Iterator[str]:
        while True:
            yield from self._waiting

"""Tasks of a file as cases of a scenario: the broken repository in its world, and the plans that mend it or pretend to."""

from functools import lru_cache
from pathlib import Path

from simtrain.contracts.plan import Plan
from simtrain.contracts.scenario import Cases, Episode
from simtrain.contracts.world import World
from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject
from simtrain.worlds.bugs.plans import pretending_plan, repairing_plan
from simtrain.worlds.bugs.task import BugTask, read_tasks


def task_file(cases: Cases, document: Document) -> Path | None:
    """Return the file of tasks that the cases name, relative to the scenario's file; None if they name none."""
    return None if cases.tasks is None else document.path.parent / cases.tasks


def task_cases(cases: Cases, document: Document) -> list[JsonObject]:
    """Return a case for each task. Raises InputError for a file that cannot be used."""
    tasks = tasks_of(cases, document)
    if not tasks:
        raise document.error(("cases", "tasks"), f"there is no task in {cases.tasks}")
    return [
        {
            "task": task.id,
            "repository": task.repository,
            "directory": _directory(cases, task, document),
            "report": task.report,
            **({"since": task.since} if any(one.since for one in tasks.values()) else {}),
            **({"branches": _branches(task)} if any(one.later for one in tasks.values()) else {}),
        }
        for task in tasks.values()
    ]


def tasks_of(cases: Cases, document: Document) -> dict[str, BugTask]:
    """Return the tasks of a scenario's cases by their names. Raises InputError."""
    file = task_file(cases, document)
    if file is None:
        return {}
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        problem = f"there is no file {cases.tasks} beside the scenario"
        raise document.error(("cases", "tasks"), problem, "`simtrain world bugs REPO --out` writes one") from None
    return _read(file, changed)


@lru_cache(maxsize=32)
def _read(file: Path, _: int) -> dict[str, BugTask]:
    found: dict[str, BugTask] = {}
    for task in read_tasks(file):
        if task.id in found:
            raise InputError(f"two tasks have the id {task.id!r}", file=file)
        found[task.id] = task
    return found


def _branches(task: BugTask) -> str:
    return " and ".join(commit.branch for commit in task.later[1:])


def _directory(cases: Cases, task: BugTask, document: Document) -> str:
    with document.locating(("cases", "directory")):
        return Text(cases.directory or "").render({"repository": task.repository})


def check_tasks(world: World, cases: Cases, document: Document) -> None:
    """Raise InputError where a task does not fit its repository in the world: else it would be found in the middle of a run."""
    # The engine of machines is a large library, which only their scenarios need.
    from simtrain.worlds.machine.repository_tasks import check_task

    with document.at(("cases",)):
        for task in tasks_of(cases, document).values():
            check_task(world, _directory(cases, task, document), task)


def broken_world(world: World, cases: Cases, case: JsonObject, document: Document) -> World:
    """Return the world of a task: the repository broken. Raises InputError where the task does not fit it."""
    from simtrain.worlds.machine.repository_tasks import with_task

    task, directory = tasks_of(cases, document)[str(case["task"])], str(case["directory"])
    with document.at(("cases",)):
        return with_task(world, directory, task)


def reference_of(episode: Episode, world: World) -> Plan:
    """Return the plan that carries out the reference patch of an episode's task."""
    task, directory = _task(episode)
    return repairing_plan(task, directory, _texts(world, directory, task))


def wrong_of(episode: Episode, world: World) -> Plan:
    """Return a plan that makes the tests pass that can be seen, and mends nothing."""
    task, directory = _task(episode)
    return pretending_plan(task, directory, _texts(world, directory, task))


def _task(episode: Episode) -> tuple[BugTask, str]:
    cases = episode.scenario.spec.cases
    return tasks_of(cases, episode.scenario.document)[str(episode.case["task"])], str(episode.case["directory"])


def _texts(world: World, directory: str, task: BugTask) -> dict[str, str]:
    rows = world.query(
        "select path, content from files where kind = 'file' and path like :below and path not like :git",
        {"below": f"{directory}/%", "git": f"{directory}/.git/%"},
    )
    return {str(row["path"])[len(directory) + 1 :]: str(row["content"] or "") for row in rows}

"""A machine world in which the repository of a task stands broken, with its history, in place of the whole one."""

from functools import lru_cache
from pathlib import Path

from simtrain.contracts.world import World
from simtrain.values.errors import InputError
from simtrain.worlds.bugs.task import BugTask
from simtrain.worlds.bugs.weaving import woven
from simtrain.worlds.machine.host_texts import HostTexts
from simtrain.worlds.machine.past_commits import PastCommits
from simtrain.worlds.machine.repositories import RepositoryMaker
from simtrain.worlds.machine.rows import PUT, groups_of, nodes_of, row_of, users_of
from simtrain.worlds.machine.setup import MachineSetup
from simtrain.worlds.repositories.commits import CommittedPast, past_of
from simtrain.worlds.repositories.patches import applied
from simtrain.worlds.service.change_log import forget
from simtrain.worlds.service.database import Database, Mode

HIDDEN = "hidden_tests"
"""The table of the author's with `path` and `content`: it gets the tests that the agent does not see."""
COMMITS = "past_commits"
"""A table of the author's, if there is one, with `number` (from 0), `sha` and `subject`: it gets the commits of the history."""
_BELOW = "delete from files where host = :host and (path = :path or path like :below)"


def with_task(world: World, directory: str, task: BugTask) -> World:
    """Return a world whose repository at `directory` is that of a task, its hidden tests in the table. Raises InputError."""
    machine, past = _machine_and_past(world, directory)
    agents = CommittedPast(woven(past.trees, task), past.further)
    base = Database(machine.content, moment=machine.base.moment)
    try:
        _plant(machine, base, directory, agents, task)
        _hide(base, task, agents)
    except InputError:
        base.close()
        raise
    forget(base)
    return machine.over(base)


def check_task(world: World, directory: str, task: BugTask) -> None:
    """Raise InputError where a patch of a task does not fit the repository at `directory`."""
    broken = task.broken(_machine_and_past(world, directory)[1].trees[-1].files)
    task.tested(broken)
    # The agent of a merge begins where main has gone on.
    task.mended(applied(broken, task.later[0].changes) if task.later else broken)


def _machine_and_past(world: World, directory: str) -> tuple[MachineSetup, CommittedPast]:
    if not isinstance(world, MachineSetup):
        raise InputError(f"{world.name} is no machine world", remedy="tasks of repositories need one")
    return world, _past(_folder(world, directory), world.digest)


def _folder(world: MachineSetup, directory: str) -> Path:
    known = {one.path: one.folder for one in world.spec.repositories if one.folder}
    folder = known.get(directory)
    if folder is None:
        listed = ", ".join(known) or "none"
        raise InputError(
            f"the world {world.name!r} has no repository made of a folder at {directory}",
            remedy=f"it has {listed}",
            place="directory",
        )
    return world.document.path.parent / folder


@lru_cache(maxsize=16)
def _past(folder: Path, _: str) -> CommittedPast:
    # The digest of the world, which covers the folder, is part of the key.
    return past_of(folder)


def _plant(world: MachineSetup, base: Database, directory: str, past: CommittedPast, task: BugTask) -> None:
    host, spec = world.spec.hostname, world.spec
    number = next(place for place, one in enumerate(spec.repositories) if one.path == directory)
    source = spec.repositories[number]
    base.run(_BELOW, {"host": host, "path": directory, "below": f"{directory}/%"}, mode=Mode.OWN)
    texts = HostTexts(base, world.document, host, ())
    texts.users, texts.groups = users_of(base, host), groups_of(base, host)
    maker = RepositoryMaker(texts, spec.disk, nodes_of(base, host), world.start)
    files = maker.begin(directory, *texts.ownership(source, {}, ("repositories", number)))
    making = PastCommits(maker, files, directory, source.branch)
    making.make(past)
    making.make_later(task.later, past.trees[-1].files)
    for path, node in maker.made():
        base.run(PUT, row_of(host, path, node), mode=Mode.OWN)
    if {"number", "sha", "subject"} <= _columns(base, COMMITS):
        for number, sha, subject in making.made:
            base.run(
                f"insert into {COMMITS} (number, sha, subject) values (:number, :sha, :subject)",
                {"number": number, "sha": sha, "subject": subject},
                mode=Mode.OWN,
            )


def _columns(base: Database, table: str) -> set[str]:
    rows = base.rows("select name from pragma_table_info(:table)", {"table": table}, mode=Mode.OWN)
    return {str(row["name"]) for row in rows}


def _hide(base: Database, task: BugTask, past: CommittedPast) -> None:
    if {"path", "content"} - _columns(base, HIDDEN):
        raise InputError(
            f"the world has no table {HIDDEN} with path and content",
            remedy=f"write `create table {HIDDEN} (path text primary key, content text not null);` into its schema",
            place="tasks",
        )
    seen = past.trees[-1].files
    for path, text in task.tested(seen).items():
        if seen.get(path) != text:
            base.run(
                f"insert into {HIDDEN} (path, content) values (:path, :content)",
                {"path": path, "content": text},
                mode=Mode.OWN,
            )

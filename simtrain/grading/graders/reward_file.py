"""Take the reward from the file that a script of tests writes, in the manner of Harbor's tasks."""

import asyncio
import json
import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.plugin import BesidePath
from simtrain.contracts.sandbox_runs import Entry, Folder
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.files.file_model import FileModel
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, is_object
from simtrain.worlds.machine.accounts import ROOT
from simtrain.worlds.machine.login import environment_of
from simtrain.worlds.machine.python_runs import write_back
from simtrain.worlds.machine.spec_values import SIMULATED
from simtrain.worlds.machine.world import MachineState
from simtrain.worlds.sandbox.host_folder import folder_entries

_TESTS = "/tests"
_LOGS = "/logs/verifier"
_JSON, _TEXT = f"{_LOGS}/reward.json", f"{_LOGS}/reward.txt"
_COLUMNS = 'host, path, kind, mode, owner, "group", size, modified, content, base64, target'
_SAVED = f"insert into files select {_COLUMNS} from step_files where step = :step"
_ARRIVING = f"insert or replace into files select {_COLUMNS} from step_arrivals where step = :step"


class StepTests(FileModel):
    """The tests of one step: the folders that are put at /tests, one over the other, and the least reward to go on with."""

    name: str
    folders: tuple[BesidePath, ...] = ()
    command: str = f"bash {_TESTS}/test.sh"
    min_reward: dict[str, float] = Field(default_factory=dict[str, float])


class RewardFile(Grader):
    """The reward that a script writes to /logs/verifier/reward.txt or reward.json, as the tests of a Harbor task do.

    The script runs on a copy of the machine as the agent left it. With `steps`, each has its own: they are run over the files that were
    there when the tool `next_step` was called, as the world's table `step_files` keeps them.
    """

    example: ClassVar[JsonObject] = {"with": {"command": "if [ -d /srv ]; then echo 1 > /logs/verifier/reward.txt; fi"}}
    of_machine: ClassVar[bool] = True
    of_world: ClassVar[bool] = True

    command: str = Field(f"bash {_TESTS}/test.sh", description="The command line that runs the script.")
    folders: tuple[BesidePath, ...] = Field(
        (), description="Folders beside this file; what is in them is put at /tests, one over the other."
    )
    env: dict[str, str] = Field(default_factory=dict[str, str], description="Environment variables of the script.")
    user: str = Field("root", description="Whose rights it has.")
    directory: str = Field("/", description="The folder that it begins in.")
    timeout: float = Field(600.0, gt=0, description="Virtual seconds that it may take.")
    steps: tuple[StepTests, ...] = Field((), description="The tests of each step, in place of one script.")
    strategy: Literal["mean", "final"] = Field(
        "mean", description="With steps: the mean of their rewards, or the last one."
    )
    digest: str = Field("", description="Says which content the folders have, so that other tests are another rubric.")

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        if world.kind != "machine":
            raise InputError("a script runs on a machine", remedy="use a grader that reads the world")
        for folder in (*self.folders, *(path for step in self.steps for path in step.folders)):
            if not folder.is_dir():
                raise InputError(f"there is no folder {folder}", remedy="add it", place="folders")

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Run the scripts. Raises SimulatorFault if one leaves no reward: then nobody knows what the agent did."""
        assert isinstance(world.final, MachineState)
        return await asyncio.to_thread(
            self._grade, world.final, not world.initial.query(f"select 1 from files where path = '{_TESTS}'")
        )

    def _grade(self, final: MachineState, fresh: bool) -> Reward:
        if not self.steps:
            only = StepTests(name="", folders=self.folders, command=self.command)
            state = final.fork()
            try:
                rewards = self._run(only, state, fresh)
            finally:
                state.close()
            return _scored(rewards)
        found: dict[str, dict[str, float]] = {}
        for number, step in enumerate(self.steps, 1):
            state = final.fork()
            try:
                _go_back(state, number)
                found[step.name] = rewards = self._run(step, state, fresh)
            finally:
                state.close()
            if any(rewards.get(key, -math.inf) < least for key, least in step.min_reward.items()):
                break
        steps: JsonObject = {name: dict(rewards) for name, rewards in found.items()}
        if self.strategy == "final":
            return _scored(list(found.values())[-1], steps=steps)
        keys = dict.fromkeys(key for rewards in found.values() for key in rewards)
        means = {key: sum(rewards.get(key, 0.0) for rewards in found.values()) / len(found) for key in keys}
        return _scored(means, steps=steps)

    def _run(self, tests: StepTests, state: MachineState, fresh: bool) -> dict[str, float]:
        machine = state.machine
        files = machine.files(ROOT)
        if fresh and files.exists(_TESTS):
            machine.run_child(
                f"rm -rf {_TESTS}",
                user=ROOT,
                stdin=None,
                environment={"PATH": "/usr/bin:/bin"},
                directory="/",
                limit=60,
            )
        entries: dict[str, Entry] = {"/logs": Folder(), _LOGS: Folder(0o777), _TESTS: Folder()}
        for folder in tests.folders:
            entries |= folder_entries(folder, _TESTS)
        stale = {path: None for path in (_JSON, _TEXT) if files.exists(path, follow=False)}
        problems = write_back(files, {**stale, **dict(sorted(entries.items()))})
        if problems:
            raise SimulatorFault(
                f"the tests cannot be put on the machine: {problems[0].strerror}: {problems[0].filename}"
            )
        if self.user not in machine.users:
            raise SimulatorFault(f"there is no user {self.user!r} on the machine to run the tests as")
        user = machine.users[self.user]
        environment = environment_of(user, {**state.world.spec.environment, **self.env})
        ran = machine.run_child(
            tests.command, user=user, stdin=None, environment=environment, directory=self.directory, limit=self.timeout
        )
        said = ran.stdout + ran.stderr
        simulated = state.world.spec.shell == SIMULATED
        missing = next((line for line in said.splitlines() if line.endswith(": command not found")), None)
        if simulated and missing is not None:
            # Whatever was written then says nothing about the agent.
            raise SimulatorFault(f"the tests use a program that the simulated machine lacks: {missing}")
        for path in (_JSON, _TEXT):
            if files.exists(path):
                return _read(path, files.node(path).content)
        tail = " ".join(said.split())[-300:] or f"exit code {ran.exit_code}, no output"
        raise SimulatorFault(f"the tests wrote no {_TEXT}: {tail}")


def _go_back(state: MachineState, number: int) -> None:
    """Put the files back that were there when a step was done; add what arrives with each step that was never begun."""
    done = state.query("select coalesce(max(step), 0) as done from step_files")[0]["done"]
    if number <= int(done):
        state.execute("delete from files")
        state.execute(_SAVED, {"step": number})
        return
    for step in range(int(done) + 2, number + 1):
        state.execute(_ARRIVING, {"step": step})


def _read(path: str, content: bytes) -> dict[str, float]:
    """Return the rewards in a file. Raises SimulatorFault."""
    try:
        found: JsonValue = json.loads(content) if path == _JSON else float(content)
    except ValueError:
        raise SimulatorFault(f"{path} holds no reward: {content[:80]!r}") from None
    rewards: JsonObject = found if is_object(found) else {"reward": found}
    for name, value in rewards.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise SimulatorFault(f"{path}: {name} is no number: {value!r}")
    return {name: float(value) for name, value in rewards.items()}


def _scored(rewards: Mapping[str, float], **detail: JsonValue) -> Reward:
    if "reward" not in rewards:
        raise SimulatorFault(f"the rewards have no key `reward`, only {', '.join(sorted(rewards)) or 'nothing'}")
    value = rewards["reward"]
    if not 0 <= value <= 1:
        raise SimulatorFault(f"the reward {value:g} is not between 0 and 1")
    others: JsonObject = {name: number for name, number in rewards.items() if name != "reward"}
    return score(value, **detail, **({"rewards": others} if others else {}))

"""A run folder for episodes that are played from outside, each written as it ends."""

from collections.abc import Iterable
from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.files.jsonl import LineWriter, write_whole
from simtrain.runs.run_file import run_facts
from simtrain.runs.run_folder import RUN_FILE, SUMMARY_FILE, RunFolder
from simtrain.runs.runner import RunOptions
from simtrain.runs.summary import summarise
from simtrain.runs.trajectory_files import failures_writer, part_writer, read_rows
from simtrain.values.types import JsonObject


class EpisodeRecorder:
    """A run folder that is written episode by episode. Its `run.json` names the scenarios opened so far."""

    def __init__(self, out: Path, *, agent: JsonObject, seed: int = 0, scenarios: Iterable[Scenario] = ()) -> None:
        """Create the folder. Raises InputError if it contains a run, or cannot be written."""
        self._scenarios = {scenario.digest: scenario for scenario in scenarios}
        self._agent = agent
        self._options = RunOptions(str(agent["name"]), seed=seed)
        self._folder = RunFolder.create(out, self._facts())
        self._kept: LineWriter = part_writer(out, 0)
        self._failures: LineWriter = failures_writer(out)

    def _facts(self) -> JsonObject:
        return run_facts([*self._scenarios.values()], self._options, self._agent, episodes=0)

    def open(self, scenario: Scenario) -> None:
        """Add a scenario to `run.json`, before an episode of it is written."""
        if scenario.digest not in self._scenarios:
            self._scenarios[scenario.digest] = scenario
            write_whole(self._folder.path / RUN_FILE, self._facts())

    def write(self, trajectory: Trajectory) -> None:
        """Write one trajectory; one that failed through no fault of the agent goes into the file of failures, as in every run."""
        lost = trajectory.stop.reason == "failed" and trajectory.stop.blame != "agent"
        (self._failures if lost else self._kept).write(to_line(trajectory))

    def close(self) -> None:
        """Write the summary and release the folder."""
        self._kept.close()
        self._failures.close()
        write_whole(self._folder.path / SUMMARY_FILE, summarise(read_rows(self._folder.path)))
        self._folder.close()

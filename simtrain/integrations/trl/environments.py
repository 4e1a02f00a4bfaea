"""Scenarios as environments of TRL's trainers (`environment_factory`), with their tools as methods.

TRL 1.16 (trl/trainer/grpo_trainer.py, experimental/async_grpo) requires of an environment: `reset(**row)` returns what is appended
to the last message of the row's prompt, or None; every other public function of the class is a tool; instances are kept and
reset for later rollouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar

from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory
from simtrain.integrations.trl.episodes import sessions, text_of
from simtrain.integrations.trl.tasks import FindEpisode, Row, episode_of, first_episode
from simtrain.integrations.trl.tool_methods import OfferedTool, method_names, tool_method
from simtrain.public import Session
from simtrain.values.errors import InputError, SimtrainError
from simtrain.values.types import JsonObject, ToolSpec, as_object, is_list


class ScenarioEnvironment:
    """An environment of one scenario, which plays one episode after the other. Subclasses have the tools as methods.

    TRL finds the methods on the class, then lists and calls the attributes of the instance with the same names. These are the tools'
    definitions, so the model reads the same text as in every other rollout and export.
    """

    _tools: ClassVar[Mapping[str, ToolSpec]] = {}
    """The tools by the names of their methods."""
    _find: ClassVar[FindEpisode]

    def __init__(self) -> None:
        self._held = HeldSession(tuple(self._tools.values()))
        for name, tool in self._tools.items():
            setattr(self, name, OfferedTool(tool, name, partial(self._held.call, tool.name)))

    def reset(self, **row: object) -> str | None:
        """Open the episode of a row, and drop one that is still open. Return the task if the row's prompt does not contain it.

        Raises InputError for a row that identifies no episode, and for an episode whose tools differ from the scenario's.
        """
        session = self._held.open(type(self)._find(row))
        return _missing_task(session, row)


def held_by(environment: ScenarioEnvironment) -> HeldSession:
    """Return the session of an environment. A function, since every public name of the class may be the name of a tool."""
    return environment._held  # pyright: ignore[reportPrivateUsage]


class HeldSession:
    """Plays one episode after the other, all with the same tools."""

    def __init__(self, tools: tuple[ToolSpec, ...]) -> None:
        self._tools = tools
        self._session: Session | None = None
        self._ended: tuple[str | None, Trajectory] | None = None

    def open(self, episode: Episode) -> Session:
        """Open an episode, and drop the previous one. Raises InputError for one with other tools."""
        if self._session is not None:
            self._session.close()
        self._ended = None
        self._session = session = sessions().open(episode)
        # TRL reads the tools once from the class, so a perturbation of the list would never be seen by the model.
        if session.tools != self._tools:
            raise InputError(
                f"perturbations of {episode.scenario.name} change the tools, which TRL lists once for all episodes",
                remedy="train with a rollout_func (Rollouts), which lists the tools of each",
            )
        return session

    def call(self, tool: str, arguments: JsonObject) -> str:
        """Return a tool's reply or error as text; once a limit has ended the episode, the reason for that."""
        session = self._opened()
        try:
            return session.call(tool, arguments).text
        except SimtrainError as error:
            # As text: an exception in a tool would end the trainer's whole batch.
            return f"Error: {error}"

    def finish(self, text: str | None) -> Trajectory:
        """End the episode with the model's last message and return the graded trajectory; a repeated call returns the same one.

        Raises InputError if no episode was opened, or if it was finished with another message.
        """
        session = self._opened()
        # Several reward functions may ask; an episode can be graded only once.
        if self._ended is None:
            self._ended = (text, session.finish(text))
        if self._ended[0] != text:
            raise InputError("the episode was finished with other words", remedy="reset the environment first")
        return self._ended[1]

    def _opened(self) -> Session:
        if self._session is None:
            raise InputError("no episode is open", remedy="reset the environment with a row first")
        return self._session


def _missing_task(session: Session, row: Row) -> str | None:
    """Return the task if the row's prompt does not state it: no prompt, or an empty last message. Else return None."""
    prompt = row.get("prompt")
    if not is_list(prompt) or not prompt:
        return "\n\n".join(part for part in (session.system, session.prompt) if part)
    stated = text_of(as_object(prompt[-1]).get("content"))
    if not stated:
        return session.prompt
    if stated != session.prompt:
        raise InputError("the row's prompt is not the task of its episode", remedy="make the dataset anew")
    return None


def _carry_out(environment: ScenarioEnvironment, tool: str, arguments: JsonObject) -> str:
    return held_by(environment).call(tool, arguments)


@dataclass(frozen=True)
class EnvironmentFactory:
    """Makes environments of one scenario, by name or file. It can be pickled, since the async trainer sends it to another process."""

    scenario: str

    def __call__(self) -> ScenarioEnvironment:
        return environment_class(self.scenario)()


def environment_factory(scenarios: str | Sequence[str]) -> EnvironmentFactory | dict[str, EnvironmentFactory]:
    """Return the `environment_factory` for a trainer; for several scenarios, a mapping keyed by the dataset's column `environment`.

    Raises InputError for an unknown scenario.
    """
    for name in [scenarios] if isinstance(scenarios, str) else scenarios:
        environment_class(name)
    if isinstance(scenarios, str):
        return EnvironmentFactory(scenarios)
    return {name: EnvironmentFactory(name) for name in scenarios}


@lru_cache(maxsize=64)
def environment_class(scenario: str) -> type[ScenarioEnvironment]:
    """Return the class of a scenario's environments, with the tools of an unperturbed episode. Raises InputError."""
    return class_over(first_episode(scenario), episode_of)


def class_over(episode: Episode, find: FindEpisode) -> type[ScenarioEnvironment]:
    """Return the class of environments with the tools of an episode; `find` returns the episode of a row."""
    # Unarmed, since perturbations that change the list of tools are drawn per episode.
    scenario = episode.scenario.unarmed or episode.scenario
    with sessions().open(replace(episode, scenario=replace(scenario, perturbations=()))) as session:
        tools = session.tools
    names = method_names(tool.name for tool in tools)
    methods = {names[tool.name]: tool_method(tool, names[tool.name], _carry_out) for tool in tools}
    members = {"_tools": {names[tool.name]: tool for tool in tools}, "_find": staticmethod(find), **methods}
    title = "".join(part.capitalize() for part in scenario.spec.name.split("_"))
    return type(f"{title}Environment", (ScenarioEnvironment,), members)

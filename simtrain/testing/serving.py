"""The fixture `simtrain_serve`: episodes over MCP on a local socket, as long as a test runs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.mcp.serve.addresses import server_urls
from simtrain.mcp.serve.targets import load_target
from simtrain.public import Session, Sessions, serve_sessions
from simtrain.runs.reading import trajectory_text
from simtrain.values.errors import InputError


class EpisodeServer:
    """Serves episodes of worlds and scenarios, each at a URL of its own. `telling` gets every episode."""

    def __init__(self, telling: list[Any]) -> None:
        self._telling = telling
        self._open = ExitStack()
        self._sessions = self._open.enter_context(Sessions(agent="mcp"))

    @cached_property
    def _url(self) -> str:
        return self._open.enter_context(serve_sessions(self._sessions)).url

    def __call__(
        self, target: str | Path | Scenario, *, case: int = 0, seed: int = 0, packs: Sequence[str] = ()
    ) -> "ServedEpisode":
        """Open an episode of a scenario, world, manifest or recording, and serve it. `packs` are armed in it. Raises InputError."""
        scenario = _one(target, packs)
        served = ServedEpisode(self._sessions.open(scenario, case=case, seed=seed), self._url)
        self._telling.append(served)
        return served

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


def _one(target: str | Path | Scenario, packs: Sequence[str]) -> Scenario:
    if isinstance(target, Scenario):
        if packs:
            raise InputError("packs are armed when a scenario is loaded", remedy="give its name instead")
        return target
    found = load_target(str(target), packs=packs)
    if len(found) > 1:
        raise InputError(f"{str(target)!r} names {len(found)} scenarios", remedy="name one")
    return found[0]


class ServedEpisode:
    """An open episode that MCP clients play; the test grades it."""

    def __init__(self, session: Session, base: str) -> None:
        self.session = session
        """The episode as a session, in which the test may act as well."""
        self.url = f"{base}/w/{session.name}/mcp"
        """The address for MCP clients, with the tools of all servers."""
        self._base = base
        self._finished: Trajectory | None = None

    @property
    def servers(self) -> dict[str, str]:
        """Return the address of each server of the world, by name."""
        world = self.session.episode.scenario.source.build()
        return server_urls(world, self.url.removesuffix("/mcp"))

    @property
    def prompt(self) -> str:
        """Return the task as an agent reads it."""
        return self.session.prompt

    def grade(self) -> Trajectory:
        """Return the trajectory so far, graded; the episode goes on. Once it is finished, return the final trajectory."""
        return self._finished or self.session.grade()

    def finish(self, text: str | None = None, *, abstain: bool = False) -> Trajectory:
        """End the episode with the agent's last message, and return the graded trajectory. Raises InputError if it has ended.

        The text is read by the marks ANSWER: and CANNOT:; `abstain` says that the agent declines.
        """
        self._finished = self.session.finish(text, abstain=abstain)
        return self._finished

    def sections(self, failed: object) -> Iterator[tuple[str, str]]:
        """Yield the trajectory as it is."""
        del failed
        yield "simtrain: served episode", trajectory_text(self.grade())

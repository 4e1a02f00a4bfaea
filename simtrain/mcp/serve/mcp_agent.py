"""External agents over MCP: a program started for every episode, or clients that ask the control plane for the next one."""

import asyncio
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from multiprocessing import parent_process
from pathlib import Path
from typing import ClassVar

import orjson
from pydantic import Field

from simtrain.agents.answers import spoken
from simtrain.contracts.agent import Outsider, Play
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Stop, Trajectory, record_name
from simtrain.mcp.serve.address_files import control_file
from simtrain.mcp.serve.agent_program import Command, Ended, run_program
from simtrain.mcp.serve.episode_queue import Counter
from simtrain.mcp.serve.listening import Door, listen
from simtrain.mcp.serve.ports import Listening
from simtrain.mcp.serve.session import ServingSession
from simtrain.mcp.serve.wire_tools import servers_of
from simtrain.runs.episode_host import EpisodeHost, HostOptions
from simtrain.runs.held_episode import HeldEpisode
from simtrain.runs.rollout import unopened
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

FIELDS = ("url", "prompt", "system", "config", "episode", "record")
"""Fields that a command may have in braces. The same facts are in the environment: SIMTRAIN_URL and so on."""


class McpAgent(Outsider):
    """Any agent that speaks MCP: a program started for each episode, or a client that asks for the next one.

    The program finds the episode's address and task in its arguments (`{url}`, `{prompt}`, `{system}`, `{config}`, `{episode}`,
    `{record}`), in the environment (`SIMTRAIN_URL`, ...) and, for the task, on standard input. Its output is its answer. Without a
    command the run listens, writes `control_file`, and waits for clients to ask the control plane for episodes.
    """

    example: ClassVar[JsonObject] = {"with": {"command": "my_agent {url}"}}

    command: str | None = Field(
        default=None, min_length=1, description="Program and arguments; no shell sees them. Unset: wait for agents."
    )
    timeout: float = Field(default=600.0, gt=0, description="Real seconds that one episode may take.")
    patience: float = Field(
        default=600.0, gt=0, description="Real seconds to wait, while nobody is at work, until somebody asks."
    )
    control_file: Path = Field(
        default=Path("control.json"), description="Where URL and token of the control plane are written, to wait."
    )

    @cached_property
    def _command(self) -> Command | None:
        return None if self.command is None else Command.read(self.command, fields=FIELDS)

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError for an invalid command. Any scenario is fine."""
        if self._command is not None:
            self._command.check()

    @asynccontextmanager
    async def hosted(self, *, name: str) -> AsyncGenerator[Play]:
        """Serve all episodes over MCP on this machine, with a control plane if agents are to ask for them. Raises InputError."""
        command = self._command
        # Agents that ask need one address, and each worker would have its own.
        if command is None and parent_process() is not None:
            raise InputError("agents are waited for in one process", remedy="leave --workers at 1")
        serving = ServingSession(EpisodeHost(options=HostOptions(idle=None), agent={**self.facts(), "name": name}))
        async with AsyncExitStack() as stack:
            if command is not None:
                door = await stack.enter_async_context(listen(serving, Listening(control_port=None, default=False)))
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="simtrain-")))
                yield _Programs(serving, door, command, folder, self.timeout).play
                return
            publish = stack.enter_context(control_file(self.control_file))
            serving.counter = Counter(patience=self.patience)
            door = await stack.enter_async_context(listen(serving, Listening(default=False)))
            publish(door)
            print(f"waiting for agents at {door.control_url} ({self.control_file})", file=sys.stderr, flush=True)
            yield _Guests(serving, serving.counter, self.timeout).play


class _Hosts(ABC):
    """Opens episodes on a serving session, for an external agent to play."""

    def __init__(self, serving: ServingSession, timeout: float) -> None:
        self._serving = serving
        self._timeout = timeout

    async def play(self, episode: Episode) -> Trajectory:
        """Play one episode and return its trajectory. Raises InputError."""
        host = self._serving.host
        try:
            held = await host.hold(episode)
        # Bad input ends the run; any other failure to open is recorded as this episode's.
        except InputError:
            raise
        except Exception as error:
            return unopened(episode, error, host.agent)
        try:
            await self._wait_for(held)
        finally:
            if not held.closed.done():
                await host.close(held)
        return held.closed.result()

    @abstractmethod
    async def _wait_for(self, held: HeldEpisode) -> None:
        """Wait until the agent has sent its last message or its time is over."""

    def _late(self) -> Stop:
        return Stop("wall_time", detail=f"more than {self._timeout:g} seconds")


class _Programs(_Hosts):
    """Starts a program for every episode."""

    def __init__(self, serving: ServingSession, door: Door, command: Command, folder: Path, timeout: float) -> None:
        super().__init__(serving, timeout)
        self._door = door
        self._command = command
        self._folder = folder

    async def _wait_for(self, held: HeldEpisode) -> None:
        config = self._folder / f"{held.name}.json"
        url = f"{self._door.url}/w/{held.name}"
        servers = {name: f"{url}/{name}/mcp" for name in servers_of(held.environment.tools)} or {"tools": f"{url}/mcp"}
        config.write_bytes(
            orjson.dumps({"mcpServers": {name: {"type": "http", "url": at} for name, at in servers.items()}})
        )
        facts = {
            "url": f"{url}/mcp",
            "prompt": held.briefing.prompt,
            "system": held.briefing.system,
            "config": str(config),
            "episode": held.name,
            "record": record_name(held.episode.key),
        }
        try:
            ended = await run_program(
                self._command.filled(facts),
                # A NUL cannot be part of an environment variable.
                variables={f"SIMTRAIN_{name.upper()}": value.replace("\0", "") for name, value in facts.items()},
                prompt=held.briefing.prompt,
                timeout=self._timeout,
                over=held.over,
            )
        except OSError as error:
            await held.end(Stop("failed", "agent", f"{self._command.words[0]}: {error.strerror or error}"))
        else:
            await self._take(held, ended)
        finally:
            config.unlink(missing_ok=True)

    async def _take(self, held: HeldEpisode, ended: Ended) -> None:
        if ended.code is None:
            await held.end(self._late())
        elif ended.code:
            lines = ended.err.strip().splitlines()
            await held.end(Stop("failed", "agent", f"exit code {ended.code}{f': {lines[-1]}' if lines else ''}"))
        else:
            await held.say(spoken(ended.out.strip()))


class _Guests(_Hosts):
    """Hands out episodes to agents that ask."""

    def __init__(self, serving: ServingSession, counter: Counter, timeout: float) -> None:
        super().__init__(serving, timeout)
        self._counter = counter

    async def _wait_for(self, held: HeldEpisode) -> None:
        await self._counter.offer(held)
        await asyncio.wait((held.closed,), timeout=self._timeout)
        if not held.closed.done():
            await held.end(self._late())
        self._counter.done(held)

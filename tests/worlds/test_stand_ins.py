"""The stand-ins that ship against the servers they stand in for: the same 200 generated calls, and no tool that could be wrong unseen."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from real_servers import command, node, npm_program

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.scenario import Answering
from simtrain.contracts.world import WorldState
from simtrain.contracts.world_model import WorldModel
from simtrain.mcp.verify.findings import DEMANDED, Thresholds
from simtrain.mcp.verify.play import VerifyOptions, offered_schemas, play, shown_surfaces
from simtrain.mcp.verify.real_server import Bench, LiveBench, ServerResponse
from simtrain.mcp.verify.stand_in import StandIn, stand_in
from simtrain.mcp.verify.subjects import SUBJECTS, subject_of
from simtrain.values.types import JsonObject, Observation, ToolSpec

pytestmark = pytest.mark.slow

OPTIONS = VerifyOptions(calls=200, parallel=1)
LEAST = {"git": 0.90}
"""The least agreement overall; 95 % for every other server."""
UNSEEN = {"append_insight"}
"""What these tools write only resources tell, which are not compared."""


def real(server: str) -> str:
    """The command that starts a real server, with the placeholders of its subject."""
    match server:
        case "memory" | "sequential_thinking":
            words = [node(), npm_program("servers", f"mcp-server-{server.replace('_', '-')}")]
        case "filesystem":
            words = command("filesystem", "{root}")
        case "git":
            words = command("git")
        case "sqlite":
            words = command("sqlite", "--db-path", "{database}")
        case "time":
            words = command("time", "--local-timezone", "UTC")
        case "fetch":
            words = command("fetch", "--proxy-url", "{proxy}")
        case _:
            words = command(server)
    return shlex.join(words)


@dataclass
class ReplayIndex:
    """What a real server answered, call by call, sequence by sequence, in its own terms."""

    root: Path
    schemas: dict[str, JsonObject]
    answers: dict[int, list[ServerResponse]] = field(default_factory=dict[int, list[ServerResponse]])


class Recording:
    """A bench that keeps what the real server answers."""

    def __init__(self, bench: Bench, replay_index: ReplayIndex) -> None:
        self._bench, self._replay_index, self._sequence = bench, replay_index, 0

    @property
    def root(self) -> Path:
        return self._bench.root

    async def fresh(self, sequence: int) -> None:
        self._sequence = sequence
        await self._bench.fresh(sequence)

    async def call(self, tool: str, arguments: JsonObject) -> ServerResponse:
        answered = await self._bench.call(tool, arguments)
        self._replay_index.answers.setdefault(self._sequence, []).append(answered)
        return answered

    async def close(self) -> None:
        await self._bench.close()


class Replay:
    """A bench that answers from a tape: calls depend on the seed and on what the real server says, on nothing else."""

    def __init__(self, replay_index: ReplayIndex) -> None:
        self.root = replay_index.root
        self._replay_index = replay_index
        self._left = iter(())

    async def fresh(self, sequence: int) -> None:
        self._left = iter(self._replay_index.answers[sequence])

    async def call(self, tool: str, arguments: JsonObject) -> ServerResponse:
        return next(self._left)

    async def close(self) -> None:
        return


class Breaking(WorldModel):
    """The world's own engine with one tool broken: it fails (`fails`), or what it does is lost (`forgets`)."""

    tool: str
    how: str

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer]:
        async def answer(request: Request) -> Observation:
            if request.tool.name != self.tool:
                return world.answer(request)
            if self.how == "fails":
                return Observation("Internal error", is_error=True)
            with world.savepoint():
                return world.answer(request)

        yield answer


@pytest.mark.full
@pytest.mark.parametrize("server", SUBJECTS)
async def test_a_stand_in_answers_as_the_real_server_does_and_no_broken_tool_goes_unseen(
    server: str, tmp_path: Path
) -> None:
    own, subject = stand_in(server), subject_of(server)
    root = tmp_path.resolve() / "root"
    live = LiveBench(real(server), subject=subject, world=own.world, root=root, timeout=60, losses=[])
    shown, surfaces = await shown_surfaces(live), await own.surfaces()
    assert [surface.greeting for surface in shown] == [surface.greeting for surface in surfaces[: len(shown)]]
    replay_index = ReplayIndex(root, offered_schemas(shown[0], surfaces[0]))
    sound = await play(own, subject, replay_index.schemas, OPTIONS, bench=lambda _: Recording(live, replay_index))
    assert sound.below(Thresholds(LEAST.get(server, 0.95), 0.85)) == [], sound.divergences()[:3]
    assert {name: share for name, share in sound.shares().items() if share < DEMANDED[name]} == {}

    async def seen(tool: str, how: str) -> bool:
        """Whether a tool that fails agrees less often in one of the sequences that call it; of one that forgets, anything may show it."""
        broken = breaking(own, tool, how)
        for number, outcomes in enumerate(sound.sequences):
            if all(outcome.call.tool != tool for outcome in outcomes):
                continue
            only = replace(OPTIONS, only=number)
            found = await play(broken, subject, replay_index.schemas, only, bench=lambda _: Replay(replay_index))
            pairs = zip(outcomes, found.outcomes, strict=True)
            worse = [after for before, after in pairs if before.problem is None and after.problem is not None]
            if any(how == "forgets" or outcome.call.tool == tool for outcome in worse):
                return True
        return False

    for tool in own.world.tools:
        assert await seen(tool.name, "fails"), tool.name
        if tool.writes and tool.name not in UNSEEN:
            assert await seen(tool.name, "forgets"), tool.name


def breaking(own: StandIn, tool: str, how: str) -> StandIn:
    answering = (Answering("broken", ("*",), Breaking(tool=tool, how=how)),)
    return StandIn(own.name, replace(own.scenario, answering=answering))

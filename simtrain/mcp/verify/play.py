"""Play the plan: every sequence, call by call, on the real server and in a fresh episode of the stand-in."""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from simtrain.files.json_schemas import is_schema
from simtrain.mcp.verify.comparison import difference
from simtrain.mcp.verify.draw import Past
from simtrain.mcp.verify.findings import CallOutcome, Findings
from simtrain.mcp.verify.listing_comparison import alike
from simtrain.mcp.verify.pairing import Pairing
from simtrain.mcp.verify.plan import Generator, deal
from simtrain.mcp.verify.real_server import Bench, LiveBench, ServerResponse
from simtrain.mcp.verify.stand_in import OpenStandIn, StandIn
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.mcp_wire.manifest import Surface
from simtrain.values.errors import InputError
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, as_object


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How much is played: calls, seed, concurrent real servers, and the real server's time limit for one call in seconds.

    `pairs` are patterns of ids or times that may differ one to one, in addition to the subject's own. With `only`, one sequence is played.
    """

    calls: int = 2000
    seed: int = 0
    parallel: int = 2
    timeout: float = 30.0
    pairs: tuple[re.Pattern[str], ...] = ()
    only: int | None = None


async def verify(
    stand_in: StandIn,
    subject: Subject,
    command: str,
    options: VerifyOptions,
    *,
    on_call: Callable[[], None] = lambda: None,
) -> Findings:
    """Play generated calls on the server that `command` starts (or whose URL it is) and on the stand-in.

    `on_call` is called after each call. Raises InputError for a command that cannot be used and for a server that does not start.
    """
    with ExitStack() as folders:
        losses: list[str] = []

        def bench(_: int) -> LiveBench:
            # Some servers cut long values in the middle of a message: the shorter the path, the rarer that is. And they resolve
            # symbolic links before they name a path.
            root = Path(folders.enter_context(TemporaryDirectory(prefix="v"))).resolve()
            return LiveBench(
                command, subject=subject, world=stand_in.world, root=root, timeout=options.timeout, losses=losses
            )

        first = bench(0)
        real = await shown_surfaces(first)
        own = await stand_in.surfaces()
        schemas = offered_schemas(real[0], own[0])
        pairing = Pairing(subject.roots(first.root), {})
        # Only eras that the real server speaks can be compared.
        surfaces = tuple(alike(theirs, ours, pairing) for theirs, ours in zip(real, own, strict=False))
        findings = await play(stand_in, subject, schemas, options, bench=bench, on_call=on_call)
        return replace(findings, surfaces=surfaces)


async def shown_surfaces(bench: LiveBench) -> list[Surface]:
    """Return a real server's surface in the handshake era, and in the other era if it speaks it. Raises InputError."""
    try:
        await bench.fresh(0)
        surfaces = [await bench.surface()]
        modern = await bench.modern_surface()
        return surfaces if modern is None else [*surfaces, modern]
    finally:
        await bench.close()


def offered_schemas(real: Surface, own: Surface) -> dict[str, JsonObject]:
    """Return the input schemas of all tools on either side, by name; the real server's if both offer one. Raises InputError."""
    # From what is no schema no argument can be made: it describes none.
    offered, ours = (
        {
            tool["name"]: as_object(tool["inputSchema"] if is_schema(tool.get("inputSchema")) else None)
            for tool in side.items("tools/list")
            if isinstance(tool.get("name"), str)
        }
        for side in (real, own)
    )
    if not offered:
        raise InputError("the server offers no tools", remedy="verification compares replies to tool calls")
    return {**offered, **{name: schema for name, schema in ours.items() if name not in offered}}


async def play(
    stand_in: StandIn,
    subject: Subject,
    schemas: Mapping[str, JsonObject],
    options: VerifyOptions,
    *,
    bench: Callable[[int], Bench],
    on_call: Callable[[], None] = lambda: None,
) -> Findings:
    """Play the plan over the tools in `schemas`; `bench` creates the real server of one parallel worker. Raises InputError."""
    generator = Generator(subject, schemas)
    plan = deal(list(schemas), subject, calls=options.calls, seed=options.seed)
    if options.only is not None and not 0 <= options.only < len(plan):
        raise InputError(
            f"there is no sequence {options.only}: {options.calls} calls are {len(plan)} sequences, from 0 on"
        )
    left = deque((number, tools) for number, tools in enumerate(plan) if options.only in (None, number))
    outcomes: dict[int, tuple[CallOutcome, ...]] = {}
    extra = {f"pair{number}": pattern for number, pattern in enumerate(options.pairs)}

    async def work(number: int) -> None:
        real = bench(number)
        try:
            while left:
                sequence, tools = left.popleft()
                await real.fresh(sequence)
                # By the number of the sequence, not of the worker: results do not depend on `parallel`.
                seed = derive(options.seed, stand_in.name, "sequence", sequence)
                async with stand_in.episode(seed=seed) as own:
                    pairing = Pairing(subject.roots(real.root), {**extra, **subject.tokens})
                    # Only within a sequence: both sides start from the initial state each time.
                    past = Past(subject.initial(stand_in.world))
                    playing = _Sequence(subject, generator, past, real, own, Stream(seed), pairing)
                    outcomes[sequence] = tuple([await playing.outcome(tool, on_call) for tool in tools])
                    await playing.close()
        finally:
            await real.close()

    workers = [asyncio.create_task(work(number)) for number in range(min(options.parallel, len(left)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        # Waited for, so that no server process outlives its folder.
        await asyncio.gather(*workers, return_exceptions=True)
    played = tuple(outcomes[number] for number in sorted(outcomes))
    return Findings(stand_in.name, options.seed, tuple(schemas), played, options.only or 0)


@dataclass(eq=False)
class _Sequence:
    """One sequence in progress."""

    subject: Subject
    generator: Generator
    past: Past
    real: Bench
    own: OpenStandIn
    stream: Stream
    pairing: Pairing

    def __post_init__(self) -> None:
        self._first = self.own

    async def outcome(self, tool: str, on_call: Callable[[], None]) -> CallOutcome:
        call = self.generator.call(tool, self.past, self.stream)
        answered = await self.real.call(tool, self.pairing.for_real(call.arguments))
        own, problem = await self._compared(call, answered)
        real: JsonObject = self.pairing.from_real(answered.response)
        accepted = not self.subject.failed(real)
        if accepted:
            self._learn(call, real["result"])
        on_call()
        return CallOutcome(call, accepted, real, own, problem)

    def _learn(self, call: GeneratedCall, result: JsonObject) -> None:
        try:
            self.subject.learn(self.past, call, result)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"the server answers {call.tool} unlike the server that the stand-in replaces: {type(error).__name__}: {error}",
                remedy="name the server that the stand-in replaces",
            ) from None

    async def _compared(self, call: GeneratedCall, answered: ServerResponse) -> tuple[JsonObject, str | None]:
        """Return the stand-in's response, and how it differs.

        If a second boundary passed during the real call, the server may have used either second: the stand-in is called at both, and
        the better answer counts. Exact agreement is better than agreement by pairing.
        """
        if int(answered.begun) == int(answered.ended):
            return await self._answer(self.own, self.pairing, call, answered, answered.begun)
        try:
            # Forked before the first try, which changes both world and pairs.
            spare, pairing = await self.own.fork(), self.pairing.copy()
        except InputError:
            return await self._answer(self.own, self.pairing, call, answered, answered.begun)
        own, problem = await self._answer(self.own, self.pairing, call, answered, answered.begun)
        later, later_problem = await self._answer(spare, pairing, call, answered, answered.ended)
        if _rank(own, problem, answered, pairing) >= _rank(later, later_problem, answered, pairing):
            await spare.close()
            return own, problem
        await self.close()
        self.own, self.pairing = spare, pairing
        return later, later_problem

    async def _answer(
        self, own: OpenStandIn, pairing: Pairing, call: GeneratedCall, answered: ServerResponse, moment: float
    ) -> tuple[JsonObject, str | None]:
        response = await own.call(call.tool, call.arguments, moment=moment)
        return response, difference(answered.response, response, pairing)

    async def close(self) -> None:
        """Free the copy that has replaced the original stand-in, if any."""
        if self.own is not self._first:
            await self.own.close()


def _rank(own: JsonObject, problem: str | None, answered: ServerResponse, pairing: Pairing) -> int:
    """Return how well a response agrees: 0 not at all, 1 by pairing, 2 exactly."""
    if problem is not None:
        return 0
    return 2 if difference(pairing.unpaired(answered.response), own, Pairing({}, {})) is None else 1

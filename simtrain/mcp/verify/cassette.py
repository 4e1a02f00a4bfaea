"""Compare a real server with its own recording: resend the recorded requests and report every reply that differs."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from simtrain.mcp.verify.comparison import difference
from simtrain.mcp.verify.findings import CallOutcome, Findings
from simtrain.mcp.verify.listing_comparison import ShownAlike, alike
from simtrain.mcp.verify.pairing import Pairing
from simtrain.mcp.verify.real_server import UNANSWERED
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.mcp_wire.client import connect, shown
from simtrain.mcp_wire.eras import MODERN
from simtrain.mcp_wire.manifest import LISTED, Exchange, Surface
from simtrain.mcp_wire.targets import Target, parse_target
from simtrain.values.errors import InputError, SimulatorFault, nearest
from simtrain.values.types import JsonObject, as_object
from simtrain.worlds.recorded.recorded_sessions import RecordedSession, by_caller, read_sessions
from simtrain.worlds.recorded.served_servers import GREETINGS, read_servers

UNPLAYED = frozenset({*GREETINGS, *LISTED, "subscriptions/listen"})
"""Not resent: greetings and lists are compared as part of the surface, and a subscription stream has no reply."""


async def recheck(
    cassette: Path,
    command: str,
    *,
    server: str | None = None,
    pairs: Sequence[re.Pattern[str]] = (),
    timeout: float = 30.0,
    on_call: Callable[[], None] = lambda: None,
) -> Findings:
    """Send a server the requests of a recording or manifest, in the same order; it is restarted for each recorded connection.

    `server` names one of several recorded servers; `pairs` are patterns of ids and times that may differ one to one, as UUIDs may.
    Raises InputError for a recording without requests, and for a server that does not start.
    """
    recorded_sessions, name = _of_server(read_sessions(cassette), server, cassette)
    target = parse_target(command)
    # A real server draws new ids each time, so a recording can only be compared up to a one-to-one map of them.
    tokens = {**Subject.tokens, **{f"pair{number}": pattern for number, pattern in enumerate(pairs)}}
    played: list[tuple[CallOutcome, ...]] = []
    for recorded_session in recorded_sessions:
        for part in by_caller(recorded_session).values():
            recorded = [exchange for exchange in part.exchanges if exchange.method not in UNPLAYED]
            if recorded:
                played.append(tuple(await _again(target, recorded, Pairing({}, tokens), timeout, on_call)))
    surfaces = [await _surface(target, recorded, timeout) for recorded in _recorded(cassette, name)]
    if not played and not surfaces:
        raise InputError("nothing was recorded that could be asked again", file=cassette)
    return Findings(name, 0, (), tuple(played), surfaces=tuple(surfaces), past=cassette.name)


def _of_server(
    recorded_sessions: Sequence[RecordedSession], server: str | None, cassette: Path
) -> tuple[list[RecordedSession], str]:
    names = list(dict.fromkeys(recorded_session.server for recorded_session in recorded_sessions))
    if server is None and len(names) != 1:
        problem = f"{len(names)} servers were recorded" if names else "nothing was recorded"
        raise InputError(
            problem, remedy=f"name one with --server: {', '.join(names)}" if names else None, file=cassette
        )
    if server is not None and server not in names:
        raise InputError(f"no server {server!r} was recorded", remedy=nearest(server, names), file=cassette)
    chosen = server or names[0]
    return [recorded_session for recorded_session in recorded_sessions if recorded_session.server == chosen], chosen


def _recorded(cassette: Path, server: str) -> tuple[Surface, ...]:
    """Return the recorded surfaces; empty if no client initialized the server and listed its tools."""
    try:
        return read_servers(cassette).servers[server].surfaces
    except InputError:
        return ()


async def _surface(target: Target, recorded: Surface, timeout: float) -> ShownAlike:
    async with connect(target, era=recorded.era, capabilities=recorded.capabilities, timeout=timeout) as client:
        now, _ = await shown(client, timeout=timeout)
    return alike(now, recorded, Pairing({}, {}))


async def _again(
    target: Target, recorded: Sequence[Exchange], pairing: Pairing, timeout: float, on_call: Callable[[], None]
) -> list[CallOutcome]:
    """Send all requests on one connection, in order. Requests after an unanswered one are not sent and count as differing."""
    outcomes: list[CallOutcome] = []
    lost: JsonObject | None = None
    async with connect(target, era=recorded[0].era, capabilities=recorded[0].capabilities, timeout=timeout) as client:
        if client.era == MODERN:
            # The client needs the schemas: they say which arguments are also sent as headers.
            await shown(client, timeout=timeout)
        for exchange in recorded:
            response = lost
            if response is None:
                params = pairing.for_real(exchange.params)
                try:
                    response = (await client.request(exchange.method, params, timeout=timeout, progress=True)).response
                except SimulatorFault as fault:
                    # A server that died answers nothing more; waiting for each further reply would cost the same timeout.
                    response = lost = {"error": {"code": UNANSWERED, "message": f"no answer: {fault}"}}
            outcomes.append(_outcome(exchange, response, pairing))
            on_call()
    return outcomes


def _outcome(exchange: Exchange, response: JsonObject, pairing: Pairing) -> CallOutcome:
    problem = difference(response, exchange.response, pairing, other="recording")
    accepted = not Subject().failed(exchange.response)
    name = exchange.params.get("name") if exchange.method == "tools/call" else None
    arguments = exchange.params.get("arguments") if isinstance(name, str) else exchange.params
    # Requests that are not tool calls are counted under their method.
    call = GeneratedCall(
        name if isinstance(name, str) else exchange.method,
        as_object(arguments),
        "valid" if accepted else "invalid",
    )
    return CallOutcome(call, accepted, pairing.from_real(response), exchange.response, problem)

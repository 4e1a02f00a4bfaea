"""Capture servers: the surface each shows to every kind of client, the wording of its errors, and its answers to probes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TypeAlias

from simtrain.files.redaction import Redactor
from simtrain.mcp.capture.mcp_json import ConfiguredServer
from simtrain.mcp.capture.probes import (
    Probe,
    ProbeFile,
    WrongRequest,
    latency,
    mistakes,
    protocol_mistakes,
    sure_mistakes,
)
from simtrain.mcp.capture.server_secrets import secrets_of, source_of
from simtrain.mcp_wire.client import Client, connect, shown
from simtrain.mcp_wire.eras import ALL_CAPABILITIES, ERAS, HANDSHAKE, HANDSHAKE_VERSIONS, MODERN, TASKS, other_era_limit
from simtrain.mcp_wire.faults import NotSpoken
from simtrain.mcp_wire.manifest import NO_VERSION, Exchange, Manifest, ServerManifest, Surface
from simtrain.mcp_wire.targets import Target
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, as_object

AT_ONCE = 8
"""Servers that are captured concurrently."""

SETTLING = 0.2
"""Seconds of silence before lists are requested: a server may build them from requests that it first sends to its client."""

Watch: TypeAlias = Callable[[str, str], None]
"""Called with (server, current activity) during a capture."""


@dataclass(frozen=True)
class Patience:
    """Limits in seconds: for the start and handshake, one request, one server in total, and all calls with bad arguments."""

    start: float = 60.0
    request: float = 20.0
    server: float = 300.0
    misuses: float = 60.0


@dataclass(frozen=True)
class Captured:
    """The result: a manifest of the servers that could be captured, the reason for each of the others, and remarks by server."""

    manifest: Manifest
    failures: Mapping[str, InputError]
    remarks: Mapping[str, tuple[str, ...]]
    seconds: Mapping[str, float]
    """The time that each captured server took, in seconds."""


async def capture_all(
    sources: Sequence[ConfiguredServer],
    *,
    probes: ProbeFile | None = None,
    writes: bool = False,
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Captured:
    """Capture several servers concurrently; a failure affects only that server. Raises InputError for probes that fit no server.

    With `writes`, tools that may change something are called with bad arguments too.
    """
    if probes is not None:
        probes.check_servers(source.name for source in sources)
    # Each server is a process, often of node: more at once would make all of them miss their limits.
    free = asyncio.Semaphore(AT_ONCE)
    takes = [_Take(source.name, probes, patience or Patience(), watch or _ignore, writes) for source in sources]

    async def run(source: ConfiguredServer, take: _Take) -> ServerManifest | InputError:
        async with free:
            return await take.run(source.target)

    came = await asyncio.gather(*(run(source, take) for source, take in zip(sources, takes, strict=True)))
    servers = {server.name: server for server in came if isinstance(server, ServerManifest)}
    if probes is not None:
        probes.check_tools({name: server.surfaces for name, server in servers.items()})
    named = list(zip(sources, came, takes, strict=True))
    return Captured(
        Manifest(servers),
        {source.name: problem for source, problem, _ in named if isinstance(problem, InputError)},
        {source.name: tuple(take.remarks) for source, _, take in named},
        {source.name: take.seconds for source, _, take in named},
    )


@dataclass
class _Take:
    """The capture of one server, in progress."""

    name: str
    probes: ProbeFile | None
    patience: Patience
    watch: Watch
    writes: bool
    remarks: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    started: float = 0.0
    """Seconds until it answered first."""
    surfaces: list[Surface] = field(default_factory=list[Surface])
    mistaken: list[Exchange] = field(default_factory=list[Exchange])
    probed: list[Exchange] = field(default_factory=list[Exchange])
    profile: JsonObject = field(default_factory=dict[str, JsonValue])
    versions: JsonObject = field(default_factory=dict[str, JsonValue])

    async def run(self, target: Target | InputError) -> ServerManifest | InputError:
        """Return the manifest of the server, or the error that prevented it."""
        if isinstance(target, InputError):
            return target
        begun = monotonic()
        problem = InputError(f"it was not captured within {self.patience.server:g} s", remedy="raise --server-timeout")
        try:
            async with asyncio.timeout(self.patience.server):
                server = await self._capture(target)
        except InputError as error:
            problem = error
        except SimulatorFault as fault:
            problem = InputError(str(fault))
        except TimeoutError:
            pass
        else:
            self.seconds = monotonic() - begun
            self.watch(self.name, f"captured in {self.seconds:.1f} s")
            return server
        self.watch(self.name, "failed")
        return problem

    async def _capture(self, target: Target) -> ServerManifest:
        refusals: list[InputError] = []
        for era in ERAS:
            # A server that speaks one era may not answer in the other at all.
            limit = min(self.patience.start, other_era_limit(self.started)) if self.surfaces else self.patience.start
            try:
                await self._show_era(target, era, limit)
            except NotSpoken as refusal:
                refusals.append(refusal)
            except InputError as problem:
                # Without any surface so far the server does not start at all; otherwise only this era fails.
                if not self.surfaces:
                    raise
                self._remark(f"not captured whole in {era}: {problem.problem}")
        if not self.surfaces:
            raise InputError("; ".join(str(refusal) for refusal in refusals))
        if self.probes is not None:
            eras = list(dict.fromkeys(surface.era for surface in self.surfaces))
            for era in eras if self.probes.eras == "each" else eras[:1]:
                await self._probe(target, era, self.probes)
        return self._manifest(target)

    def _manifest(self, target: Target) -> ServerManifest:
        secrets = secrets_of(target)
        in_surfaces, in_replies = Redactor(secrets, by_name=False), Redactor(secrets)
        return ServerManifest(
            name=self.name,
            source=source_of(target, in_replies),
            surfaces=tuple(_surface_without_secrets(surface, in_surfaces) for surface in self.surfaces),
            exchanges=tuple(_exchange_without_secrets(each, in_replies) for each in (*self.mistaken, *self.probed)),
            profile=in_replies.object(self.profile),
            latency=latency(self.probed),
            versions=self.versions,
        )

    async def _show_era(self, target: Target, era: str, limit: float) -> None:
        """Capture a surface for each set of client capabilities that makes a difference, and the built-in mistakes."""
        self.watch(self.name, f"listing, {era}")
        begun = monotonic()
        async with connect(target, era=era, timeout=limit) as client:
            self.started = self.started or monotonic() - begun
            plain = await self._show(client)
            self.surfaces.append(plain)
            left = await self._misuse(client, [*mistakes(plain, writes=self.writes), *protocol_mistakes(plain)])
            # No tool is safe to call, so only calls that the library refuses before a tool runs are left.
            if not left and "bad_arguments" not in self.profile:
                await self._misuse(client, sure_mistakes(plain, self.profile))
        while left:
            # A server may die of a mistake: the next one gets a new connection.
            async with connect(target, era=era, timeout=limit) as client:
                left = await self._misuse(client, left)
        if era == HANDSHAKE:
            await self._negotiate(target, plain, limit)
        await self._show_to_able(target, era, plain, limit)

    async def _show_to_able(self, target: Target, era: str, plain: Surface, limit: float) -> None:
        """Capture a surface for each set of capabilities that makes a difference: for all of them, and for clients with
        a single one.
        """
        sets: list[JsonObject] = [ALL_CAPABILITIES, {"elicitation": {"form": {}}}, {"sampling": {}}]
        seen = [await self._show_to(target, era, capabilities, limit) for capabilities in sets]
        further: list[JsonObject] = []
        if not all(_alike(surface, plain) for surface in seen):
            further += [{name: value} for name, value in ALL_CAPABILITIES.items()]
        if era == HANDSHAKE and "tasks" in as_object(plain.greeting.get("capabilities")):
            further.append(ALL_CAPABILITIES | TASKS)
        seen += [await self._show_to(target, era, capabilities, limit) for capabilities in further]
        # Two passes: keeping a surface can make it the nearest one for a client that matched another before.
        for surface in (*seen, *seen):
            expected = ServerManifest(self.name, {}, tuple(self.surfaces)).surface(era, surface.capabilities)
            if not _alike(surface, expected):
                self.surfaces.append(surface)

    async def _negotiate(self, target: Target, plain: Surface, limit: float) -> None:
        """Request each revision of the handshake era, and one that never existed, each on a connection of its own."""
        self.versions[HANDSHAKE] = plain.greeting.get("protocolVersion")
        for version in (*HANDSHAKE_VERSIONS[1:], NO_VERSION):
            self.watch(self.name, f"asking for revision {version}")
            try:
                async with connect(target, era=version, timeout=limit) as client:
                    self.versions[version] = client.version
            except NotSpoken:
                # The server refused, or named an unknown revision.
                continue

    async def _show_to(self, target: Target, era: str, capabilities: JsonObject, limit: float) -> Surface:
        self.watch(self.name, f"listing, {era}, as a client with {', '.join(capabilities)}")
        async with connect(target, era=era, capabilities=capabilities, timeout=limit) as client:
            # A client with capabilities may be asked for roots first, and the lists may depend on its answer.
            await client.quiet(SETTLING)
            return await self._show(client)

    async def _show(self, client: Client) -> Surface:
        surface, refused = await shown(client, timeout=self.patience.request)
        for method, error in refused.items():
            self._refused(client, method, error)
        if client.connection.strays.count:
            stray = client.connection.strays.first[0][:80]
            self._remark(f"its output holds lines that are not MCP, the first is {stray!r}")
        return surface

    async def _misuse(self, client: Client, left: list[WrongRequest]) -> list[WrongRequest]:
        """Make mistakes until one is not answered; return those still to be made."""
        self.watch(self.name, f"making mistakes, {client.era}")
        begun = monotonic()
        for number, mistake in enumerate(left):
            if mistake.kind == "bad_arguments" and monotonic() - begun > self.patience.misuses:
                continue
            try:
                exchange = await client.request(mistake.method, mistake.params, timeout=self.patience.request)
            except SimulatorFault as fault:
                self._remark(f"{mistake.kind}: {fault}")
                rest = left[number + 1 :]
                # Skipped as a group: a server that ignores one malformed request ignores the others, each for the whole timeout.
                return [other for other in rest if not (mistake.protocol and other.protocol)]
            response: JsonObject = exchange.response
            if mistake.kind == "bad_cursor" and exchange.result is not None:
                # The server ignores invalid cursors and returned its list.
                response = {"result": {}}
            elif mistake.params is not None:
                self.mistaken.append(exchange)
            # The first of a kind stands for it; later ones are kept as exchanges.
            self.profile.setdefault(mistake.kind, response)
        return []

    async def _probe(self, target: Target, era: str, probes: ProbeFile) -> None:
        """Play the probes in order, with one connection per set of capabilities."""
        # In one connection per client, since probes may depend on what earlier ones changed.
        by_client: dict[tuple[str, ...] | None, list[Probe]] = {}
        for probe in probes.of(self.name, self.surfaces):
            able = None if probe.capabilities is None else tuple(probe.capabilities)
            by_client.setdefault(able, []).extend([probe] * probe.times)
        for able, played in by_client.items():
            capabilities = {name: value for name, value in ALL_CAPABILITIES.items() if able is None or name in able}
            connection = connect(
                target,
                era=era,
                capabilities=capabilities,
                timeout=self.patience.start,
                answers=probes.answers,
            )
            async with connection as client:
                await client.quiet(SETTLING)
                if era == MODERN:
                    # The client needs the schemas: they say which arguments are also sent as headers.
                    await client.list("tools/list", timeout=self.patience.request)
                await self._play(client, played)

    async def _play(self, client: Client, played: list[Probe]) -> None:
        """Play probes; stop at the first that is not answered, since later ones may depend on it."""
        for done, probe in enumerate(played, 1):
            self.watch(self.name, f"probing, {client.era}, {done} of {len(played)}")
            method, params = probe.request()
            limit = probe.timeout or self.patience.request
            try:
                self.probed.append(await client.request(method, params, timeout=limit, progress=True))
            except SimulatorFault as fault:
                self._remark(f"the probes ended at {done} of {len(played)}: {fault}")
                return

    def _refused(self, client: Client, method: str, error: JsonObject) -> None:
        """Record a list that was declared but refused, once for each era: the stand-in refuses it too."""
        if any(each.method == method and each.era == client.era for each in self.mistaken):
            return
        self.mistaken.append(Exchange(method, {}, {"error": error}, client.era, client.capabilities))

    def _remark(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)


def _alike(one: Surface, other: Surface) -> bool:
    return (one.greeting, one.lists) == (other.greeting, other.lists)


def _surface_without_secrets(surface: Surface, hidden: Redactor) -> Surface:
    lists = {method: tuple(hidden.object(page) for page in pages) for method, pages in surface.lists.items()}
    return replace(surface, greeting=hidden.object(surface.greeting), lists=lists)


def _exchange_without_secrets(exchange: Exchange, hidden: Redactor) -> Exchange:
    return replace(
        exchange,
        params=hidden.object(exchange.params),
        response=hidden.object(exchange.response),
        notifications=tuple(hidden.object(each) for each in exchange.notifications),
        asks=tuple(hidden.object(each) for each in exchange.asks),
        rounds=tuple(hidden.object(each) for each in exchange.rounds),
    )


def _ignore(server: str, doing: str) -> None:
    """Ignore progress."""

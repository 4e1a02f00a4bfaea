"""Perturbations between a client and a real server: the frames they meet, and the frames that result."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from simtrain.contracts.perturbation import Armed, Call, Perturbation
from simtrain.contracts.request import Answer, Request, no_tool
from simtrain.contracts.trajectory import Changed
from simtrain.episodes.active_perturbation import Active, PerturbationKind
from simtrain.episodes.firing import PerturbationChain, PerturbedCall, same_reply
from simtrain.files.yaml_files import read_document
from simtrain.mcp.relay.call import RelayedCall, RelayedPerturbation, RelayOutcome, Repeat, Server
from simtrain.mcp.relay.offered_tools import Audience, OfferedTools, client_of, repeatable, rewritten
from simtrain.mcp.relay.perturbable_requests import PERTURBABLE, arguments_of, name_of, response
from simtrain.mcp.serve.wire_tools import tool_of
from simtrain.mcp_wire.frames import objects
from simtrain.scenarios.find import find
from simtrain.scenarios.load import arm_pack
from simtrain.values.clock import DEFAULT_START, Clock, instant
from simtrain.values.errors import InputError
from simtrain.values.seeding import Root, derive
from simtrain.values.types import JsonObject, JsonValue, Observation, as_object
from simtrain.worlds.recorded.replay_index import CALL

UNKNOWN_TOOL = -32602

Scope: TypeAlias = str | None
"""The scope in which ids are unique: an MCP session, an HTTP request, or None for the only client of a stdio server."""

_Key: TypeAlias = tuple[Scope, str, str]


@dataclass(frozen=True)
class RelayRules:
    """What the user allows.

    `allow_duplicates`: a call that may write can reach the server twice, if a perturbation says so. `real_time`: delays take real
    time; otherwise they are virtual and only recorded. `patience`: real seconds after which a perturbation is abandoned, and the call
    goes on without it.
    """

    allow_duplicates: bool = False
    real_time: bool = False
    patience: float = 600.0


def load_perturbations(names: Sequence[str]) -> list[Armed]:
    """Return the perturbations of packs (names or YAML files). Raises InputError, also for one that cannot work in a relay."""
    found: list[Armed] = []
    for name in names:
        document = read_document(find("perturbations", name))
        for armed in arm_pack(document):
            reason = _no_place_here(armed)
            if reason is not None:
                raise InputError(
                    f"the perturbation {armed.label!r} {reason}",
                    remedy="use it in a scenario, where a world is simulated",
                    file=document.path,
                )
            if armed.label in [other.label for other in found]:
                raise InputError(
                    f"the label {armed.label!r} appears twice",
                    remedy="give one of them another name with `as`",
                    file=document.path,
                )
            found.append(armed)
    return found


def _no_place_here(armed: Armed) -> str | None:
    if armed.perturbation.traits.needs_world:
        return "needs the state of a world, but behind a relay there is a real server"
    if armed.when.state is not None:
        return "is triggered by the state of a world, but behind a relay there is a real server"
    # By the method, not a trait: whatever overrides it acts on a task that a relay never sees.
    if type(armed.perturbation).ask is not Perturbation.ask:
        return "acts on the task, which a relay cannot see"
    return "is triggered by turns, which a relay cannot see" if armed.when.turns is not None else None


@dataclass
class _Pending:
    method: str
    tool: str
    client: str | None
    relayed: RelayedCall | None = None


class Perturber:
    """The perturbations of one relay. All clients together play one episode, each with the tools that it was shown."""

    def __init__(self, armed: Sequence[Armed], *, seed: int = 0, rules: RelayRules | None = None) -> None:
        self._seed = seed
        self._rules = rules or RelayRules()
        self._active = [Active(PerturbationKind(item), Root(seed, "relay", item.label)) for item in armed]
        self._pending: dict[_Key, _Pending] = {}
        self._paused: dict[tuple[str, str], RelayedCall] = {}
        self._audience = Audience(armed, seed=seed)
        self._repeatable: set[str] = set()
        self._succeeded: set[str] = set()
        self._calls = 0
        self.fired: dict[str, int] = {item.label: 0 for item in armed}

    async def ready(self) -> None:
        """Check that everything the perturbations need can be reached. Raises InputError."""
        for active in self._active:
            await active.kind.perturbation.ready()

    def client_sends(
        self, frame: JsonObject, scope: Scope, repeat: Repeat, *, session: str | None = None
    ) -> RelayedCall | None:
        """Take a frame from a client. Return None if it goes on unchanged. `session` is its MCP session, if it has one."""
        if not self._active or "id" not in frame or "method" not in frame:
            if frame.get("method") == "notifications/cancelled":
                self._forget(scope, as_object(frame.get("params")).get("requestId"))
            return None
        method, params = str(frame["method"]), as_object(frame.get("params"))
        pending = _Pending(method, name_of(frame), client_of(frame, session))
        if method in PERTURBABLE:
            pending.relayed = self._relayed(frame, params, self._audience.to(pending.client), repeat)
        if method in PERTURBABLE or method == "tools/list":
            self._pending[_key(scope, frame["id"])] = pending
        # A retry with answers (2026-07-28) belongs to a call that was sent before, and goes on as it is.
        return None if pending.relayed is None or pending.relayed.request is not frame else pending.relayed

    def server_sends(self, frame: JsonObject, scopes: Sequence[Scope]) -> RelayedCall | RelayOutcome | None:
        """Take a frame from the server. Return None if it goes on unchanged, a RelayOutcome if it is changed at once."""
        if not self._pending or "method" in frame or "id" not in frame:
            return None
        pending = next(
            (self._pending.pop(key) for key in (_key(scope, frame["id"]) for scope in scopes) if key in self._pending),
            None,
        )
        if pending is None:
            return None
        result = as_object(frame.get("result"))
        if pending.method == "tools/list":
            return self._listed(frame, result, pending.client)
        # The call pauses here for the client's answers; its perturbations wait for the reply that follows the retry.
        if result.get("resultType") == "input_required":
            self._paused = {key: other for key, other in self._paused.items() if not other.outcome.done()}
            if pending.relayed is not None:
                self._paused[pending.tool, str(result.get("requestState"))] = pending.relayed
            return None
        if "result" in frame and result.get("isError") is not True:
            self._succeeded.add(pending.tool)
        if pending.relayed is not None:
            pending.relayed.arrive(frame)
        return pending.relayed

    def ended(self, scope: Scope) -> None:
        """Note that nothing more can arrive in this scope."""
        for key in [key for key in self._pending if key[0] == scope]:
            relayed = self._pending.pop(key).relayed
            if relayed is not None:
                relayed.cancel()

    def _relayed(
        self, frame: JsonObject, params: JsonObject, shown: OfferedTools, repeat: Repeat
    ) -> RelayedCall | None:
        name = name_of(frame)
        if "requestState" in params or "inputResponses" in params:
            return self._paused.pop((name, str(params.get("requestState"))), None)
        tool = self._audience.tool(shown, name) if frame["method"] == CALL else no_tool(name)
        if tool is None:
            relayed = RelayedCall(frame, by=self._by_offer(shown), repeat=repeat)
            relayed.outcome = asyncio.create_task(_unknown(frame, name, relayed.by))
            return relayed
        # The relay has no turns: it cannot see assistant messages. Triggers by turn are refused when packs are loaded.
        request = Request(tool, arguments_of(frame), self._calls, 0)
        self._calls += 1
        matched = self._matched(request)
        if not matched and name not in shown.owners:
            return None
        relayed = RelayedCall(frame, by=[], repeat=repeat)
        relayed.outcome = asyncio.create_task(self._perturb(relayed, request, matched, shown))
        return relayed

    def _matched(self, request: Request) -> list[tuple[Active, int]]:
        """Return the perturbations that meet a call, each with the result of `Active.meets`."""
        found = [(active, active.meets(request, self._succeeded, None)) for active in self._active if active.kind.acts]
        return [(active, matching) for active, matching in found if matching is not None]

    async def _perturb(
        self, relayed: RelayedCall, request: Request, matched: Sequence[tuple[Active, int]], shown: OfferedTools
    ) -> RelayOutcome:
        # A clock for each call, not for the relay: only the delay within this call is wanted.
        clock = Clock(start=instant(DEFAULT_START), per_step=0)
        begun = clock.moment
        fired: list[JsonObject] = []
        notes: JsonObject = {"by": fired}
        name, reads = request.tool.name, relayed.request["method"] != CALL
        # A second real call is safe if the tool only reads or says that it is idempotent.
        repeats = reads or self._rules.allow_duplicates or name in self._repeatable
        server = Server(relayed, notes, repeats=repeats)
        call = partial(self._call, shown, clock)
        answer: Answer = server.proceed
        if name in shown.owners:
            answer = _served(self._active[shown.owners[name]], call, answer)

        def note(perturbed: PerturbedCall, _: Observation, changed: tuple[Changed, ...], counts: bool) -> None:
            kind, matching = perturbed.active.kind, perturbed.matching
            self.fired[kind.label] += counts
            fired.append({"label": kind.label, "use": kind.armed.use, "matching": matching, "changed": list(changed)})

        try:
            async with asyncio.timeout(self._rules.patience):
                chain = PerturbationChain(
                    matched, answer, prepare=call, note=note, perturbed=partial(RelayedPerturbation, server)
                )
                observation = await chain.answered(request)
        except Exception as error:
            # If a perturbation fails, the client must not lose its call: it goes on unchanged, and the recording notes the failure.
            relayed.let_go()
            return RelayOutcome(None, {**notes, "failed": f"{type(error).__name__}: {error}"})
        finally:
            for active, matching in matched:
                # A firing that was decided but never reached, as after a failure or a cancelled call, must not count.
                active.trigger.give_back(matching)
        # Six digits, as in trajectories: sums of floats would otherwise differ in the last digit.
        late = round(clock.moment - begun, 6)
        if late:
            notes["seconds" if self._rules.real_time else "virtual_seconds"] = late
            if self._rules.real_time:
                await asyncio.sleep(late)
        relayed.by[:] = fired
        if server.first is not None and same_reply(observation, server.first):
            # A perturbation that changed nothing leaves no trace.
            return RelayOutcome(None, notes if fired or len(notes) > 1 else {})
        return RelayOutcome(response(relayed.request, relayed.reply_id, observation, server.reply), notes)

    def _call(self, shown: OfferedTools, clock: Clock, active: Active, request: Request, matching: int) -> Call:
        return Call(
            request=request,
            rng=active.root.stream(request.tool.name, matching),
            clock=clock,
            memory=active.memory,
            world=None,
            snapshots=active.snapshots,
            tools=tuple(shown.tools.values()),
            given=shown.given.get(self._active.index(active), ()),
            manners=derive(self._seed, "manners", "relay"),
            root=active.root,
        )

    def _listed(self, frame: JsonObject, result: JsonObject, client: str | None) -> RelayOutcome | None:
        descriptors = objects(result.get("tools"))
        tools = tuple(tool_of(descriptor) for descriptor in descriptors)
        self._repeatable |= repeatable(descriptors)
        offered = self._audience.list(client, tools)
        if offered == tools:
            return None
        by = self._by_offer(self._audience.to(client))
        for item in by:
            self.fired[item["label"]] += 1
        changed = {**frame, "result": {**result, "tools": rewritten(descriptors, tools, offered)}}
        return RelayOutcome(changed, {"by": by})

    def _by_offer(self, shown: OfferedTools) -> list[JsonObject]:
        """Return the perturbations of the tool list that changed it. Others changed it only to prepare what they do to replies."""
        changing = [self._active[place].kind.armed for place in sorted(shown.changing)]
        return [
            {"label": item.label, "use": item.use, "changed": ["tools"]}
            for item in changing
            if item.perturbation.traits.side == "manifest"
        ]

    def _forget(self, scope: Scope, identity: JsonValue) -> None:
        pending = self._pending.pop(_key(scope, identity), None)
        if pending is not None and pending.relayed is not None:
            pending.relayed.cancel()


def _served(owner: Active, call: Callable[[Active, Request, int], Call], inner: Answer) -> Answer:
    """Return a function that answers calls of a tool added by a perturbation."""

    async def served(request: Request) -> Observation:
        return await owner.kind.perturbation.serve(call(owner, request, 0), inner)

    return served


async def _unknown(frame: JsonObject, name: str, by: list[JsonObject]) -> RelayOutcome:
    error: JsonObject = {"code": UNKNOWN_TOOL, "message": f"Unknown tool: {name}"}
    return RelayOutcome({"jsonrpc": "2.0", "id": frame["id"], "error": error}, {"by": by})


def _key(scope: Scope, identity: JsonValue) -> _Key:
    # The ids 1 and "1" are different in JSON-RPC.
    return scope, type(identity).__name__, str(identity)

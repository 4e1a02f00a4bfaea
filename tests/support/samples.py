"""Trajectories for tests, built by hand with the dataclasses that rollouts fill in."""

from __future__ import annotations

from dataclasses import replace

from simtrain.contracts.trajectory import Event, Reward, Step, Stop, Trajectory, Turn, WorldFacts
from simtrain.values.types import Action, Change, JsonObject, Observation, Provenance, ToolSpec, Usage

SEARCH = ToolSpec(
    "orders.search",
    "Find the orders of a customer.",
    {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]},
)
REFUND = ToolSpec(
    "payments.refund",
    "Refund a charge.",
    {"type": "object", "properties": {"charge_id": {"type": "string"}}, "required": ["charge_id"]},
    output_schema={"type": "object"},
    writes=True,
)
EMBEDDED = Provenance("embedded")


def step(
    index: int, tool: str, arguments: JsonObject, text: str, *, is_error: bool = False, fired: str | None = None
) -> Step:
    """One step; with `fired`, a perturbation of that label bent its reply."""
    observation = Observation(text, is_error=is_error, json=text.startswith("{"), provenance=EMBEDDED)
    events = (
        ()
        if fired is None
        else (Event(fired, "rate_limit", "P", 1, Observation('{"ok":true}', json=True), observation),)
    )
    return Step(index, Action(f"call_{index}", tool, arguments), observation, f"2031-03-03T09:0{index}:00Z", events)


def refund() -> Trajectory:
    """Two calls at once, one of them failing under a rate limit, a retry, malformed arguments, and the right answer."""
    broken = Step(
        3,
        Action("call_3", "payments.refund", {}, malformed='{"charge_id": '),
        Observation(
            "Invalid arguments for tool payments.refund: not JSON", is_error=True, provenance=Provenance("proxy")
        ),
        "2031-03-03T09:03:00Z",
    )
    turns = [
        Turn(
            "Let me look.",
            "I need the orders first.",
            Usage(900, 40, 512, 0.002),
            [
                step(0, "orders.search", {"customer": "Zoë"}, '{"orders":[{"id":"O1"}]}'),
                step(1, "payments.refund", {"charge_id": "C7"}, "429 Too Many Requests", is_error=True, fired="busy"),
            ],
        ),
        Turn("", None, None, [step(2, "payments.refund", {"charge_id": "C7"}, '{"amount":12.5}')]),
        Turn("", None, None, [broken]),
        Turn("Refunded 12.50.", "Done.", Usage(1200, 12, 900, 0.001)),
    ]
    return Trajectory(
        scenario="helpdesk/refund",
        scenario_digest="d1",
        episode="case-3",
        case={"customer": "Zoë", "order": "O1"},
        seed=7,
        attempt=0,
        paradigm="impersonation",
        world=WorldFacts("helpdesk", "w1", 7, {"orders": 300}),
        agent={"name": "chat", "model": "m-1"},
        system="You are a support agent.",
        prompt="Zoë was charged twice.\nRefund her.",
        tools=(SEARCH, REFUND),
        turns=turns,
        answer="12.50",
        stop=Stop("answered"),
        changes={"refunds": (Change(1, None, {"id": "R1", "amount": 12.5}),)},
        perturbations=("busy",),
        reward=1.0,
        rewards=(Reward("final_state", 1.0), Reward("answer", 1.0, 2.0, detail={"given": "12.50"})),
        usage=Usage(2100, 52, 1412, 0.003),
        timing={"started": "2026-01-01T00:00:00Z", "seconds": 1.5},
        version="0.1.0",
    )


def refused() -> Trajectory:
    """An honest refusal without a single call, by an agent that is not a model."""
    return replace(
        refund(),
        scenario="shop/out_of_stock",
        episode="case-0",
        agent={"name": "resilient"},
        system="",
        tools=(),
        turns=[Turn("That cannot be done.")],
        answer=None,
        stop=Stop("abstained"),
        changes={},
        perturbations=(),
        reward=0.5,
        rewards=(Reward("abstention", 0.5),),
        usage=None,
    )


def cut_short() -> Trajectory:
    """An episode that ran out of turns right after a reply."""
    return replace(
        refund(),
        episode="case-9",
        turns=refund().turns[:2],
        answer=None,
        stop=Stop("max_turns", detail="2 turns without an answer"),
        reward=0.0,
        rewards=(Reward("final_state", 0.0),),
    )


def silent() -> Trajectory:
    """An episode in which the agent never said a word."""
    return replace(refund(), episode="case-5", turns=[Turn()], answer=None, stop=Stop("budget"), reward=0.0)

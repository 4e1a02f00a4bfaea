"""What counts as a firing: reply, rows and virtual time compared, whatever the perturbation says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from bakery import scenario
from perturbing import Played, play

from simtrain import rollout
from simtrain.contracts import registry
from simtrain.contracts.perturbation import Call, Perturbation, Snapshots, Traits
from simtrain.contracts.request import Answer
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, Provenance, ToolSpec

LIST = ("cakes.list", {})
PLACE = ("orders.place", {"cake_id": "K001", "amount": 1})
ORDERS = ("orders.list", {"cake_id": "K001"})


class Told(Perturbation):
    """Does what `way` says and claims to have done something by its provenance alone."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", effect="after")

    way: str = "nothing"
    seen: ClassVar[list[tuple[int, bool]]] = []

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        world = call.world
        assert world is not None
        noted = [*call.memory.get("noted", []), call.request.index]
        self.seen.append((len(noted), call.snapshots.get("before") is None))
        call.memory["noted"] = noted
        call.snapshots.keep("before", world.fork())
        if self.way == "made up":
            with world.savepoint():
                return world.answer(call.request)
        if self.way == "beforehand":
            world.execute("update cakes set stock = stock + 1 where id = 'K002'")
        observation = await proceed(call.request)
        if self.way == "the same":
            world.execute("update cakes set stock = stock")
            world.execute("update cakes set stock = stock + 1 where id = 'K001'")
            world.execute("update cakes set stock = stock - 1 where id = 'K001'")
        if self.way == "rows":
            world.execute("update cakes set stock = stock + 1 where id = 'K001'")
        if self.way == "undone":
            with world.savepoint():
                return await proceed(call.request)
        if self.way == "clock":
            call.clock.advance(3)
        if self.way == "wire":
            return replace(observation, wire={"result": {"content": []}})
        if self.way == "reply":
            return replace(observation, text=f"{observation.text} ")
        return replace(observation, provenance=Provenance("told"))


class Lasting(Told):
    """The same, but asked about later calls too: what it notes it keeps."""

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", effect="after", follows="fired")


class Beforehand(Perturbation):
    """Bends the tools, the task, or both, as `what` says."""

    traits: ClassVar[Traits] = Traits(side="request", layer="M")

    what: str = ""

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        return tools[1:] if "tools" in self.what else tools

    def ask(self, prompt: str, rng: Stream) -> str:
        return f"{prompt} Please." if "task" in self.what else prompt


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found = {"told": Told, "lasting": Lasting, "beforehand": Beforehand}
    resolve = registry.resolve

    def also(kind: str, name: str) -> Any:
        return found[name] if kind == "perturbations" and name in found else resolve(kind, name)

    monkeypatch.setattr("simtrain.scenarios.load.resolve", also)
    yield


async def told(folder: Path, way: str, *calls: tuple[str, dict[str, Any]], use: str = "told", **when: Any) -> Played:
    return await play(folder, {"use": use, "with": {"way": way}, "when": when}, *calls)


@pytest.mark.parametrize(
    ("way", "changed"),
    [
        ("nothing", []),
        ("the same", []),
        ("undone", []),
        ("made up", []),
        ("rows", ["rows"]),
        ("beforehand", ["rows"]),
        ("clock", ["clock"]),
        ("reply", ["reply"]),
        ("wire", ["wire"]),
    ],
)
async def test_a_firing_is_what_changed_and_nothing_else(way: str, changed: list[str], tmp_path: Path) -> None:
    played = await told(tmp_path, way, ORDERS, LIST)
    assert played.changed == [changed, changed]


@pytest.mark.parametrize(
    ("way", "changed"), [("made up", ["rows"]), ("undone", ["reply"]), ("the same", []), ("rows", ["rows"])]
)
async def test_what_a_write_should_have_left_is_what_counts(way: str, changed: list[str], tmp_path: Path) -> None:
    """A reply without its write, a second write that is undone and whose reply is told, rows that are as they were, rows besides."""
    played = await told(tmp_path, way, LIST, PLACE, nth=1, writes=True)
    assert played.changed == [[], changed]


@pytest.mark.parametrize(
    ("way", "use", "expected"),
    [
        ("nothing", "told", [(1, True), (1, True), (1, True)]),
        ("clock", "told", [(1, True), (2, False), (3, False)]),
        ("nothing", "lasting", [(1, True), (2, False), (3, False)]),
    ],
)
async def test_a_perturbation_that_does_not_last_forgets_calls_on_which_it_changed_nothing(
    way: str, use: str, expected: list[tuple[int, bool]], tmp_path: Path
) -> None:
    Told.seen.clear()
    await told(tmp_path, way, LIST, ORDERS, LIST, use=use)
    assert Told.seen == expected


@pytest.mark.parametrize(
    ("what", "bent"), [("nothing", ()), ("tools", ("it",)), ("task", ("it",)), ("tools and task", ("it",))]
)
async def test_what_bends_tools_or_task_is_named_once_in_the_record(
    what: str, bent: tuple[str, ...], tmp_path: Path
) -> None:
    more = f"perturbations: [{{use: beforehand, as: it, with: {{what: {what}}}}}]\n"
    played = await rollout(scenario(tmp_path, more=more), "nop")
    assert played.bent == bent
    assert (played.prompt.endswith(" Please."), len(played.tools)) == ("task" in what, 3 if "tools" in what else 4)


async def test_an_earlier_copy_of_the_world_comes_back_where_a_later_one_is_given_up(tmp_path: Path) -> None:
    base = await told(tmp_path, "nothing", PLACE)
    assert base.changed == [[]] and set(base.changes) == {"cakes", "ledger", "orders"}
    kept = Snapshots()
    world = _Copy()
    kept.keep("before", world)  # type: ignore[arg-type]
    found = kept.kept
    later = _Copy()
    kept.keep("before", later)  # type: ignore[arg-type]
    kept.settle(found, keep=False)
    assert (kept.get("before") is world, world.closed, later.closed) == (True, False, True)
    found = kept.kept
    kept.drop("before")
    assert not world.closed
    kept.settle(found, keep=True)
    assert kept.get("before") is None and world.closed


class _Copy:
    closed = False

    def close(self) -> None:
        self.closed = True

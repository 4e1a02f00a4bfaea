"""A session with one of the shipped service worlds, for tests: every reply is held against its output schema."""

from __future__ import annotations

from functools import cache

import jsonschema_rs

from simtrain.contracts.request import Request
from simtrain.contracts.world import World
from simtrain.episodes.toolbox import Toolbox
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.types import JsonObject, Observation


@cache
def shipped_world(name: str) -> World:
    """A shipped world, built once."""
    return load_world(find("worlds", name)).build()


class Session:
    """An open world. `called` holds the names of the tools that have succeeded."""

    def __init__(self, name: str) -> None:
        self.world = shipped_world(name)
        self.state = self.world.open()
        self.called: set[str] = set()
        self._toolbox = Toolbox(self.world.tools)

    def ask(self, tool: str, **arguments: object) -> Observation:
        """Whatever the tool says; an error reply must leave no trace."""
        spec = self._toolbox.by_name[tool]
        checked = self._toolbox.check(tool, dict(arguments))
        assert checked.problem is None, checked.problem
        before = self.state.changes()
        self.state.clock.tick()
        observation = self.state.answer(Request(spec, checked.arguments, 0, 0))
        if observation.is_error or not spec.writes:
            assert self.state.changes() == before
        return observation

    def call(self, tool: str, **arguments: object) -> JsonObject:
        """The structured reply of a call that succeeds."""
        observation = self.ask(tool, **arguments)
        assert not observation.is_error, f"{tool}: {observation.text}"
        content = observation.content
        assert content is not None
        schema = self._toolbox.by_name[tool].output_schema
        assert schema is not None, f"{tool} has no output schema"
        jsonschema_rs.validator_for(schema).validate(content)
        self.called.add(tool)
        return content

    def refused(self, tool: str, **arguments: object) -> str:
        """The rule that refuses a call, or the error text where no rule is named."""
        observation = self.ask(tool, **arguments)
        assert observation.is_error, observation.text
        rule = observation.provenance.rule if observation.provenance else None
        return rule or observation.text

    def pages(self, tool: str, key: str, **arguments: object) -> list[JsonObject]:
        """The items of all pages of a list."""
        items: list[JsonObject] = []
        reply = self.call(tool, **arguments)
        while True:
            items += reply[key]
            if reply["next_cursor"] is None:
                return items
            reply = self.call(tool, **arguments, cursor=reply["next_cursor"])

    def count(self, sql: str) -> int:
        """The number that a query gives."""
        return next(iter(self.state.query(sql)[0].values()))

"""The reference server `memory`: a knowledge graph in one file of JSON lines, read again at every call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simtrain.serving.verify.draw import Draw, Past
from simtrain.serving.verify.subject import Call, Subject, makes
from simtrain.types import JsonObject, JsonValue, encode
from simtrain.world import World

TYPES = ("person", "project", "place")
RELATIONS = ("knows", "works_on", "lives_in")


class Memory(Subject):
    """Entities are known by name, observations and relations by value."""

    def environment(self, root: Path) -> Mapping[str, str]:
        """The file that holds the graph."""
        return {"MEMORY_FILE_PATH": str(root / "memory.jsonl")}

    def lay_out(self, world: World, root: Path) -> None:
        """The world's graph, as the server itself writes it."""
        lines = [encode({"type": "entity", **entity}) for entity in self._entities(world)]
        relations = world.query('select source as "from", target as "to", kind as "relationType" from relations')
        lines += [encode({"type": "relation", **relation}) for relation in relations]
        (root / "memory.jsonl").write_text("\n".join(lines))

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Names of entities, and observations as (name, text)."""
        entities = self._entities(world)
        return {
            "entity": [entity["name"] for entity in entities],
            "observation": [(entity["name"], text) for entity in entities for text in entity["observations"]],
        }

    def _entities(self, world: World) -> list[JsonObject]:
        found = world.query('select name, kind as "entityType" from entities order by rowid')
        for entity in found:
            rows = world.query("select text from observations where entity = :name order by rowid", entity)
            entity["observations"] = [row["text"] for row in rows]
        return found

    def learn(self, past: Past, call: Call, reply: JsonObject) -> None:
        """What the structured content says was created or deleted."""
        match call.tool:
            case "create_entities":
                for entity in reply["structuredContent"]["entities"]:
                    past.note("entity", entity["name"])
                    past.note("observation", *((entity["name"], text) for text in entity["observations"]))
            case "delete_entities":
                past.drop("entity", *call.arguments["entityNames"])
            case _:
                pass

    @makes("create_entities", weight=3)
    def new_entities(self, draw: Draw) -> JsonObject:
        """Entities whose names are mostly new."""
        return {"entities": [self._entity(draw, draw.words(most=2)) for _ in range(draw.integer(1, 3))]}

    @makes("create_entities", "edge")
    def entity_again(self, draw: Draw) -> JsonObject:
        """An entity that exists."""
        return {"entities": [self._entity(draw, draw.existing("entity"))]}

    @makes("open_nodes")
    @makes("delete_entities")
    def some_names(self, draw: Draw) -> JsonObject:
        """Names that exist."""
        return {"names": [draw.existing("entity") for _ in range(draw.integer(1, 2))]}

    def _entity(self, draw: Draw, name: str) -> JsonObject:
        return {
            "name": name,
            "entityType": draw.one(TYPES),
            "observations": [draw.words() for _ in range(draw.integer(0, 3))],
        }

"""The reference server `memory`: a knowledge graph in one file of JSON lines, reread at every call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.types import JsonObject, JsonValue, encode

TYPES = ("person", "project", "organization", "Person", "")
VERBS = ("knows", "works_on", "leads", "KNOWS")

ENTITIES = 'select id, name, type as "entityType" from entities order by id'
RELATIONS = 'select source as "from", target as "to", type as "relationType" from relations order by id'


def entity(draw: Draw, name: str) -> JsonObject:
    """Return an entity with this name."""
    texts = [draw.words() if draw.chance(0.9) else draw.odd_text() for _ in range(draw.integer(0, 3))]
    return {"name": name, "entityType": draw.one(TYPES), "observations": texts}


def relation(draw: Draw, source: str) -> JsonObject:
    """Return a relation from one entity to another that exists."""
    return {"from": source, "to": draw.existing("entity"), "relationType": draw.one(VERBS)}


def observations(draw: Draw, name: str) -> JsonObject:
    """Return new observations of one entity."""
    return {"entityName": name, "contents": [draw.words() for _ in range(draw.integer(1, 3))]}


class MemorySubject(Subject):
    """Kinds of values: `entity` a name, `observation` a (name, text), `relation` as the server writes it, `word` of a text."""

    tables = ("entities", "observations", "relations")
    calls = Path(__file__).with_suffix(".yaml")
    helpers = (entity, relation, observations)

    weights: ClassVar[Mapping[str, float]] = {"read_graph": 0.3, "create_entities": 1.4, "create_relations": 1.2}

    def environment(self, root: Path) -> Mapping[str, str]:
        """Return the path of the file that holds the graph."""
        return {"MEMORY_FILE_PATH": str(root / "memory.jsonl")}

    def lay_out(self, world: World, root: Path) -> None:
        """Write the world's graph in the server's own format."""
        lines = [encode({"type": "entity", **entity}) for entity in _entities(world)]
        lines += [encode({"type": "relation", **relation}) for relation in world.query(RELATIONS)]
        (root / "memory.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the graph's names, observations and relations."""
        entities = _entities(world)
        return {
            "entity": [entity["name"] for entity in entities],
            "observation": [(entity["name"], text) for entity in entities for text in entity["observations"]],
            "relation": world.query(RELATIONS),
            "word": [word for entity in entities for word in entity["name"].split()],
        }

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note what was added and deleted; deleting an entity also deletes its observations."""
        arguments = call.arguments
        match call.tool:
            case "create_entities":
                for entity in reply["structuredContent"]["entities"]:
                    past.note("entity", entity["name"])
                    past.note("word", entity["name"], *entity["name"].split())
                    past.note("observation", *((entity["name"], text) for text in entity["observations"]))
            case "create_relations":
                past.note("relation", *reply["structuredContent"]["relations"])
            case "add_observations":
                for result in reply["structuredContent"]["results"]:
                    past.note("entity", result["entityName"])
                    past.note("observation", *((result["entityName"], text) for text in result["addedObservations"]))
            case "delete_entities":
                past.drop("entity", *arguments["entityNames"])
                past.drop(
                    "observation", *(pair for pair in past.values("observation") if pair[0] in arguments["entityNames"])
                )
            case "delete_observations":
                for given in arguments["deletions"]:
                    past.drop("observation", *((given["entityName"], text) for text in given["observations"]))
            case "delete_relations":
                past.drop("relation", *arguments["relations"])
            case _:
                pass


def _entities(world: World) -> list[JsonObject]:
    """Return all entities as the server writes them, in their order."""
    texts: dict[int, list[str]] = {}
    for row in world.query("select entity_id, text from observations order by id"):
        texts.setdefault(row["entity_id"], []).append(row["text"])
    found = world.query(ENTITIES)
    return [
        {"name": row["name"], "entityType": row["entityType"], "observations": texts.get(row["id"], [])}
        for row in found
    ]

"""The reference server `memory`: a knowledge graph in one file of JSON lines, read again at every call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject, makes
from simtrain.values.types import JsonObject, JsonValue, encode

TYPES = ("person", "project", "organization", "Person", "")
VERBS = ("knows", "works_on", "leads", "KNOWS")

ENTITIES = 'select id, name, type as "entityType" from entities order by id'
RELATIONS = 'select source as "from", target as "to", type as "relationType" from relations order by id'


class MemorySubject(Subject):
    """Kinds of values: `entity` a name, `observation` a (name, text), `relation` as the server writes it, `word` of a text."""

    tables = ("entities", "observations", "relations")

    weights: ClassVar[Mapping[str, float]] = {"read_graph": 0.3, "create_entities": 1.4, "create_relations": 1.2}

    def environment(self, root: Path) -> Mapping[str, str]:
        """Return the file that holds the graph."""
        return {"MEMORY_FILE_PATH": str(root / "memory.jsonl")}

    def lay_out(self, world: World, root: Path) -> None:
        """The world's graph, as the server itself writes it."""
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
        """What was added and deleted; deleting an entity takes its observations along."""
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

    @makes("create_entities", weight=4)
    def new_entities(self, draw: Draw) -> JsonObject:
        """Entities whose names are mostly new."""
        return {"entities": [_entity(draw, draw.words(most=2)) for _ in range(draw.integer(1, 3))]}

    @makes("create_entities")
    def entities_again(self, draw: Draw) -> JsonObject:
        """Return an entity that exists, beside a new one."""
        return {"entities": [_entity(draw, draw.existing("entity")), _entity(draw, draw.words(most=3))]}

    @makes("create_entities", "edge")
    def odd_entities(self, draw: Draw) -> JsonObject:
        """Return the same name twice, an odd name, a name that was deleted, no entity at all, or properties that nobody asked for."""
        name = draw.one((draw.word, draw.odd_text, lambda: draw.gone("entity")))()
        return draw.one(
            (
                {"entities": [_entity(draw, name), _entity(draw, name)]},
                {"entities": [_entity(draw, name)]},
                {"entities": []},
                {"entities": [{**_entity(draw, name), "colour": "red"}]},
            )
        )

    @makes("create_relations", weight=4)
    def new_relations(self, draw: Draw) -> JsonObject:
        """Relations between entities that exist."""
        return {"relations": [_relation(draw, draw.existing("entity")) for _ in range(draw.integer(1, 3))]}

    @makes("create_relations", "edge")
    @makes("create_relations", weight=0.5)
    def relations_again(self, draw: Draw) -> JsonObject:
        """Return a relation that exists, twice or beside one to nobody."""
        known = draw.existing("relation")
        return {"relations": draw.one(([known, known], [known, {**known, "to": draw.odd_text()}]))}

    @makes("add_observations", weight=3)
    def new_observations(self, draw: Draw) -> JsonObject:
        """Observations of one or two entities."""
        return {"observations": [_observations(draw, draw.existing("entity")) for _ in range(draw.integer(1, 2))]}

    @makes("add_observations", "edge")
    def observations_again(self, draw: Draw) -> JsonObject:
        """Return an observation that is known, the same one twice, an odd one, or none."""
        name, text = draw.existing("observation")
        new = draw.odd_text()
        return {"observations": [{"entityName": name, "contents": draw.one(([text], [new, new], [text, new], []))}]}

    @makes("add_observations", "invalid")
    def observations_of_nobody(self, draw: Draw) -> JsonObject:
        """Return an entity that is not there any more, or never was; what comes before it must not be kept."""
        nobody = draw.gone("entity") if draw.chance(0.5) else f"{draw.word()} nobody"
        return {"observations": [_observations(draw, draw.existing("entity")), _observations(draw, nobody)]}

    @makes("delete_entities")
    def entities_to_delete(self, draw: Draw) -> JsonObject:
        """Return one or two that exist."""
        return {"entityNames": [draw.existing("entity") for _ in range(draw.integer(1, 2))]}

    @makes("delete_entities", "edge")
    def nobody_to_delete(self, draw: Draw) -> JsonObject:
        """Return a name that is gone, or none."""
        return {"entityNames": draw.one(([], [draw.gone("entity")]))}

    @makes("delete_observations", weight=3)
    def observation_to_delete(self, draw: Draw) -> JsonObject:
        """Return one that exists."""
        name, text = draw.existing("observation")
        return {"deletions": [{"entityName": name, "observations": [text]}]}

    @makes("delete_observations", "edge")
    def nothing_to_delete(self, draw: Draw) -> JsonObject:
        """Return an observation or an entity that is not there."""
        name = draw.one((lambda: draw.existing("entity"), lambda: draw.gone("entity")))()
        return {"deletions": [{"entityName": name, "observations": [draw.words(), ""]}]}

    @makes("delete_relations", weight=3)
    def relation_to_delete(self, draw: Draw) -> JsonObject:
        """Return one that exists."""
        return {"relations": [draw.existing("relation")]}

    @makes("delete_relations", "edge")
    def no_relation_to_delete(self, draw: Draw) -> JsonObject:
        """Return one whose type is another."""
        return {"relations": [{**draw.existing("relation"), "relationType": "never"}]}

    @makes("read_graph")
    def everything(self, draw: Draw) -> JsonObject:
        """Return the whole graph."""
        return {}

    @makes("search_nodes", weight=3)
    def words_to_search(self, draw: Draw) -> JsonObject:
        """Return a word or part of one that stands somewhere, in any case."""
        word: str = draw.existing("word")
        return {"query": draw.one((word, word.upper(), word[: draw.integer(2, 4)], draw.one(TYPES)))}

    @makes("search_nodes")
    def observation_to_search(self, draw: Draw) -> JsonObject:
        """Part of an observation."""
        text: str = draw.existing("observation")[1]
        return {"query": text[draw.integer(0, 3) : draw.integer(4, 12)]}

    @makes("search_nodes", "edge")
    def odd_search(self, draw: Draw) -> JsonObject:
        """Everything, nothing, or signs that a pattern would read otherwise."""
        return {"query": draw.one(("", "%", "_", ".*", "zzz", draw.odd_text()))}

    @makes("open_nodes")
    def nodes_to_open(self, draw: Draw) -> JsonObject:
        """Up to three that exist."""
        return {"names": [draw.existing("entity") for _ in range(draw.integer(1, 3))]}

    @makes("open_nodes", "edge")
    def odd_nodes(self, draw: Draw) -> JsonObject:
        """None, one in another case, one that is gone."""
        name: str = draw.existing("entity")
        return {"names": draw.one(([], [name.upper()], [name, name], [name, "nobody"]))}


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


def _entity(draw: Draw, name: str) -> JsonObject:
    texts = [draw.words() if draw.chance(0.9) else draw.odd_text() for _ in range(draw.integer(0, 3))]
    return {"name": name, "entityType": draw.one(TYPES), "observations": texts}


def _relation(draw: Draw, source: str) -> JsonObject:
    return {"from": source, "to": draw.existing("entity"), "relationType": draw.one(VERBS)}


def _observations(draw: Draw, name: str) -> JsonObject:
    return {"entityName": name, "contents": [draw.words() for _ in range(draw.integer(1, 3))]}

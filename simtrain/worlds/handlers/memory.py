"""The tools of a memory server: a knowledge graph of entities, observations about them, and relations between them.

Needs the tables `entities (id integer primary key, name, type)`, `observations (id integer primary key, entity_id, text)` and
`relations (id integer primary key, source, target, type)`; rows keep the order of their ids. Names of entities are not unique:
entities made in one call may share one, which then means the first.
"""

import json
from collections.abc import Callable, Iterable

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.values.types import JsonObject, JsonValue

RESOURCES = ("memory://knowledge-graph",)
"""The server's resources; every call that writes changes them."""


def create_entities(context: HandlerContext) -> Reply:
    """Add the entities whose names are new, and reply with them."""
    # Read once, before the first is added: the reference server filters the whole list first, so namesakes in one call all pass.
    known = {row["name"] for row in context.read("select distinct name from entities")}
    made = [_entity(given) for given in context.arguments["entities"] if given["name"] not in known]
    for entity in made:
        row = context.read("select coalesce(max(id), 0) + 1 as id from entities")[0]
        context.write("insert into entities (id, name, type) values (:id, :name, :entityType)", {**entity, **row})
        _observe(context, row["id"], entity["observations"])
    return _changed(made, {"entities": made})


def create_relations(context: HandlerContext) -> Reply:
    """Add the relations that are new, and reply with them. Nobody checks that their ends exist."""
    known = {(found["from"], found["to"], found["relationType"]) for found in _relations(context)}
    given = [_relation(one) for one in context.arguments["relations"]]
    made = [one for one in given if (one["from"], one["to"], one["relationType"]) not in known]
    for relation in made:
        context.write("insert into relations (source, target, type) values (:from, :to, :relationType)", relation)
    return _changed(made, {"relations": made})


def add_observations(context: HandlerContext) -> Reply:
    """Add observations that are new to their entities. Raises ToolError, and adds none, if an entity does not exist."""
    results: list[JsonObject] = []
    for given in context.arguments["observations"]:
        name = given["entityName"]
        identity = _first(context, name)
        if identity is None:
            raise ToolError(f"Entity with name {name} not found")
        rows = context.read("select text from observations where entity_id = :id", {"id": identity})
        known = {row["text"] for row in rows}
        added = [text for text in given["contents"] if text not in known]
        _observe(context, identity, added)
        results.append({"entityName": name, "addedObservations": added})
    return _changed(results, {"results": results})


def delete_entities(context: HandlerContext) -> Reply:
    """Remove entities with all their relations."""
    for name in context.arguments["entityNames"]:
        context.write(
            "delete from observations where entity_id in (select id from entities where name = :name)", {"name": name}
        )
        context.write("delete from entities where name = :name", {"name": name})
        context.write("delete from relations where source = :name or target = :name", {"name": name})
    return _done("Entities deleted successfully")


def delete_observations(context: HandlerContext) -> Reply:
    """Remove observations by their texts; unknown ones are ignored."""
    for given in context.arguments["deletions"]:
        identity = _first(context, given["entityName"])
        for text in given["observations"] if identity is not None else ():
            context.write(
                "delete from observations where entity_id = :id and text = :text", {"id": identity, "text": text}
            )
    return _done("Observations deleted successfully")


def delete_relations(context: HandlerContext) -> Reply:
    """Remove relations; unknown ones are ignored."""
    for given in context.arguments["relations"]:
        context.write(
            "delete from relations where source = :from and target = :to and type = :relationType", _relation(given)
        )
    return _done("Relations deleted successfully")


def read_graph(context: HandlerContext) -> Reply:
    """Return the whole graph."""
    graph: JsonObject = {"entities": _entities(context), "relations": _relations(context)}
    return _reply(graph)


def search_nodes(context: HandlerContext) -> Reply:
    """Return the entities whose name, type or observations contain the query, ignoring case, and every relation that touches them."""
    query = context.arguments["query"].lower()
    return _part(context, lambda entity: any(query in text.lower() for text in _texts(entity)))


def open_nodes(context: HandlerContext) -> Reply:
    """Return the entities with these names, and every relation that touches them."""
    names = set(context.arguments["names"])
    return _part(context, lambda entity: entity["name"] in names)


def _part(context: HandlerContext, belongs: Callable[[JsonObject], bool]) -> Reply:
    entities = [entity for entity in _entities(context) if belongs(entity)]
    names = {entity["name"] for entity in entities}
    relations = [one for one in _relations(context) if one["from"] in names or one["to"] in names]
    graph: JsonObject = {"entities": entities, "relations": relations}
    return _reply(graph)


def _texts(entity: JsonObject) -> Iterable[str]:
    return (entity["name"], entity["entityType"], *entity["observations"])


def _entities(context: HandlerContext) -> list[JsonObject]:
    texts: dict[int, list[str]] = {}
    for row in context.read("select entity_id, text from observations order by id"):
        texts.setdefault(row["entity_id"], []).append(row["text"])
    rows = context.read("select id, name, type from entities order by id")
    return [{"name": row["name"], "entityType": row["type"], "observations": texts.get(row["id"], [])} for row in rows]


def _relations(context: HandlerContext) -> list[JsonObject]:
    return context.read('select source as "from", target as "to", type as "relationType" from relations order by id')


def _first(context: HandlerContext, name: str) -> int | None:
    """Return the id of the first entity of a name."""
    return context.read("select min(id) as id from entities where name = :name", {"name": name})[0]["id"]


def _observe(context: HandlerContext, identity: int, texts: Iterable[str]) -> None:
    for text in texts:
        context.write("insert into observations (entity_id, text) values (:id, :text)", {"id": identity, "text": text})


def _entity(given: JsonObject) -> JsonObject:
    return {key: given[key] for key in ("name", "entityType", "observations")}


def _relation(given: JsonObject) -> JsonObject:
    return {key: given[key] for key in ("from", "to", "relationType")}


def _reply(graph: JsonObject) -> Reply:
    return Reply(_written(graph), graph)


def _changed(made: JsonValue, structured: JsonObject) -> Reply:
    return Reply(_written(made), structured, updated=RESOURCES)


def _done(message: str) -> Reply:
    return Reply(message, {"success": True, "message": message}, updated=RESOURCES)


def _written(value: JsonValue) -> str:
    # As `JSON.stringify(value, null, 2)` of the reference server: no escapes beyond ASCII.
    return json.dumps(value, ensure_ascii=False, indent=2)

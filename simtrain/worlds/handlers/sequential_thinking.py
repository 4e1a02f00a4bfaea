"""The tool of a sequential-thinking server: thoughts are kept in order, and branches by name."""

import json

from simtrain.contracts.handler import HandlerContext, Reply
from simtrain.values.types import JsonObject

# ECMAScript lists array indices before all other keys; 2**32 - 2 is the greatest one.
LAST_INDEX = 2**32 - 2

# The server keeps branches in a JavaScript object, where these names are taken: every object inherits them.
_OF_EVERY_OBJECT = frozenset(
    {"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
     "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__"}
)  # fmt: skip
_BROKEN = "this.branches[input.branchId].push is not a function"


def sequential_thinking(context: HandlerContext) -> Reply:
    """Record a thought, and reply with the state of the thinking.

    Needs a table `thoughts (id integer primary key, number, total, thought, next_needed, is_revision, revises,
    branch_from, branch_id, needs_more)`. A thought that is numbered higher than the estimate raises the estimate.
    """
    given = context.arguments
    total = max(given["totalThoughts"], given["thoughtNumber"])
    context.write(
        "insert into thoughts (number, total, thought, next_needed, is_revision, revises, branch_from, branch_id, needs_more) "
        "values (:thoughtNumber, :total, :thought, :nextThoughtNeeded, :isRevision, :revisesThought, :branchFromThought, "
        ":branchId, :needsMoreThoughts)",
        {**given, "total": total},
    )
    if given["branchFromThought"] and given["branchId"] in _OF_EVERY_OBJECT:
        # A reply and no ToolError, which would roll back: the server fails after it has kept the thought.
        return Reply(_text({"error": _BROKEN, "status": "failed"}), is_error=True)
    state: JsonObject = {
        "thoughtNumber": given["thoughtNumber"],
        "totalThoughts": total,
        "nextThoughtNeeded": given["nextThoughtNeeded"],
        "branches": _branches(context),
        "thoughtHistoryLength": context.read("select count(*) as n from thoughts")[0]["n"],
    }
    return Reply(_text(state), state)


def _branches(context: HandlerContext) -> list[str]:
    """Return the branches in the order of a JavaScript object's keys: array indices ascending, then the others as they came."""
    rows = context.read(
        "select branch_id from thoughts where branch_from is not null and branch_id <> '' group by branch_id order by min(id)"
    )
    names = [row["branch_id"] for row in rows if row["branch_id"] not in _OF_EVERY_OBJECT]
    indices = [name for name in names if _is_index(name)]
    return sorted(indices, key=int) + [name for name in names if not _is_index(name)]


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= 10 and str(int(name)) == name and int(name) <= LAST_INDEX


def _text(state: JsonObject) -> str:
    return json.dumps(state, ensure_ascii=False, indent=2)

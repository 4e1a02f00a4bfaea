"""A model's proposal for a server: tables, rows, and for each tool SQL or a reason why it stays open, nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object

PARTS = ("schema", "rows", "tools")
KEYS = ("let", "refuse", "ids", "write", "read", "text", "each", "structured", "page")
"""Keys of a tool in a proposal besides its name; alternatively `open` with a reason."""

LONGEST = 200_000
MOST_ROWS = 2_000
FILE = Path("proposal.yaml")

_FENCED = re.compile(r"```(?:ya?ml)?[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Proposal:
    """A well-formed proposal. `bound` holds the keys of the tools that SQL answers, `open` the reasons why the others stay open."""

    schema: str
    rows: JsonObject
    bound: Mapping[str, JsonObject]
    open: Mapping[str, str]

    def without(self, tools: Mapping[str, str]) -> Proposal:
        """Return the proposal with these tools left open, each with its reason."""
        bound = {name: keys for name, keys in self.bound.items() if name not in tools}
        return replace(self, bound=bound, open={**self.open, **tools})


def read_proposal(reply: str, tools: Mapping[str, JsonObject]) -> Proposal:
    """Parse the proposal in a model's reply, for the tools of a server. Raises InputError for a malformed one."""
    if len(reply) > LONGEST:
        raise InputError(f"the reply has {len(reply)} characters", remedy=f"{LONGEST} at most", file=FILE)
    # Models often put the document into a fence, whatever the prompt says.
    fenced = _FENCED.search(reply)
    data = parse_document(fenced[1] if fenced else reply, FILE).data
    _check_keys(data, PARTS, None)
    schema: JsonValue = data.get("schema", "")
    rows: JsonValue = data.get("rows") or {}
    if not isinstance(schema, str):
        raise InputError("the schema is SQL, one text", file=FILE, place="schema")
    bound, left = _tools(data.get("tools"), tools)
    return Proposal(schema, _rows(rows), bound, left)


def _rows(value: JsonValue) -> JsonObject:
    rows = as_object(value)
    flat = [items for items in rows.values() if is_list(items)]
    # Row generators are not allowed: they could be huge, and recordings show single rows anyway.
    if not is_object(value) or len(flat) != len(rows):
        raise InputError("rows are lists of rows, by table", file=FILE, place="rows")
    if sum(map(len, flat)) > MOST_ROWS:
        raise InputError(f"there are more than {MOST_ROWS} rows", file=FILE, place="rows")
    return rows


def _tools(value: JsonValue, known: Mapping[str, JsonObject]) -> tuple[dict[str, JsonObject], dict[str, str]]:
    if not is_list(value):
        raise InputError("tools are a list", file=FILE, place="tools")
    bound: dict[str, JsonObject] = {}
    left: dict[str, str] = {}
    for index, item in enumerate(value):
        place = f"tools[{index}]"
        entry = as_object(item)
        name: JsonValue = entry.get("name")
        if not isinstance(name, str) or name not in known:
            raise InputError(
                f"the server has no tool {name!r}", remedy=nearest(str(name), known), file=FILE, place=place
            )
        if name in bound or name in left:
            raise InputError(f"the tool {name!r} appears twice", file=FILE, place=place)
        _check_keys(entry, ("name", "open", *KEYS), place)
        keys = {key: entry[key] for key in KEYS if entry.get(key) not in (None, {}, [])}
        reason: JsonValue = entry.get("open")
        if isinstance(reason, str) and reason.strip():
            left[name] = " ".join(reason.split())[:300]
        elif keys.get("read") or keys.get("write"):
            bound[name] = keys
        else:
            raise InputError(
                f"the tool {name!r} has neither read nor write",
                remedy="else say why under `open`",
                file=FILE,
                place=place,
            )
    # Asked for explicitly: a tool that is left out silently would be taken for finished.
    missing = [name for name in known if name not in bound and name not in left]
    if missing:
        problem = f"nothing is said of the tool {missing[0]!r}"
        raise InputError(problem, remedy="bind it, or say why not under `open`", file=FILE, place="tools")
    return bound, left


def _check_keys(entry: JsonObject, allowed: tuple[str, ...], place: str | None) -> None:
    for key in entry:
        if key not in allowed:
            raise InputError(f"the key {key!r} is not allowed", remedy=nearest(key, allowed), file=FILE, place=place)

"""A small MCP server in plain Python, without an SDK, for tests: notes with random ids; `python notes_server.py [MISCHIEF]`.

MISCHIEF: `dies` at the third call, `silent` from the third call on, `toolless` offers nothing.
`WORLD` is its stand-in, `ID` the pattern of both sides' ids.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from time import sleep, time
from typing import Any
from uuid import uuid4

from simtrain.worlds.argument_styles.plain import plain

WORLD = """\
kind: service
name: notes
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
schema: |
  create table notes (id text primary key, text text not null, created text not null);
tools:
  - name: add
    description: Add a note.
    input: {text: {type: string}}
    refuse: [{if: "select :text = ''", error: "A note needs a text."}]
    ids: {id: "N{seq:03}"}
    write: ["insert into notes values (:id, :text, :now)"]
    read: {one: "select id, text, created from notes where id = :id"}
  - name: get
    description: One note.
    input: {id: {type: string}}
    read: {one: "select id, text, created from notes where id = :id", missing: "No note {{ id }}."}
  - name: edit
    description: Replace a note's text.
    input: {id: {type: string}, text: {type: string}}
    refuse: [{unless: "select 1 from notes where id = :id", error: "No note {{ id }}."}]
    write: ["update notes set text = :text where id = :id"]
    read: {one: "select id, text, created from notes where id = :id"}
  - name: remove
    description: Remove a note.
    input: {id: {type: string}}
    refuse: [{unless: "select 1 from notes where id = :id", error: "No note {{ id }}."}]
    write: ["delete from notes where id = :id"]
    read: {value: "select count(*) from notes"}
  - name: list
    description: All notes, the first one first.
    input: {}
    read: {notes: "select id, text from notes order by rowid", count: {value: "select count(*) from notes"}}
"""
ID = r"\bN\d{3}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"

SCHEMAS: dict[str, tuple[str, ...]] = {
    "add": ("text",),
    "get": ("id",),
    "edit": ("id", "text"),
    "remove": ("id",),
    "list": (),
}


class Refused(Exception):
    """The call is refused."""


def schema(names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def call(notes: dict[str, dict[str, str]], tool: str, arguments: dict[str, str], moment: float) -> dict[str, Any]:
    if tool not in SCHEMAS:
        raise Refused(f"Unknown tool: {tool}")
    problem = plain(tool, schema(SCHEMAS[tool]))(arguments).problem
    if problem is not None:
        raise Refused(f"Invalid arguments for tool {tool}: {problem}")
    if tool == "add":
        if not arguments["text"]:
            raise Refused("A note needs a text.")
        made = {
            "id": str(uuid4()),
            "text": arguments["text"],
            "created": f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}",
        }
        notes[made["id"]] = made
        return made
    if tool == "list":
        return {"notes": [{"id": note["id"], "text": note["text"]} for note in notes.values()], "count": len(notes)}
    if arguments["id"] not in notes:
        raise Refused(f"No note {arguments['id']}.")
    if tool == "remove":
        del notes[arguments["id"]]
        return {"value": len(notes)}
    if tool == "edit":
        notes[arguments["id"]]["text"] = arguments["text"]
    return notes[arguments["id"]]


def result(notes: dict[str, dict[str, str]], params: dict[str, Any], moment: float) -> dict[str, Any]:
    """The CallToolResult of a call that came at `moment`."""
    try:
        structured = call(notes, params["name"], params["arguments"], moment)
    except Refused as refused:
        return {"content": [{"type": "text", "text": str(refused)}], "isError": True}
    text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured}


def main(mischief: str = "") -> None:
    notes: dict[str, dict[str, str]] = {}
    calls = 0
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" not in frame:
            continue
        answer: dict[str, Any] = {}
        if frame["method"] == "initialize":
            answer = {
                "protocolVersion": frame["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        elif frame["method"] == "tools/list":
            listed = [] if mischief == "toolless" else SCHEMAS.items()
            answer = {"tools": [{"name": name, "inputSchema": schema(names)} for name, names in listed]}
        elif frame["method"] == "tools/call":
            calls += 1
            if calls == 3 and mischief == "dies":
                sys.exit("out of ink")
            if calls >= 3 and mischief == "silent":
                sleep(60)
            answer = result(notes, frame["params"], time())
        print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

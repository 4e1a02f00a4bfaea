"""Forms of replies that worlds can give: text alone, JSON laid out, a block for each item, keys left out, refusals on other channels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import Client, MCPError
from serving_bakery import serving

from simtrain.files.yaml_files import parse_document
from simtrain.mcp.serve.targets import load_target
from simtrain.values.errors import InputError
from simtrain.worlds.service.source import ServiceSource

pytestmark = pytest.mark.slow

WORLD = """\
kind: service
name: shelf
schema: |
  create table books (id text primary key, title text not null, note text, tags text not null, read integer not null);
rows:
  books:
    - {id: b1, title: Ärger, note: loud, tags: '["old"]', read: true}
    - {id: b2, title: Quiet, tags: "[]", read: false}
tools:
  - name: pretty
    description: Text alone, laid out.
    read: {items: 'select id, title, note as "note:optional", tags as "tags:json:optional", read as "read:bool" from books order by id'}
    text: "{{ items | tojson(indent=2) }}"
    structured: false
  - name: spaced
    description: As Python writes it.
    read: {one: "select id, title from books where id = 'b1'"}
    text: "{{ reply | tojson(spaced=true, ascii=true) }}"
  - name: each
    description: A block a book.
    read: {books: "select id, title from books order by id"}
    text: "{{ item.id }}: {{ item.title }}"
    each: books
  - name: put
    description: A new book.
    input: {title: string}
    ids: {id: "{hex:8}-{hex:4}-{seq:03}"}
    write: ["insert into books values (:id, :title, null, '[]', 0)"]
    text: "Put {{ id }}"
    structured: false
  - name: get
    description: One book.
    input: {id: string}
    refuse:
      - {if: "select :id = ''", error: "Which one?", error_as: -32602}
      - {unless: "select 1 from books where id = :id", error: "No book {{ id }}", error_as: result}
    read: {one: "select id, title from books where id = :id"}
"""


async def test_replies_take_the_forms_that_servers_have(tmp_path: Path) -> None:
    path = tmp_path / "shelf.yaml"
    path.write_text(WORLD)
    async with serving(load_target(str(path))) as served, Client(f"{served.door.url}/mcp", mode="legacy") as client:
        shown = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert shown["pretty"] is None and shown["get"] is None and shown["spaced"] is not None
        books = [
            {"id": "b1", "title": "Ärger", "note": "loud", "tags": ["old"], "read": True},
            {"id": "b2", "title": "Quiet", "tags": [], "read": False},
        ]
        pretty = await client.call_tool("pretty", {})
        assert pretty.content[0].text == json.dumps(books, indent=2, ensure_ascii=False)
        assert pretty.structured_content is None
        spaced = await client.call_tool("spaced", {})
        assert spaced.content[0].text == '{"id": "b1", "title": "\\u00c4rger"}'
        assert spaced.structured_content == {"id": "b1", "title": "Ärger"}
        each = await client.call_tool("each", {})
        assert [block.text for block in each.content] == ["b1: Ärger", "b2: Quiet"]
        assert each.structured_content is not None and len(each.structured_content["books"]) == 2
        missing = await client.call_tool("get", {"id": "b9"})
        assert (missing.content[0].text, missing.is_error) == ("No book b9", False)
        with pytest.raises(MCPError, match="Which one"):
            await client.call_tool("get", {"id": ""})


async def test_ids_that_look_random_are_the_same_in_every_episode(tmp_path: Path) -> None:
    path = tmp_path / "shelf.yaml"
    path.write_text(WORLD)
    seen: list[list[str]] = []
    async with serving(load_target(str(path))) as served:
        for _ in range(2):
            episode = await served.open()
            async with Client(episode["url"]) as client:
                replies = [await client.call_tool("put", {"title": "x"}) for _ in range(3)]
            seen.append([reply.content[0].text for reply in replies])
    assert seen[0] == seen[1] and len(set(seen[0])) == 3
    assert [text[-4:] for text in seen[0]] == ["-001", "-002", "-003"]
    assert all(len(text) == len("Put 01234567-0123-001") for text in seen[0])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("each: books", "each: cakes", "`each` needs `text`"),
        ("error_as: result", "error_as: loudly", "error_as"),
        ("{{ item.id }}: {{ item.title }}", "{{ thing }}", "'thing'"),
    ],
)
def test_a_form_that_cannot_be_is_refused_with_its_place(old: str, new: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        ServiceSource.load(parse_document(WORLD.replace(old, new), tmp_path / "shelf.yaml")).build()
    assert problem in str(refused.value) and "tools[" in str(refused.value)

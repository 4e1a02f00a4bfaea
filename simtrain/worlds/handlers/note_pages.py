"""Pages of the notes workspace: written from Markdown, exported as Markdown."""

from collections.abc import Iterator, Sequence

from simtrain.contracts.handler import HandlerContext, ToolError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.handlers.note_databases import note_edit, store_properties
from simtrain.worlds.handlers.note_markdown import NoteBlock, parse, render

MAX_BLOCKS = 200
"""Blocks that one call may write."""


def create_page(context: HandlerContext) -> JsonObject:
    """Return a new page under `parent_page` or a new row of `database`, with properties and content. Raises ToolError."""
    given = context.arguments
    if (given["parent_page"] is None) == (given["database"] is None):
        raise ToolError("validation_error: name either parent_page or database")
    page = context.new_id("page-{seq:04}")
    context.write(
        "insert into pages (id, space, parent_page, database, title, icon, locked, created_by, created_at, edited_by, edited_at) "
        "select :page, coalesce((select space from pages where id = :parent_page), (select space from databases where id = :database)), "
        ":parent_page, :database, :title, :icon, 0, me.id, :now, me.id, :now from me",
        {
            "page": page,
            "now": context.now,
            **{name: given[name] for name in ("parent_page", "database", "title", "icon")},
        },
    )
    properties = given["properties"]
    if properties and given["database"] is None:
        raise ToolError("validation_error: only rows of a database have properties")
    store_properties(context, page, given["database"], properties)
    _insert(context, page, _parsed(given["markdown"]), parent=None, position=1)
    return {"page": context.read("select id, title, path, url from page_cards where id = :page", {"page": page})[0]}


def append_blocks(context: HandlerContext) -> JsonObject:
    """Return the blocks of `markdown` at the end of a page, or behind the block `after`. Raises ToolError."""
    page, after = context.arguments["page"], context.arguments["after"]
    blocks = _parsed(context.arguments["markdown"])
    if not blocks:
        raise ToolError("validation_error: there is nothing to append")
    parent, position = _place(context, page, after)
    top = sum(block.depth == 0 for block in blocks)
    context.write(
        "update blocks set position = position + :top where page = :page and parent is :parent and position >= :position",
        {"top": top, "page": page, "parent": parent, "position": position},
    )
    ids = _insert(context, page, blocks, parent=parent, position=position)
    note_edit(context, page)
    return {"page": page, "blocks": ids}


def export_page(context: HandlerContext) -> JsonObject:
    """Return the content of a page as Markdown."""
    rows = context.read(
        "select id, parent, kind, text, checked, language from blocks where page = :page order by position, id",
        {"page": context.arguments["page"]},
    )
    title = context.read("select title from pages where id = :page", {"page": context.arguments["page"]})[0]["title"]
    return {"page": context.arguments["page"], "title": title, "markdown": render(_tree(rows, None, 0))}


def _parsed(markdown: str) -> list[NoteBlock]:
    blocks = parse(markdown)
    if len(blocks) > MAX_BLOCKS:
        raise ToolError(f"validation_error: {len(blocks)} blocks in one call, {MAX_BLOCKS} are the most")
    return blocks


def _place(context: HandlerContext, page: str, after: JsonValue) -> tuple[JsonValue, int]:
    """Return the parent and position of the first block to append."""
    if after is None:
        sql = "select coalesce(max(position), 0) as position, null as parent from blocks where page = :page and parent is null"
    else:
        sql = "select position, parent from blocks where id = :after and page = :page"
    found = context.read(sql, {"page": page, "after": after})
    if not found:
        raise ToolError(f"object_not_found: block {after} on page {page}")
    return found[0]["parent"], found[0]["position"] + 1


def _insert(
    context: HandlerContext, page: str, blocks: Sequence[NoteBlock], *, parent: JsonValue, position: int
) -> list[str]:
    """Write blocks from a position on, and return their ids. A deeper one becomes a child of the last one less deep."""
    ids: list[str] = []
    # For every depth the parent of the next block, and that block's position.
    places: list[tuple[JsonValue, int]] = [(parent, position)]
    for block in blocks:
        del places[block.depth + 1 :]
        above, place = places[block.depth]
        ids.append(context.new_id("blk-{seq:05}"))
        context.write(
            "insert into blocks values (:id, :page, :parent, :position, :kind, :text, :checked, :language)",
            {"id": ids[-1], "page": page, "parent": above, "position": place, "kind": block.kind, "text": block.text,
             "checked": None if block.checked is None else int(block.checked), "language": block.language},
        )  # fmt: skip
        places[block.depth] = (above, place + 1)
        places.append((ids[-1], 1))
    return ids


def _tree(rows: Sequence[JsonObject], parent: JsonValue, depth: int) -> Iterator[NoteBlock]:
    for row in rows:
        if row["parent"] != parent:
            continue
        checked = None if row["checked"] is None else bool(row["checked"])
        yield NoteBlock(str(row["kind"]), str(row["text"]), depth, checked, row["language"])
        yield from _tree(rows, row["id"], depth + 1)

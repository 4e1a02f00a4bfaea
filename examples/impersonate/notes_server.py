"""A small MCP server of notes, as anybody may have one."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("notes", instructions="Notes with a title and a text.")
notes: dict[int, dict[str, str]] = {1: {"title": "Groceries", "text": "Lemons, flour"}}


@server.tool()
def list_notes() -> list[str]:
    """The titles of all notes, with their numbers."""
    return [f"{number}: {note['title']}" for number, note in notes.items()]


@server.tool()
def read_note(number: int) -> str:
    """The text of a note."""
    if number not in notes:
        raise ToolError(f"there is no note {number}")
    return notes[number]["text"]


@server.tool()
def add_note(title: str, text: str) -> int:
    """Write a note; its number."""
    number = max(notes) + 1
    notes[number] = {"title": title, "text": text}
    return number


if __name__ == "__main__":
    server.run()

"""A session with the real server of @playwright/mcp 0.0.83 (captured with Chromium 156): our snapshots of its pages are the same text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_snapshot
from simtrain.worlds.app.accessibility.tree import read_tree

CAPTURED = Path(__file__).parent / "captured"
CALLS: list[dict[str, Any]] = json.loads((CAPTURED / "playwright_mcp.json").read_text())


def site(page: str) -> str:
    return (CAPTURED / "site" / f"{page}.html").read_text()


def snapshots() -> list[str]:
    """The snapshots that the server wrote, without the page's address around them."""
    texts = [call["text"] for call in CALLS if call["tool"] == "browser_snapshot" and not call["error"]]
    return [text.partition("```yaml\n")[2].removesuffix("\n```") for text in texts]


def position(page: str, tag: str, nth: int = 0) -> int:
    return [each.position for each in read_tree(site(page)).page.elements if each.tag == tag][nth]


def test_snapshots_of_a_session_come_out_to_the_letter_refs_and_all() -> None:
    """Of a first page, with a field typed into, after a link, and after going back to what the form held."""
    blank, first, typed, second, back, again = snapshots()
    name, stay, size = position("index", "input"), position("index", "input", 1), position("index", "select")
    refs = Refs()
    assert blank == ""
    assert write_snapshot(read_tree(site("index")), refs)[0] == first
    while_typing = FormState(values={name: "Ada"}, focused=name)
    assert write_snapshot(read_tree(site("index"), state=while_typing), refs)[0] == typed
    assert write_snapshot(read_tree(site("second")), Refs("f1"))[0] == second
    chosen = {size: frozenset({position("index", "option", 1)})}
    restored = FormState(values={name: "Grace"}, checked={stay: True}, chosen=chosen)
    assert write_snapshot(read_tree(site("index"), state=restored), Refs("f2"))[0] == back
    assert write_snapshot(read_tree(site("index")), Refs("f6"))[0] == again


def test_the_refs_of_a_snapshot_lead_back_to_its_elements() -> None:
    tree = read_tree(site("index"))
    _, positions = write_snapshot(tree)
    assert tree.page.elements[positions["e5"]].attributes["name"] == "name"
    assert tree.page.elements[positions["e12"]].tag == "button"
    assert "e9999" not in positions

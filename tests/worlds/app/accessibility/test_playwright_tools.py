"""The tools and replies of @playwright/mcp, held against what the real server said (captured with Chromium 156)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simtrain.worlds.app.accessibility import playwright_tools as said
from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_snapshot
from simtrain.worlds.app.accessibility.tree import read_tree

CAPTURED = Path(__file__).parent / "captured"
CALLS: list[dict[str, Any]] = json.loads((CAPTURED / "playwright_mcp.json").read_text())
SITE = "http://127.0.0.1:8123"


def texts(tool: str) -> list[str]:
    return [call["text"] for call in CALLS if call["tool"] == tool]


def pages() -> dict[str, str]:
    return {name: (CAPTURED / "site" / f"{name}.html").read_text() for name in ("index", "second")}


def snapshot(page: str, refs: Refs, state: FormState | None = None) -> str:
    return said.snapshot_section(write_snapshot(read_tree(pages()[page], state=state or FormState()), refs)[0])


def without_console(text: str) -> str:
    """Without the line about an icon that the site did not have."""
    return re.sub(r"\n- Console: .*", "", text)


def position(page: str, tag: str, nth: int = 0) -> int:
    return [each.position for each in read_tree(pages()[page]).page.elements if each.tag == tag][nth]


def test_the_server_has_twenty_five_tools_and_click_takes_a_target() -> None:
    tools = {tool["name"]: tool for tool in said.playwright_tools()}
    assert len(tools) == 25
    assert tools["browser_click"]["inputSchema"]["required"] == ["target"]
    assert said.server_info()["name"] == "Playwright"


def test_snapshots_of_a_session_come_out_as_the_server_wrote_them() -> None:
    """Refs and all: of a first page, with a field typed into, after a link, and after going back."""
    seen = [
        without_console(text) for text in texts("browser_snapshot") if "```yaml" in text and "about:blank" not in text
    ]
    index = said.page_section(f"{SITE}/index.html", "Corner shop")
    refs = Refs()
    typed = {position("index", "input"): "Ada"}
    focused = FormState(values=typed, focused=position("index", "input"))
    assert seen[0] == said.reply(index, snapshot("index", refs))
    assert seen[1] == said.reply(index, snapshot("index", refs, focused))
    assert seen[2] == said.reply(
        said.page_section(f"{SITE}/second.html", "Second page"), snapshot("second", Refs("f1"))
    )
    state = FormState(
        values={position("index", "input"): "Grace"},
        checked={position("index", "input", 1): True},
        chosen={position("index", "select"): frozenset({position("index", "option", 1)})},
    )
    assert seen[3] == said.reply(index, snapshot("index", Refs("f2"), state))


def test_replies_to_actions_come_out_as_the_server_wrote_them() -> None:
    clicks = [without_console(text) for text in texts("browser_click")]
    link = re.search(r"\((output/|out/)[^)]*\)", clicks[0])
    assert link is not None
    where = said.page_section(f"{SITE}/index.html", "Corner shop")
    code = said.code_section(f"await page.{said.by_role('checkbox', 'Stay')}.click();")
    assert clicks[0] == said.reply(code, where, said.snapshot_link(link[0].strip("()")))
    assert said.error(said.ref_not_found("e9999")) in clicks
    assert said.error(said.never_enabled("e14", "<button disabled>Off</button>")) in clicks
    dialog = said.dialog_section("alert", "Careful")
    assert said.error(said.modal_in_the_way("browser_click"), dialog) in clicks
    assert said.error(said.nothing_modal("browser_handle_dialog")) in texts("browser_handle_dialog")
    assert said.error(said.tab_not_found(7)) in texts("browser_tabs")
    tabs = said.tab_list([("Corner shop", f"{SITE}/index.html"), ("", "about:blank")], 0)
    assert said.result_section(tabs) in texts("browser_tabs")
    assert said.error(said.unknown_tool("browser_made_up")) in texts("browser_made_up")
    assert any(text.startswith(said.chooser_section(), text.find("### Modal")) for text in clicks)
    unreachable = said.unreachable("https://not an address", "ERR_NAME_NOT_RESOLVED")
    assert said.error(unreachable) in texts("browser_navigate")
    assert said.error(said.never_had_option("e9", '<select name="size">…</select>')) in texts("browser_select_option")


@pytest.mark.parametrize("name", ['a "quoted" name', "it's", "back\\slash"])
def test_a_locator_quotes_names_as_javascript_does(name: str) -> None:
    assert (
        said.by_role("button", name)
        == "getByRole('button', { name: '" + name.replace("\\", "\\\\").replace("'", "\\'") + "' })"
    )

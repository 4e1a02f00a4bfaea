"""The actions of BrowserGym on an app: what each does, what the page is after it, bids that stay, and mistakes in its wording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from library_app import library

from simtrain.contracts.request import Request
from simtrain.files.page_outlines import bid
from simtrain.values.types import Observation
from simtrain.worlds.app.accessibility.browsergym_actions import ACTIONS, parse_actions
from simtrain.worlds.app.world import AppState


class GymAgent:
    """An agent that acts by bids. `text` is the page as it was last read."""

    def __init__(self, state: AppState) -> None:
        self.state = state
        self._tools = {tool.name: tool for tool in state.world.tools}
        self.text = ""
        self.do("noop")

    def do(self, action: str, **arguments: Any) -> Observation:
        reply = self.state.answer(Request(self._tools[action], arguments, 0, 0))
        self.text = reply.text
        return reply

    def at(self, action: str, node: str, **arguments: Any) -> Observation:
        found = bid(self.text, node)
        assert found, f"no {node} in {self.text}"
        return self.do(action, bid=found, **arguments)

    def sign_in(self, name: str, password: str) -> None:
        self.do("goto", url="https://library.example/login")
        self.at("fill", "textbox 'Name'", value=name)
        self.at("fill", "textbox 'Password'", value=password)
        self.at("press", "textbox 'Password'", key_comb="Enter")


@pytest.fixture
def gym(tmp_path: Path) -> GymAgent:
    return GymAgent(library(tmp_path, knobs={"actions": "browsergym"}).open())


def test_there_are_all_actions_and_no_other_tool(gym: GymAgent) -> None:
    assert [tool.name for tool in gym.state.world.tools] == list(ACTIONS) and len(ACTIONS) == 21


def test_a_page_is_the_tabs_and_a_tree_with_bids(gym: GymAgent) -> None:
    lines = gym.text.split("\n")
    assert lines[:2] == ["# Open tabs", ""] and lines[2] == "Tab 0 (active): Library, https://library.example/"
    assert "RootWebArea 'Library', focused, url='https://library.example/'" in lines
    assert bid(gym.text, "heading 'Books'").isdigit() and "# Error of the last action" not in lines


def test_a_form_is_filled_and_sent(gym: GymAgent) -> None:
    gym.sign_in("cle", "two")
    assert gym.state.browser.page.url == "https://library.example/" and "StaticText 'Cleo'" in gym.text
    gym.do("goto", url="https://library.example/books/1")
    gym.at("click", "button 'Rename'")
    gym.at("clear", "textbox 'New title'")
    gym.at("fill", "textbox 'New title'", value="Streams")
    gym.at("click", "button 'Save'")
    assert gym.state.query("select title from books where id = 1") == [{"title": "Streams"}]


def test_boxes_are_ticked_and_refusals_are_read(gym: GymAgent) -> None:
    gym.sign_in("cle", "two")
    gym.at("click", "checkbox 'Take 1'")
    reply = gym.at("click", "button 'Return'")
    assert not reply.is_error and "Book 1 is here." in reply.text
    assert reply.provenance is not None and reply.provenance.rule == "return_idle"


def test_a_bid_stays_with_its_element_while_others_come(gym: GymAgent) -> None:
    before = {node: bid(gym.text, node) for node in ("combobox 'Title'", "button 'Find'", "link 'List'")}
    gym.at("fill", "combobox 'Title'", value="R")
    new = bid(gym.text, "option 'Rivers'")
    assert {node: bid(gym.text, node) for node in before} == before
    assert int(new) > max(map(int, before.values()))
    gym.do("click", bid=new)
    assert bid(gym.text, "combobox 'Title' value='Rivers'") == before["combobox 'Title'"]


def test_bids_begin_again_on_the_next_page_and_old_ones_are_stale(gym: GymAgent) -> None:
    gym.do("goto", url="https://library.example/login")
    assert bid(gym.text, "textbox 'Name'")
    stale = gym.do("click", bid="99")
    assert stale.is_error and stale.text.endswith(
        '# Error of the last action\n\nValueError: Could not find element with bid "99"'
    )
    assert "textbox 'Name'" in stale.text


def test_tabs_and_history(gym: GymAgent) -> None:
    gym.at("click", "link 'Rivers'", modifiers=["Control"])
    assert [tab.page.url for tab in gym.state.browser.tabs] == [
        "https://library.example/",
        "https://library.example/books/1",
    ]
    gym.do("tab_focus", index=1)
    assert "Tab 1 (active)" in gym.text and "heading 'Rivers'" in gym.text
    gym.do("new_tab")
    assert "Tab 2 (active): Untitled, about:blank" in gym.text
    gym.do("tab_close")
    gym.do("tab_focus", index=0)
    gym.at("click", "link 'Sign in'")
    gym.do("go_back")
    assert "heading 'Books'" in gym.text
    gym.do("go_forward")
    assert "heading 'Sign in'" in gym.text
    assert gym.do("tab_focus", index=7).text.endswith("IndexError: list index out of range")


def test_a_file_is_uploaded(gym: GymAgent) -> None:
    gym.sign_in("cle", "two")
    gym.do("goto", url="https://library.example/desk")
    assert gym.at("upload_file", "button 'Report'", file="Documents/none.txt").is_error
    gym.at("upload_file", "button 'Report'", file="Documents/report.txt")
    gym.at("click", "button 'File'")
    assert gym.state.query("select body from reports") == [{"body": "All is well."}]
    refused = gym.at("upload_file", "button 'File'", file="Documents/report.txt")
    assert 'while waiting for event "filechooser"' in refused.text


def test_dialogs_are_dismissed_as_playwright_does_where_nobody_listens(gym: GymAgent) -> None:
    gym.sign_in("ann", "one")
    gym.do("goto", url="https://library.example/books/1")
    gym.at("click", "button 'Lend'")
    assert gym.state.query("select lent_to from books where id = 1") == [{"lent_to": None}]
    assert gym.state.browser.dialog is None


def test_what_cannot_be_acted_on_is_refused_after_half_a_second(gym: GymAgent) -> None:
    refused = gym.at("fill", "button 'Find'", value="x")
    assert "Error: Locator.fill: Error: Element is not an <input>" in refused.text
    assert 'waiting for get_by_test_id("' in refused.text
    wrong = gym.at("select_option", "combobox 'Title'", options="x")
    assert "Element is not a <select> element" in wrong.text


@pytest.mark.parametrize(
    "look",
    [
        lambda gym: gym.do("noop", wait_ms=500),
        lambda gym: gym.do("scroll", delta_x=0, delta_y=300),
        lambda gym: gym.at("hover", "button 'Find'"),
        lambda gym: gym.at("click", "button 'Find'", button="right"),
        lambda gym: gym.do("send_msg_to_user", text="Hello"),
        lambda gym: gym.do("report_infeasible", reason="No."),
        lambda gym: gym.do(
            "drag_and_drop", from_bid=bid(gym.text, "link 'Rivers'"), to_bid=bid(gym.text, "button 'Find'")
        ),
    ],
)
def test_looking_changes_nothing(gym: GymAgent, look: Callable[[GymAgent], Observation]) -> None:
    before = gym.text
    reply = look(gym)
    assert (reply.text, reply.is_error, gym.state.changes()) == (before, False, {})


def test_the_keyboard_acts_where_the_focus_is(gym: GymAgent) -> None:
    gym.at("focus", "combobox 'Title'")
    for key in ("R", "o"):
        gym.do("keyboard_press", key=key)
    gym.do("keyboard_press", key="Enter")
    assert gym.state.browser.page.url == "https://library.example/?q=Ro"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "library.example"])
def test_addresses_that_no_page_has_are_refused(gym: GymAgent, url: str) -> None:
    assert "Cannot navigate to invalid URL" in gym.do("goto", url=url).text
    assert gym.state.browser.page.url == "https://library.example/"


def test_what_a_model_writes_is_played_as_it_stands(gym: GymAgent) -> None:
    written = f"I look for rivers.\n```\nclick('{bid(gym.text, 'link ' + repr('Rivers'))}')\n```"
    for call in parse_actions(written):
        gym.do(call.action, **call.arguments)
    assert gym.state.browser.page.url == "https://library.example/books/1"


def test_a_fork_keeps_its_bids(gym: GymAgent) -> None:
    other = gym.state.fork()
    gym.at("click", "link 'Rivers'")
    fork = GymAgent(other)
    assert "heading 'Books'" in fork.text
    fork.at("click", "link 'Roads'") if bid(fork.text, "link 'Roads'") else fork.at("click", "link 'Next'")
    assert gym.state.browser.page.url == "https://library.example/books/1" != other.browser.page.url

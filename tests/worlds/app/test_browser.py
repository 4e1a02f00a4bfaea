"""An app played in the process: screens, forms, refusals, sessions, components, history, tabs, files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from library_app import Agent, library


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(library(tmp_path).open())


def test_the_first_page_is_a_tree_with_refs(agent: Agent) -> None:
    page = agent.page()
    assert "- Page URL: https://library.example/" in page
    assert '- heading "Books" [level=1] [ref=e' in page
    assert '- link "Rivers" [ref=' in page


def test_markup_in_data_is_text(agent: Agent) -> None:
    assert 'link "<script>alert(1)</script>"' in agent.page()
    agent.ask("navigate", url="https://library.example/books/2")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in agent.state.browser.page.html
    assert '- heading "<script>alert(1)</script>" [level=1]' in agent.page()


def test_a_form_that_needs_a_user_leads_to_the_sign_in_and_back(agent: Agent) -> None:
    agent.ask("navigate", url="https://library.example/books/1")
    agent.click("getByRole('button', { name: 'Lend' })")
    agent.ask("handle_dialog", accept=True)
    assert agent.state.browser.page.url == "https://library.example/login?next=%2Fbooks%2F1"
    agent.ask("type", target="getByLabel('Name')", text="ann")
    agent.ask("type", target="getByLabel('Password')", text="one", submit=True)
    assert agent.state.browser.page.url == "https://library.example/books/1"


def test_a_refused_field_keeps_what_was_typed_and_says_why(agent: Agent) -> None:
    agent.ask("navigate", url="https://library.example/login")
    agent.ask("type", target="getByLabel('Name')", text="ann")
    agent.ask("type", target="getByLabel('Password')", text="wrong")
    reply = agent.ask("click", target="getByRole('button', { name: 'Go' })")
    assert reply.provenance.rule == "login_wrong"
    page = agent.page()
    assert "Wrong password." in page
    assert 'textbox "Name" [ref=' in page and ": ann" in page
    assert "Wrong password." not in _again(agent)


def _again(agent: Agent) -> str:
    agent.ask("navigate", url="https://library.example/login")
    return agent.page()


def test_an_empty_required_field_keeps_the_form_on_the_page(agent: Agent) -> None:
    agent.ask("navigate", url="https://library.example/login")
    agent.click("getByRole('button', { name: 'Go' })")
    assert agent.state.browser.rules == []
    assert 'textbox "Name" [active]' in agent.page()


def lend(agent: Agent, book: int, *, accept: bool = True) -> str:
    agent.ask("navigate", url=f"https://library.example/books/{book}")
    asked = agent.click("getByRole('button', { name: 'Lend' })")
    assert '["confirm" dialog with message "Really?"]: can be handled by browser_handle_dialog' in asked
    assert agent.ask("snapshot").is_error
    agent.ask("handle_dialog", accept=accept)
    return agent.page()


def test_a_dialog_that_is_dismissed_does_nothing(agent: Agent) -> None:
    agent.sign_in("ann", "one")
    lend(agent, 1, accept=False)
    assert agent.state.changes() == {}


def test_success_is_a_toast_and_refusals_are_flash_dialog_and_error_page(agent: Agent) -> None:
    agent.sign_in("ann", "one")
    assert "Enjoy it." in lend(agent, 1)
    assert agent.state.query("select lent_to, copies from books where id = 1") == [{"lent_to": "ann", "copies": 1}]
    twice = lend(agent, 1)
    assert 'dialog "Note"' in twice and "You have it already." in twice
    agent.click("getByRole('button', { name: 'Close' })")
    assert "You have it already." not in agent.page()
    assert "Lent to cle." in lend(agent, 3)


def test_a_failed_constraint_undoes_the_whole_form(agent: Agent) -> None:
    agent.sign_in("cle", "two")
    agent.ask("navigate", url="https://library.example/books/1")
    agent.click("getByRole('button', { name: 'Rename' })")
    agent.ask("type", target="getByLabel('New title')", text="Roads", submit=True)
    assert "There is such a book already." in agent.page()
    assert agent.state.changes() == {}


def test_a_role_that_may_not_sees_403_and_a_missing_row_404(agent: Agent) -> None:
    agent.sign_in("ann", "one")
    assert "- HTTP status: 403 Forbidden" in agent.ask("navigate", url="https://library.example/desk").text
    assert "- HTTP status: 404 Not Found" in agent.ask("navigate", url="https://library.example/books/9").text
    assert "No such book." in agent.page()


def test_a_conflict_in_a_bulk_edit_changes_nothing(agent: Agent) -> None:
    agent.sign_in("cle", "two")
    agent.ask("navigate", url="https://library.example/?page=2")
    agent.click("getByRole('checkbox', { name: 'All' })")
    agent.click("getByRole('button', { name: 'Return' })")
    assert agent.state.query("select lent_to from books where id = 3") == [{"lent_to": None}]
    agent.click("getByRole('checkbox', { name: 'Take 1' })")
    reply = agent.ask("click", target="getByRole('button', { name: 'Return' })")
    assert reply.provenance.rule == "return_idle" and "- HTTP status: 409 Conflict" in reply.text


def test_refs_stay_with_their_elements_when_one_before_them_leaves_the_page(agent: Agent) -> None:
    agent.sign_in("ann", "one")
    agent.ask("navigate", url="https://library.example/books/1")
    agent.click("getByRole('button', { name: 'Lend' })")
    agent.ask("handle_dialog", accept=True)
    before = agent.page()
    toast = re.search(r'- button "Dismiss" \[ref=(\w+)\]', before)
    heading = re.search(r"- heading .*", before)
    assert toast is not None and heading is not None and before.index(toast[0]) < before.index(heading[0])
    agent.click(toast[1])
    after = agent.page()
    assert "Dismiss" not in after and heading[0] in after
    assert f"Ref {toast[1]} not found" in agent.ask("click", target=toast[1]).text
    assert "Ref f9e1 not found" in agent.ask("hover", target="f9e1").text


def test_lists_turn_their_pages(agent: Agent) -> None:
    assert "Roads" not in agent.page()
    agent.click("getByRole('link', { name: 'Next' })")
    assert agent.state.browser.page.url == "https://library.example/?page=2"
    assert "Roads" in agent.page()


def test_suggestions_come_and_are_taken_over(agent: Agent) -> None:
    agent.ask("type", target="getByRole('combobox')", text="r")
    page = agent.page()
    assert '- combobox "Title" [expanded]' in page and "- option" in page
    agent.click("getByRole('option', { name: 'Roads' })")
    agent.click("getByRole('button', { name: 'Find' })")
    assert agent.state.browser.page.url == "https://library.example/?q=Roads"


def test_tabs_inline_edit_and_counter_play(agent: Agent) -> None:
    agent.ask("navigate", url="https://library.example/books/1")
    assert "First" in agent.page() and "Second" not in agent.page()
    agent.click("getByRole('tab', { name: 'B' })")
    assert "Second" in agent.page() and "First" not in agent.page()
    agent.click("getByRole('button', { name: 'Rename' })")
    agent.ask("type", target="getByLabel('New title')", text="Lakes")
    assert "5 / 30" in agent.page()
    agent.click("getByRole('button', { name: 'Cancel' })")
    assert "New title" not in agent.page()


def test_a_file_is_uploaded_from_the_store_and_one_of_another_kind_refused(agent: Agent) -> None:
    agent.sign_in("cle", "two")
    agent.ask("navigate", url="https://library.example/desk")
    agent.click("getByRole('button', { name: 'File', exact: true })")
    assert "Choose a file: report." in agent.page()
    assert "[File chooser]: can be handled by browser_file_upload" in agent.click("getByLabel('Report')")
    assert agent.ask("file_upload", paths=["Documents/none.txt"]).is_error
    agent.ask("file_upload", paths=["Documents/report.txt"])
    agent.click("getByRole('button', { name: 'File', exact: true })")
    assert agent.state.query("select name, body from reports") == [{"name": "report.txt", "body": "All is well."}]


def test_a_download_lands_in_the_store_as_plain_text(agent: Agent) -> None:
    reply = agent.click("getByRole('link', { name: 'List' })")
    assert '- Downloaded file list.txt to "Downloads/list.txt"' in reply
    assert agent.state.query("select content from files where path = 'Downloads/list.txt'") == [
        {"content": "Rivers\n<script>alert(1)</script>\nRoads\n"}
    ]


def test_history_goes_back_and_forward_and_tabs_stand_beside_each_other(agent: Agent) -> None:
    agent.click("getByRole('link', { name: 'Rivers' })")
    agent.ask("navigate_back")
    assert agent.state.browser.page.url == "https://library.example/"
    agent.ask("tabs", action="new", url="https://library.example/login")
    listed = agent.ask("tabs", action="list").text
    assert "- 0: [Library](https://library.example/)" in listed
    assert "- 1: (current) [Sign in](https://library.example/login)" in listed
    agent.ask("tabs", action="close")
    assert agent.state.browser.page.url == "https://library.example/"


def test_refs_stay_with_their_elements_and_end_with_the_page(agent: Agent) -> None:
    before = agent.page()
    assert agent.page() == before
    ref = before.partition('link "Rivers" [ref=')[2].partition("]")[0]
    agent.ask("click", target=ref)
    assert agent.state.browser.page.url == "https://library.example/books/1"
    assert agent.ask("click", target=ref).text == (
        f"### Error\nError: Ref {ref} not found in the current page snapshot. Try capturing new snapshot."
    )


def test_what_cannot_be_done_is_told_as_the_real_server_tells_it(agent: Agent) -> None:
    assert "\"getByRole('button', { name: 'Nope' })\" does not match any elements." in agent.click(
        "getByRole('button', { name: 'Nope' })"
    )
    assert "strict mode violation: getByRole('checkbox') resolved to 3 elements" in agent.click("getByRole('checkbox')")
    assert "is not a valid target" in agent.click("getByRole(")
    agent.ask("navigate", url="https://library.example/books/1")
    assert "element is not visible" in agent.click("#t")
    assert "net::ERR_NAME_NOT_RESOLVED" in agent.ask("navigate", url="https://elsewhere.example/").text
    assert (
        agent.ask("evaluate", function="() => 1").text == "browser_evaluate is not supported by this simulated server."
    )

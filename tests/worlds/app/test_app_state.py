"""The state of an app in one episode: forks, previews, partial writes, determinism, and the tools of a shared service world."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

from library_app import TEMPLATES, WORLD, Agent, library

from simtrain.public import load_scenario
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.worlds.app.accessibility.document import Element
from simtrain.worlds.app.actions.fresh_pages import forget_pages
from simtrain.worlds.app.world import AppState, AppWorld


def test_a_fork_has_its_own_rows_browser_and_session(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path).open())
    agent.sign_in("ann", "one")
    agent.ask("navigate", url="https://library.example/books/1")
    agent.click("getByRole('button', { name: 'Lend' })")
    page = agent.state.browser.page.html
    fork = Agent(agent.state.fork())
    fork.ask("handle_dialog", accept=True)
    assert "Enjoy it." in fork.page()
    assert agent.state.changes() == {} and agent.state.browser.page.html == page
    assert agent.state.browser.dialog is not None
    agent.ask("handle_dialog", accept=False)
    agent.ask("navigate", url="https://library.example/")
    fork.click("getByRole('button', { name: 'Sign out' })")
    assert "Ann" in agent.page() and "Ann" not in fork.page()


def test_a_preview_leaves_no_trace(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path, knobs={"signed_in": "ann", "start": "/books/1"}).open())
    agent.click("getByRole('button', { name: 'Lend' })")
    before = agent.state.browser.page.html
    with agent.state.savepoint():
        agent.ask("handle_dialog", accept=True)
        assert agent.state.changes()
    assert agent.state.changes() == {}
    assert agent.state.browser.page.html == before and agent.state.browser.dialog is not None


def test_statements_are_counted_and_some_of_them_carried_out(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path, knobs={"signed_in": "ann", "start": "/books/1"}).open())
    agent.click("getByRole('button', { name: 'Lend' })")
    accepting = agent.request("handle_dialog", accept=True)
    assert agent.state.statements(accepting) == 2
    reply = agent.state.partial(accepting, 1)
    assert not reply.is_error and "Enjoy it." in agent.page()
    assert agent.state.query("select lent_to, copies from books where id = 1") == [{"lent_to": "ann", "copies": 2}]


def test_the_same_actions_give_the_same_bytes(tmp_path: Path) -> None:
    world = library(tmp_path)

    def played() -> list[str]:
        agent = Agent(world.open())
        agent.sign_in("ann", "one")
        agent.click("getByRole('link', { name: 'Library' })")
        return [agent.page(), agent.click("getByRole('link', { name: 'Rivers' })"), agent.page()]

    assert played() == played()


def shop() -> AppWorld:
    built = load_world(find("worlds", "shop_site")).build()
    assert isinstance(built, AppWorld)
    return built


def test_app_and_mcp_tools_share_one_database() -> None:
    source = load_scenario("shop_site/move_order").source
    document = source.document
    built = source.configured(
        document, {"tools": True, "signed_in": "S02", "start": "/admin/orders?status=paid"}, ()
    ).build()
    state = built.open()
    assert isinstance(state, AppState)
    tools = {tool.name: tool for tool in built.tools}
    agent = Agent(state)
    order = str(
        state.query("select id from orders where status = 'paid' order by ordered_at desc, id desc limit 1")[0]["id"]
    )
    agent.click(f"getByRole('checkbox', {{ name: 'Select {order}' }})")
    agent.click("getByRole('button', { name: 'Mark as packed' })")
    from simtrain.contracts.request import Request

    found = state.answer(Request(tools["orders.get"], {"order_id": order}, 0, 0))
    assert '"status":"packed"' in found.text


def test_the_shop_has_its_rows_and_screens() -> None:
    world = shop()
    rows = sum(int(world.query(f'select count(*) as n from "{table}"')[0]["n"]) for table in world.columns())
    assert rows >= 600 and len(world.site.screens.patterns) >= 12


def test_open_episodes_of_the_shop_are_small() -> None:
    world = shop()
    world.open().browser.goto("https://fernhollow.example/products")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    states: list[AppState] = []
    for _ in range(50):
        state = world.open()
        agent = Agent(state)
        agent.ask("navigate", url="https://fernhollow.example/products/P004")
        agent.ask("snapshot")
        state.execute("update customers set tier = 'plus' where id = 'C0001'")
        states.append(state)
    # KiB; 1.5 GiB for a thousand of them.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1.5 * 1024
    for state in states:
        state.close()


def test_a_look_changes_pages_and_nothing_else(tmp_path: Path) -> None:
    file = WORLD.replace("style: library.css", "style: library.css\nlooks: {wording: [plain, formal]}")
    page = TEMPLATES["book.html"].replace(">Lend<", ">{{ 'Lend' if look.wording == 'plain' else 'Borrow' }}<")
    knobs: dict[str, object] = {"signed_in": "ann", "start": "/books/1"}
    for name, look in (("Lend", {}), ("Lend", {"wording": "plain"}), ("Borrow", {"wording": "formal"})):
        agent = Agent(library(tmp_path, world=file, knobs={**knobs, "look": look}, book_html=page).open())
        agent = Agent(agent.state.fork())
        agent.click(f"getByRole('button', {{ name: '{name}' }})")
        agent.ask("handle_dialog", accept=True)
        assert agent.state.query("select lent_to from books where id = 1") == [{"lent_to": "ann"}]


def test_pages_that_episodes_share_are_those_of_untouched_rows(tmp_path: Path) -> None:
    world = library(tmp_path, knobs={"signed_in": "ann", "start": "/books/1"})
    first, second = Agent(world.open()), Agent(world.open())
    alone = library(tmp_path, knobs={"signed_in": "ann", "start": "/books/1"}).open()
    assert first.page() == second.page() == Agent(alone).page()
    first.click("getByRole('button', { name: 'Lend' })")
    first.ask("handle_dialog", accept=True)
    assert "Enjoy it." in first.page() and "Enjoy it." not in second.page()
    first.ask("navigate", url="https://library.example/books/1")
    second.ask("navigate", url="https://library.example/books/1")
    assert "Copies: 1" in first.page() and "Copies: 2" in second.page()
    second.click("getByRole('button', { name: 'Rename' })")
    second.ask("type", target="getByRole('textbox', { name: 'New title' })", text="Typed by one")
    assert "Typed by one" in second.page() and "Typed by one" not in Agent(world.open()).page()


def test_a_page_is_freed_when_it_is_left_before_any_collector_comes(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path).open())
    agent.sign_in("ann", "one")
    forget_pages()
    agent.page()
    gc.collect()
    gc.disable()
    try:
        before = elements_alive()
        for _ in range(3):
            forget_pages()
            agent.ask("navigate", url="https://library.example/")
            agent.page()
            agent.ask("navigate", url="https://library.example/books/1")
            agent.page()
        forget_pages()
        assert before and elements_alive() < 2 * before
    finally:
        gc.enable()


def elements_alive() -> int:
    return sum(type(one) is Element for one in gc.get_objects())


def test_a_text_that_looks_like_a_ref_stays_as_it_is(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path, knobs={"signed_in": "cle", "start": "/"}).open())
    agent.state.execute("update books set title = 'See [ref=e4] first' where id = 1")
    for number in range(3):
        agent.ask("navigate", url="https://library.example/")
        assert "See [ref=e4] first" in agent.page(), number
        assert "ref=f" in agent.page(), number

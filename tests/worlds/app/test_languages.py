"""The shop in German: the same pages and rows, with no English left on the customers' side."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from library_app import Agent
from shipped_apps import APPS, reached, signed_in

from simtrain import load_scenario, rollout
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world, paradigm_of
from simtrain.worlds.app.accessibility.tree import read_tree
from simtrain.worlds.app.world import AppWorld

SHOP = next(app for app in APPS if app.name == "shop_site")
WORDS = Path("worlds/shop_site/words.html").read_text(encoding="utf-8")
ENGLISH = {english for english, german in re.findall(r"'([^']+)': '([^']+)'", WORDS) if english != german}


def german() -> AppWorld:
    source = load_world(find("worlds", "shop_site").resolve())
    world = source.configured(source.document, {"look": {"language": "german"}}, ()).build()
    assert isinstance(world, AppWorld)
    return world


def test_what_the_site_says_by_itself_is_german_too() -> None:
    state = german().open()
    signed_in(state, "C0001")
    agent = Agent(state)
    agent.ask("navigate", url="https://fernhollow.example/nowhere")
    assert "Diese Seite gibt es nicht." in agent.page()
    agent.ask("navigate", url="https://fernhollow.example/admin")
    assert "Das dürfen Sie nicht." in agent.page()
    agent.ask("navigate", url="https://fernhollow.example/account/addresses")
    agent.ask("type", target="getByLabel('Straße')", text="Am", submit=True)
    page = agent.page()
    assert "Straße braucht mindestens 4 Zeichen." in page and "Ort fehlt." in page and "Wählen Sie ein Land." in page
    assert not re.search("must|required|Choose", page)


@pytest.mark.full
def test_pages_of_customers_have_no_english_names_in_german() -> None:
    world, english = german(), SHOP.built()
    for user in (None, "C0001"):
        state, other = world.open(), english.open()
        signed_in(state, user)
        signed_in(other, user)
        addresses = reached(SHOP, world, state)
        assert len(addresses) == len(reached(SHOP, english, other)) > 5
        for address in addresses:
            state.browser.goto(state.browser.origin + address)
            _, nodes = read_tree(state.browser.page.html).build()
            left = {
                node.name for node in nodes if node.role in ("link", "button", "heading", "textbox", "tab")
            } & ENGLISH
            assert not left, (address, left)


@pytest.mark.full
def test_the_task_has_the_same_gold_in_both_languages() -> None:
    english, german = (
        {str(episode.case["order_id"]): episode for episode in paradigm_of(one).episodes(one, seed=0, attempts=1)}
        for one in (load_scenario("shop_site/cancel_my_order"), load_scenario("shop_site/cancel_my_order_german"))
    )
    order = min(english.keys() & german.keys())
    first, second = (asyncio.run(rollout(one[order], "oracle")) for one in (english, german))
    assert first.reward == second.reward == 1.0
    assert first.answer == second.answer and first.prompt != second.prompt
    assert len(first.steps) == len(second.steps)

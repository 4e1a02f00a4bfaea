"""Screenshots with marks, drawn by Chromium: each box lies around the element that the snapshot names so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browsers import chromium, need_chromium, pixel_difference
from library_app import Agent, library

from simtrain.integrations.app_screenshots import screenshot

TARGET = re.compile(r"- (link|button|textbox|checkbox|combobox|tab) \"([^\"]+)\".*? \[ref=(\w+)\]")


@pytest.mark.full
async def test_each_box_lies_around_the_element_that_the_snapshot_names_so(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path, knobs={"signed_in": "ann", "start": "/books/1"}).open())
    agent.click("getByRole('button', { name: 'Rename' })")
    agent.ask("type", target="getByRole('textbox', { name: 'New title' })", text="Typed")
    text = agent.page()
    named = {ref: (role, name) for role, name, ref in TARGET.findall(text)}
    before = agent.state.browser.page.html
    async with chromium(need_chromium()) as browser:
        tab = await browser.new_page(viewport={"width": 900, "height": 700})
        marked = await screenshot(agent.state, tab)
        plain = await screenshot(agent.state, tab, marked=False)
        assert {mark.name for mark in marked.marks} == set(named) and len(named) > 6
        for mark in marked.marks:
            role, name = named[mark.name]
            box = await tab.get_by_role(role, name=name, exact=True).bounding_box()  # pyright: ignore[reportArgumentType]
            assert box == {"x": mark.x, "y": mark.y, "width": mark.width, "height": mark.height}
        assert await tab.get_by_role("textbox", name="New title").input_value() == "Typed"
        assert marked.png[:8] == plain.png[:8] == b"\x89PNG\r\n\x1a\n"
        again = await screenshot(agent.state, tab, marked=False)
        assert plain.marks == () and await pixel_difference(browser, marked.png, plain.png) > 100
        assert await pixel_difference(browser, again.png, plain.png) <= 1
    assert agent.state.browser.page.html == before and agent.page() == text and agent.state.changes() == {}


@pytest.mark.full
async def test_marks_are_bids_where_the_agent_acts_by_bids(tmp_path: Path) -> None:
    agent = Agent(library(tmp_path, knobs={"signed_in": "ann", "start": "/", "actions": "browsergym"}).open())
    async with chromium(need_chromium()) as browser:
        drawn = await screenshot(agent.state, await browser.new_page())
    assert len(drawn.marks) > 4 and all(mark.name.isdecimal() for mark in drawn.marks)

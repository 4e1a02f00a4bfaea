"""Small pages made up by a grammar of HTML: a real Chromium and the mapper read the same from each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from accessible_pages import Agreement, agreement, without_refs
from browsers import need_chromium
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from playwright.sync_api import Page, sync_playwright

from simtrain.worlds.app.accessibility.playwright_form import write_snapshot
from simtrain.worlds.app.accessibility.tree import read_tree

pytestmark = pytest.mark.full

WORDS = some.sampled_from(
    ["Save", "two words", " spaced ", "a: b", "42", "- dash", "yes", "<i>x</i>", "&nbsp;", "It's", ""]
)
STYLE = """<style>.gone { display: none } .unseen { visibility: hidden } .flex { display: flex } .hand { cursor: pointer }
.block { display: block }</style>"""
KINDS = (
    "text",
    "search",
    "email",
    "number",
    "range",
    "checkbox",
    "radio",
    "submit",
    "button",
    "reset",
    "file",
    "password",
    "date",
    "color",
)
BLOCKS = (
    "div",
    "p",
    "section",
    "article",
    "nav",
    "main",
    "aside",
    "header",
    "footer",
    "form",
    "h2",
    "blockquote",
    "fieldset",
    "details",
)
MORE_BLOCKS = ("ul", "ol", "figure", "dialog", "address")


def attributes(*extra: str) -> some.SearchStrategy[str]:
    """None or a few attributes, each once."""
    usual = [
        "hidden", 'class="gone"', 'class="unseen"', 'class="flex"', 'class="hand"', 'class="block"', 'aria-label="Named"', 'aria-label=""',
        'title="Titled"', 'aria-hidden="true"', 'aria-disabled="true"', 'aria-expanded="true"', 'aria-expanded="false"', 'tabindex="0"',
        'role="button"', 'role="presentation"', 'role="group"', 'role="heading" aria-level="3"', 'role="tab" aria-selected="true"',
        'role="alert"', 'role="checkbox" aria-checked="mixed"', 'role="region"', 'role="listitem"', 'role="nonsense"',
    ]  # fmt: skip
    chosen = some.lists(some.sampled_from([*usual, *extra]), max_size=2, unique_by=lambda text: text.split("=")[0])
    return some.just("") | chosen.map(lambda parts: "".join(f" {part}" for part in parts))


def wrapped(tag: str, inner: some.SearchStrategy[str], *extra: str) -> some.SearchStrategy[str]:
    return some.builds(lambda given, content: f"<{tag}{given}>{content}</{tag}>", attributes(*extra), inner)


def listed(parts: some.SearchStrategy[str]) -> some.SearchStrategy[str]:
    return some.lists(parts, max_size=3).map("".join)


def controls() -> some.SearchStrategy[str]:
    given = attributes("required", "disabled", "checked", 'value="7"', 'placeholder="Hint"', 'aria-invalid="true"')
    inputs = some.builds(lambda kind, more: f'<input type="{kind}"{more}>', some.sampled_from(KINDS), given)
    option = some.builds(
        lambda more, text: f"<option{more}>{text}</option>", some.sampled_from(["", " selected", " disabled"]), WORDS
    )
    select = some.builds(
        lambda more, options: f"<select{more}>{''.join(options)}</select>",
        some.sampled_from(["", " multiple", ' size="3"', " disabled", ' aria-label="Choice"']),
        some.lists(option, max_size=3),
    )
    area = some.builds(lambda more, text: f"<textarea{more}>{text}</textarea>", given, WORDS)
    return inputs | select | area | wrapped("button", WORDS, "disabled", 'aria-pressed="true"')


def phrase(inner: some.SearchStrategy[str]) -> some.SearchStrategy[str]:
    tags = ["span", "b", "em", "strong", "code", "mark", "small", "sub", "time", "del", "a"]
    plain = some.sampled_from(tags).flatmap(lambda tag: wrapped(tag, inner))
    link = wrapped("a", inner, 'href="/there"').map(lambda text: text.replace("<a", '<a href="/x"', 1))
    label = wrapped("label", inner)
    picture = attributes('alt="Picture"', 'alt=""').map(lambda given: f'<img src="data:,"{given} width="9" height="9">')
    return plain | link | label | picture | some.just("<br>")


def block(inner: some.SearchStrategy[str]) -> some.SearchStrategy[str]:
    plain = some.sampled_from(BLOCKS + MORE_BLOCKS).flatmap(lambda tag: wrapped(tag, inner, "open"))
    items = listed(wrapped("li", inner, 'value="3"'))
    lists = some.sampled_from(["ul", "ol", "menu"]).flatmap(lambda tag: wrapped(tag, items))
    cells = listed(wrapped("td", inner) | wrapped("th", inner, 'scope="row"', 'scope="col"'))
    rows = listed(wrapped("tr", cells))
    table = wrapped(
        "table", some.builds(lambda caption, body: caption + body, some.just("") | wrapped("caption", WORDS), rows)
    )
    folded = wrapped(
        "details", some.builds(lambda said, text: f"<summary>{said}</summary>{text}", WORDS, inner), "open"
    )
    framed = wrapped(
        "fieldset", some.builds(lambda said, text: f"<legend>{said}</legend>{text}", WORDS, inner), "disabled"
    )
    terms = wrapped("dl", some.builds(lambda term, text: f"<dt>{term}</dt><dd>{text}</dd>", WORDS, inner))
    return plain | lists | table | folded | framed | terms


CONTENT = some.recursive(WORDS | controls(), lambda inner: listed(inner | phrase(inner) | block(inner)), max_leaves=8)


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    program = need_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser.new_page(viewport={"width": 1280, "height": 720})
        browser.close()


def test_made_up_pages_read_as_playwright_reads_them(tab: Page, capsys: pytest.CaptureFixture[str]) -> None:
    found: list[Agreement] = []

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(content=CONTENT)
    def read(content: str) -> None:
        page = f"<!doctype html><html><head>{STYLE}</head><body><main><h1>Page</h1>{content}</main></body></html>"
        tab.set_content(page)
        ours, _ = write_snapshot(read_tree(page))
        found.append(agreement(without_refs(tab.aria_snapshot(mode="ai")), without_refs(ours)))

    read()
    total = sum(found, start=Agreement(0, 0))
    alike = sum(each.share == 1 for each in found)
    with capsys.disabled():
        print(f"\nmade-up pages: {alike} of {len(found)} read alike, lines equal to Playwright's {total}")
    assert total.share >= 0.99
    assert alike >= 0.95 * len(found)

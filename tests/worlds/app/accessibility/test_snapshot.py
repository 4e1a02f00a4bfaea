"""The form of Playwright: refs, states of forms, and the stylesheets that decide what is there."""

from __future__ import annotations

from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import Refs, write_snapshot
from simtrain.worlds.app.accessibility.tree import PageTree, read_tree

SIGN_IN = """<form aria-label="Sign in"><label>Name <input name="name"></label>
<label><input type="checkbox" name="stay"> Stay signed in</label>
<select aria-label="Role"><option>Clerk</option><option>Admin</option></select><button>Sign in</button></form>"""


def position(tree: PageTree, tag: str, nth: int = 0) -> int:
    return [element.position for element in tree.page.elements if element.tag == tag][nth]


def test_a_form_is_written_as_playwright_writes_it() -> None:
    text, positions = write_snapshot(read_tree(SIGN_IN))
    assert text == "\n".join(
        [
            '- form "Sign in" [ref=e2]:',
            "  - generic [ref=e3]:",
            "    - text: Name",
            '    - textbox "Name" [ref=e4]',
            "  - generic [ref=e5]:",
            '    - checkbox "Stay signed in" [ref=e6]',
            "    - text: Stay signed in",
            '  - combobox "Role" [ref=e7]:',
            '    - option "Clerk" [selected]',
            '    - option "Admin"',
            '  - button "Sign in" [ref=e8]',
        ]
    )
    assert set(positions) == {"e2", "e3", "e4", "e5", "e6", "e7", "e8"}


def test_what_was_typed_ticked_chosen_and_focused_shows() -> None:
    fresh = read_tree(SIGN_IN)
    state = FormState(
        values={position(fresh, "input"): "Ada"},
        checked={position(fresh, "input", 1): True},
        chosen={position(fresh, "select"): frozenset({position(fresh, "option", 1)})},
        focused=position(fresh, "button"),
    )
    text, _ = write_snapshot(read_tree(SIGN_IN, state=state))
    assert '- textbox "Name" [ref=e4]: Ada' in text
    assert '- checkbox "Stay signed in" [checked] [ref=e6]' in text
    assert '- option "Admin" [selected]' in text
    assert '- option "Clerk"\n' in text
    assert '- button "Sign in" [active] [ref=e8]' in text


def test_a_node_keeps_its_ref_until_its_name_changes() -> None:
    refs = Refs()
    first, _ = write_snapshot(read_tree("<button>Save</button><button>Undo</button>"), refs)
    second, _ = write_snapshot(read_tree("<button>Saved</button><button>Undo</button>"), refs)
    assert '- button "Save" [ref=e2]' in first
    assert '- button "Saved" [ref=e4]' in second
    assert '- button "Undo" [ref=e3]' in first
    assert '- button "Undo" [ref=e3]' in second


def test_refs_of_a_later_document_have_its_prefix() -> None:
    text, positions = write_snapshot(read_tree("<button>Go</button>"), Refs("f1"))
    assert '- button "Go" [ref=f1e2]' in text
    assert "f1e2" in positions


def test_a_stylesheet_that_the_page_links_to_hides_things() -> None:
    page = '<link rel="stylesheet" href="site.css"><p class="gone">Gone</p><p>Here</p>'
    text, _ = write_snapshot(read_tree(page, stylesheets={"site.css": ".gone { display: none }"}))
    assert "Gone" not in text
    assert "Here" in text


def test_a_rule_outside_the_subset_is_passed_over_and_told_with_its_line() -> None:
    page = """<style>p { color: red }
.a:hover { display: none }
@supports (display: grid) { .b { visibility: hidden } }
.c { display: var(--c) }
.d { content-visibility: hidden }</style><p class="a">A</p><p class="b">B</p><p style="visibility: var(--v)">C</p>"""
    tree = read_tree(page)
    assert [(passed.line, passed.reason) for passed in tree.passed_over] == [
        (2, "selector .a:hover"),
        (3, "@supports"),
        (4, "display: var(--c)"),
        (5, "content-visibility: hidden"),
        (1, "visibility: var(--v)"),
    ]


def test_a_button_without_content_is_named_by_its_label() -> None:
    page = "<label for=b>Close it</label><button id=b></button><label>Fold <button></button></label><button></button>"
    # As Chromium 156 writes it through Playwright.
    assert write_snapshot(read_tree(page))[0].split("\n") == [
        "- generic [active] [ref=e1]:",
        "  - text: Close it",
        '  - button "Close it" [ref=e2]',
        "  - generic [ref=e3]:",
        "    - text: Fold",
        '    - button "Fold" [ref=e4]',
        "  - button [ref=e5]",
    ]


def test_text_that_yaml_would_misread_is_quoted() -> None:
    page = "<p>a: b</p><p>- x</p><p>42</p><p>yes</p><p>plain</p><p>tab:&quot;</p><p>0x1F</p><p>{{ x }}</p>"
    text, _ = write_snapshot(read_tree(page))
    assert [line.split(": ", 1)[1] for line in text.splitlines()[1:]] == [
        '"a: b"', '"- x"', '"42"', '"yes"', "plain", 'tab:"', '"0x1F"', '"{{ x }}"',
    ]  # fmt: skip


def test_any_text_gives_a_tree() -> None:
    for html in (
        "",
        "<",
        "text",
        "<table><td>",
        "<p><b></p></b>",
        "<select><div>x",
        "\0<a href=''>\ud7ff</a>",
        "<svg><p>",
        "<frameset>",
    ):
        write_snapshot(read_tree(html))

"""The form of BrowserGym: bids, values and properties, and what its marks do to a page (expected texts are Chromium's own)."""

from simtrain.worlds.app.accessibility.browsergym_form import write_axtree
from simtrain.worlds.app.accessibility.chromium_tree import chromium_tree
from simtrain.worlds.app.accessibility.form_state import FormState
from simtrain.worlds.app.accessibility.playwright_form import write_snapshot
from simtrain.worlds.app.accessibility.tree import read_tree

URL = "https://shop.example/cart?page=2"
FORM = """<title>Cart</title><h1>Your <em>cart</em></h1><form><label>Name <input name="name" required value="Ada"></label>
<select aria-label="Size"><option>S</option><option selected>M</option></select><input type="checkbox" aria-label="Gift">
<button disabled>Pay</button> <a href="?page=3">Next</a></form>"""


def written(html: str, state: FormState | None = None) -> list[str]:
    return write_axtree(chromium_tree(read_tree(html, state=state or FormState()), url=URL)).split("\n")


def test_a_form_is_written_as_browsergym_writes_it() -> None:
    assert written(FORM) == [
        "RootWebArea 'Cart', focused, url='https://shop.example/cart?page=2'",
        "\t[4] heading 'Your cart'",
        "\t\t[5] emphasis ''",
        "\t\t\tStaticText 'cart'",
        "\t[6] form ''",
        "\t\t[7] LabelText ''",
        "\t\t\tStaticText 'Name'",
        "\t\t\t[8] textbox 'Name' value='Ada', required",
        "\t\t\t\tStaticText 'Ada'",
        "\t\t[9] combobox 'Size' value='M', hasPopup='menu', expanded=False",
        "\t\t\tMenuListPopup ''",
        "\t\t\t\t[10] option 'S', selected=False",
        "\t\t\t\t[11] option 'M', selected=True",
        "\t\t[12] checkbox 'Gift', checked='false'",
        "\t\t[13] button 'Pay', disabled=True",
        "\t\t[14] link 'Next', url='https://shop.example/cart?page=3'",
    ]


def test_what_was_typed_ticked_and_focused_shows() -> None:
    page = read_tree(FORM).page
    name, gift = (element.position for element in page.elements if element.tag == "input")
    lines = written(FORM, FormState(values={name: "Grace"}, checked={gift: True}, focused=name))
    assert "\t\t\t[8] textbox 'Name' value='Grace', focused, required" in lines
    assert "\t\t[12] checkbox 'Gift', checked='true'" in lines


def test_what_can_be_clicked_is_said_where_it_is_asked_for() -> None:
    text = write_axtree(chromium_tree(read_tree("<button>Go</button>")), clickable=frozenset({"3"}))
    assert text.endswith("[3] button 'Go', clickable")


def test_items_of_numbered_lists_have_the_number_that_the_marks_give_them() -> None:
    lines = written("<ol><li>One</li><li value='7'>Seven</li></ol><ul><li>Dot</li></ul>")
    assert [line.strip() for line in lines if "ListMarker" in line] == [
        "ListMarker '0.'",
        "ListMarker '7.'",
        "ListMarker '•'",
    ]


def test_white_space_is_written_only_where_it_separates() -> None:
    lines = written("<p><a href='/a'>A</a> <a href='/b'>B</a></p><p><b>x</b> <button>y</button> </p><p> z </p>")
    assert sum(line.strip() == "StaticText ''" for line in lines) == 1


def test_any_text_gives_a_tree() -> None:
    for html in (
        "",
        "<",
        "<table><td>",
        "<input type=date value=x>",
        "<input type=range min=9 max=1>",
        "<progress value=x>",
        "<li>",
        "<summary>",
    ):
        assert written(html)[0].startswith("RootWebArea")


def test_elements_that_are_nested_too_deep_are_read() -> None:
    for tag in ("div", "ul><li", "table><tr><td", "b", "details open"):
        html = f"<{tag}>" * 400 + "deep"
        assert "deep" in "".join(written(html))
        assert "deep" in write_snapshot(read_tree(html))[0]

import pytest

from confit import ConfitError, dump, load


def test_plain_keys_come_before_blocks():
    text = dump({"t": {"x": 1}, "a": True, "b": None})
    assert text == "a = true\nb = none\n\nt {\n    x = 1\n}\n"
    assert dump({}) == ""


def test_blocks_lie_within_blocks():
    text = dump({"a": {"b": {"c": 1}, "d": {}}}, indent=2)
    assert text == "a {\n  b {\n    c = 1\n  }\n\n  d {}\n}\n"


def test_short_lists_stay_on_a_line():
    assert dump({"l": [1, "a", [False]]}) == 'l = [1, "a", [false]]\n'


def test_long_lists_have_a_line_for_each_item():
    items = ["x" * 30, "y" * 30, "z" * 30]
    lines = dump({"t": {"l": items}}).splitlines()
    assert lines[1] == "    l = ["
    assert lines[2] == f'        "{items[0]}",'
    assert lines[-2] == "    ]"


def test_a_list_that_just_fits_stays_on_its_line():
    fits = dump({"l": ["x" * 72]})
    assert len(fits.rstrip()) == 80
    assert fits.count("\n") == 1
    assert dump({"l": ["x" * 73]}).count("\n") == 3


@pytest.mark.parametrize(
    "text", ["plain", 'a "b"', "back\\slash", "${x}", "line\nline", "\ttab", ""]
)
def test_texts_are_read_back(text):
    assert load(dump({"x": text}))["x"] == text


def test_what_is_written_is_read_back():
    value = {"a": [1, [2.5, None]], "t": {"u": {"v": "x"}, "w": False}, "empty": {}, "none": []}
    assert load(dump(value)) == value


def test_what_has_no_text_is_refused():
    with pytest.raises(ConfitError, match="a set cannot be written"):
        dump({"x": {1, 2}})
    with pytest.raises(ConfitError, match="'a b' is no name"):
        dump({"a b": 1})

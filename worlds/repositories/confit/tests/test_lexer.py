import pytest

from confit import ConfitError, tokens
from confit.lexer import unescaped


def kinds(source):
    return [token.kind for token in tokens(source)]


def texts(source):
    return [token.text for token in tokens(source)]


def test_names_numbers_texts_and_signs():
    assert texts('a_b = 5m + "x" ?? [c-d]') == [
        *("a_b", "=", "5m", "+", '"x"', "??", "[", "c-d", "]", "")
    ]
    assert kinds('a = 1 "x"') == ["name", "sign", "number", "text", "end"]


def test_a_share_is_one_token():
    assert texts("75% 5") == ["75%", "5", ""]


def test_tokens_know_their_place():
    found = tokens("a = 1\n\n  bc = 2")
    places = [(token.text, token.line, token.column) for token in found if token.kind == "name"]
    assert places == [("a", 1, 1), ("bc", 3, 3)]
    assert (found[-1].line, found[-1].column) == (3, 9)


def test_comments_are_left_out():
    assert texts("# one\na # two\n") == ["a", "\n", ""]


def test_empty_lines_count_once():
    assert kinds("\n\na\n\n\nb\n") == ["name", "newline", "name", "newline", "end"]


def test_lines_may_end_within_brackets():
    assert kinds("[\n1,\n2]\n(\n3)\n") == [
        *("sign", "number", "sign", "number", "sign", "newline"),
        *("sign", "number", "sign", "newline", "end"),
    ]
    assert "newline" in kinds("{\na\n}")


def test_a_text_may_hold_quotes_and_expressions():
    assert texts(r'"a \" b"')[0] == r'"a \" b"'
    assert texts('"x ${y ?? "z"} w" q') == ['"x ${y ?? "z"} w"', "q", ""]


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [('"abc', 1, 1), ('x = "a\n"', 1, 5), ("a\n ?", 2, 2), ("@", 1, 1)],
)
def test_what_is_wrong_has_a_place(source, line, column):
    with pytest.raises(ConfitError) as raised:
        tokens(source)
    assert (raised.value.line, raised.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("plain", "plain"),
        (r"a\nb", "a\nb"),
        (r"\"\\\t", '"\\\t'),
        (r"\${x}", "${x}"),
        (r"caf\u00e9!", "café!"),
    ],
)
def test_escapes_are_carried_out(text, meaning):
    assert unescaped(text) == meaning


@pytest.mark.parametrize("text", [r"\x", r"\u12", r"\uZZZZ", "\\"])
def test_other_escapes_are_refused(text):
    with pytest.raises(ConfitError):
        unescaped(text)

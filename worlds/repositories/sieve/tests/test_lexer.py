import pytest

from sieve import QueryError, tokens


def pairs(query):
    return [(token.kind, token.text) for token in tokens(query)]


def test_a_query_is_tokens():
    assert pairs("SELECT a1, 'x' FROM t -- all\nWHERE b>=1.5") == [
        ("word", "select"),
        ("name", "a1"),
        ("sign", ","),
        ("text", "x"),
        ("word", "from"),
        ("name", "t"),
        ("word", "where"),
        ("name", "b"),
        ("sign", ">="),
        ("number", "1.5"),
        ("end", ""),
    ]


def test_quotes_are_doubled():
    assert pairs("'it''s' ''")[:2] == [("text", "it's"), ("text", "")]


def test_names_may_be_quoted():
    assert pairs('"select" "a b"')[:2] == [("name", "select"), ("name", "a b")]


def test_signs_have_two_forms():
    assert [text for _, text in pairs("!= <> <= || <")] == ["<>", "<>", "<=", "||", "<", ""]


def test_tokens_know_their_place():
    assert [token.at for token in tokens("ab  c\n=")] == [0, 4, 6, 7]


@pytest.mark.parametrize(("query", "at"), [("a ; b", 2), ("'open", 0), ("a # b", 2), ('""', 0)])
def test_other_letters_are_refused(query, at):
    with pytest.raises(QueryError, match="belongs to nothing") as raised:
        tokens(query)
    assert raised.value.at == at

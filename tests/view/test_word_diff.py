"""Two texts word by word, and whole where they have little in common."""

from simtrain.view.word_diff import word_diff


def read(before: str, after: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in word_diff(before, after) or ()]


def test_words_that_changed_stand_between_those_that_did_not() -> None:
    assert read("paid 40 euros", "paid 45 euros") == [
        ("same", "paid "),
        ("gone", "40"),
        ("new", "45"),
        ("same", " euros"),
    ]


def test_a_text_that_was_cut_short_is_still_compared() -> None:
    assert read("one two three four five six seven eight nine", "one two") == [
        ("same", "one two"),
        ("gone", " three four five six seven eight nine"),
    ]


def test_texts_that_have_little_in_common_stand_whole_one_below_the_other() -> None:
    timeout, reply = "504: The request timed out.", '{"id": "CH1", "at": "The 3rd", "card": 2205}'
    assert read(timeout, reply) == [("gone", timeout + "\n"), ("new", reply)]

"""Answers in plain sentences: what they state is read, and what they hedge, deny or merely list is not."""

from __future__ import annotations

import pytest

from simtrain.agents.answers import read_answer
from simtrain.grading.stated_values import stated_items, stated_number, states

PROMPT = 'Aiko Hoang keeps opening tickets titled "Sync is down". Merge them by 2031-03-05 for 15 dollars and tell me which one stays.'


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("The id of the ticket that stays is T0064.", "T0064"),
        ("T0064 stays open for Aiko Hoang.", "T0064"),
        ("Done: **T0064**", "T0064"),
        ("You will meet in Gristmill.", "Gristmill"),
        ("It starts at 10:30.", "10:30"),
        ("The path is Office / Keys and Alarms.", "Office / Keys and Alarms"),
        ("The status is overdue.", "overdue"),
        ("I am done, and the answer is overdue.", "overdue"),
        ("We merged everything on 2031-03-05; it starts on 2031-03-07.", "2031-03-07"),
    ],
)
def test_a_sentence_that_names_the_value_and_no_other_states_it(said: str, gold: str) -> None:
    assert states(said, gold, prompt=PROMPT)


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("It is T0064 or T0065.", "T0064"),
        ("T0064, T0065 and T0066 were looked at.", "T0064"),
        ("It is not T0064.", "T0064"),
        ("Maybe it is T0064.", "T0064"),
        ("The ticket is T00645.", "T0064"),
        ("You will meet in Gristmill, Foghorn, Dovecote.", "Gristmill"),
        ("The status is paid, open, overdue.", "overdue"),
        ("They are paid, open, and the last is overdue.", "overdue"),
        ("An overdue invoice is on the way.", "overdue"),
        ("It was Aiko Hoang, as asked by Bela Kiss.", "Aiko Hoang"),
        ("T0064 " * 200, "T0064"),
    ],
)
def test_a_sentence_that_denies_hedges_or_lists_rivals_states_nothing(said: str, gold: str) -> None:
    assert not states(said, gold, prompt=PROMPT)


def test_among_values_that_the_task_offers_only_one_may_be_named() -> None:
    offered = "Which of T0064, T0065 and T0066 stays?"
    assert states("T0065 stays.", "T0065", prompt=offered)
    assert not states("T0064, T0065 and T0066 are there.", "T0065", prompt=offered)


def test_an_exact_answer_in_a_sentence_keeps_its_case() -> None:
    link = "https://kestrel.example/archives/C2007/p1947"
    assert states(f"Its permalink is {link}", link, prompt="", exact=True)
    assert not states(f"Its permalink is {link.upper()}", link, prompt="", exact=True)
    assert not states(f"Its permalink is {link}8", link, prompt="", exact=True)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("The refund came to 49.50 euros.", 49.5),
        ("By 2031-03-05 you get 1,250 dollars.", 1250),
        ("The customer gets 15 dollars, 45 in all.", 45),
        ("Ticket T0064 holds 3.", 3),
        ("Between 3 and 4.", None),
        ("None that I know of.", None),
    ],
)
def test_the_number_is_the_one_that_the_task_did_not_name(said: str, number: float | None) -> None:
    assert stated_number(said, prompt=PROMPT) == number


@pytest.mark.parametrize(
    ("said", "gold", "items"),
    [
        ("The ids are S1, S2 and S3.", ["S1", "S2", "S3"], "S1, S2, S3"),
        ("I cancelled S1 and S2.", ["S1", "S2"], "S1\nS2"),
        ("I cancelled S1, but not S2.", ["S1", "S2"], None),
        ("Here they are:\n- Ada Lund\n- Bo and Sons\n", ["Ada Lund", "Bo and Sons"], "Ada Lund\nBo and Sons"),
        ("These are the ones: Bo and Sons", ["Bo and Sons"], "Bo and Sons"),
        ("There are none.", ["S1"], "none"),
        ("I looked at everything.", ["S1"], None),
    ],
)
def test_items_are_what_follows_the_introduction(said: str, gold: list[str], items: str | None) -> None:
    assert stated_items(said, gold) == items


@pytest.mark.parametrize(
    "said",
    [
        "I cannot do this as it was asked. The first charge failed.",
        "I'm sorry, but I can't help with that.",
        "Unfortunately, this cannot be done: the page is locked, but you may ask its owner.",
        "We were not able to complete the request.",
        "I am unable to refund the charge. It is still open.",
    ],
)
def test_a_refusal_in_a_sentence_is_one(said: str) -> None:
    assert read_answer(said) == (said, True)


@pytest.mark.parametrize(
    "said",
    [
        "I could not find any overdue invoice, so the total is 0.",
        "I cannot move all of them, but 5 are moved.",
        "I could not reach the service at first. In the end it worked: 5.",
        "The invoice cannot be refunded twice; the amount is 49.",
        "Done. I cannot think of anything else.",
        "I cannot do this.\nANSWER: 5",
    ],
)
def test_a_sentence_about_trouble_on_the_way_is_no_refusal(said: str) -> None:
    assert not read_answer(said)[1]

from datetime import datetime

import pytest

from rota import At, Calendar, CronError, CronTrigger, Every, WorkingHours


def at(text):
    return datetime.fromisoformat(f"2031-03-03 {text}")


def test_every_begins_now_or_after_its_delay():
    assert Every("10m").first(at("09:00")) == at("09:00")
    assert Every("10m", delay="90s").first(at("09:00")) == at("09:01:30")


@pytest.mark.parametrize(
    ("now", "following"),
    [
        ("09:00", "09:10"),
        ("09:04", "09:10"),
        ("09:10", "09:10"),
        ("09:11", "09:20"),
        ("09:40", "09:40"),
    ],
)
def test_every_leaves_out_what_was_missed(now, following):
    assert Every("10m").following(at("09:00"), at(now)) == at(following)


def test_at_happens_once():
    trigger = At(at("12:00"))
    assert trigger.first(at("09:00")) == at("12:00")
    assert trigger.first(at("13:00")) == at("13:00")
    assert trigger.following(at("12:00"), at("12:00")) is None


def test_a_cron_line_begins_with_this_minute_if_it_has_just_begun():
    trigger = CronTrigger("0 * * * *")
    assert trigger.first(at("09:00")) == at("09:00")
    assert trigger.first(at("09:00:01")) == at("10:00")
    assert trigger.first(at("09:30")) == at("10:00")


def test_a_cron_line_leaves_out_what_was_missed():
    trigger = CronTrigger("*/15 * * * *")
    assert trigger.following(at("09:00"), at("09:05")) == at("09:15")
    assert trigger.following(at("09:00"), at("09:50")) == at("10:00")
    assert trigger.following(at("09:00"), at("09:45")) == at("09:45")


def test_a_wrong_cron_line_is_refused_at_once():
    with pytest.raises(CronError):
        CronTrigger("every day")


def test_cron_triggers_are_equal_by_their_lines():
    assert CronTrigger("0 * * * *") == CronTrigger("0 * * * *")
    assert repr(CronTrigger("0 * * * *")) == "CronTrigger(line='0 * * * *')"


def test_working_hours_move_times_to_the_next_opening():
    calendar = Calendar({"mon": ["09:00-12:00", "14:00-18:00"]})
    trigger = WorkingHours(Every("1h"), calendar)
    assert trigger.first(at("07:30")) == at("09:00")
    assert trigger.following(at("11:30"), at("11:30")) == at("14:00")
    assert trigger.following(at("14:00"), at("14:00")) == at("15:00")


def test_working_hours_do_not_give_the_same_opening_twice():
    calendar = Calendar({"mon": ["09:00-18:00"]})
    trigger = WorkingHours(CronTrigger("0 6-10 * * *"), calendar)
    assert trigger.first(at("06:00")) == at("09:00")
    assert trigger.following(at("09:00"), at("09:00")) == at("10:00")


def test_what_happens_once_is_moved_once():
    trigger = WorkingHours(At(at("06:00")), Calendar({"mon": ["09:00-18:00"]}))
    assert trigger.first(at("05:00")) == at("09:00")
    assert trigger.following(at("09:00"), at("09:00")) is None

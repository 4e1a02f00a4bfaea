from datetime import datetime

import pytest

from rota import Cron, CronError
from rota.cron import parse_field


def at(text):
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("5", "minute", {5}),
        ("*/20", "minute", {0, 20, 40}),
        ("50/5", "minute", {50, 55}),
        ("1-3", "hour", {1, 2, 3}),
        ("8-20/6", "hour", {8, 14, 20}),
        ("1,15,31", "day", {1, 15, 31}),
        ("jan,Dec", "month", {1, 12}),
        ("mon-fri", "weekday", {1, 2, 3, 4, 5}),
        ("0,7", "weekday", {0}),
        ("sat,7", "weekday", {0, 6}),
        ("23", "hour", {23}),
        ("59", "minute", {59}),
    ],
)
def test_a_field_allows_values(text, name, values):
    assert parse_field(text, name) == values


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("60", "minute"),
        ("24", "hour"),
        ("0", "day"),
        ("32", "day"),
        ("13", "month"),
        ("8", "weekday"),
        ("5-3", "hour"),
        ("*/0", "minute"),
        ("x", "day"),
        ("", "hour"),
        ("jan", "weekday"),
        ("mon", "month"),
    ],
)
def test_a_field_out_of_range_is_refused(text, name):
    with pytest.raises(CronError):
        parse_field(text, name)


def test_a_line_has_five_fields():
    with pytest.raises(CronError, match="has 4 fields, not 5"):
        Cron.parse("* * * *")


def test_aliases_stand_for_lines():
    assert Cron.parse("@daily").hours == {0}
    assert Cron.parse("@Weekly").weekdays == {0}
    assert len(Cron.parse("@hourly").hours) == 24
    assert Cron.parse("@daily").line == "@daily"


@pytest.mark.parametrize(
    ("line", "time", "matches"),
    [
        ("30 9 * * *", "2031-03-03 09:30", True),
        ("30 9 * * *", "2031-03-03 09:31", False),
        ("30 9 * * *", "2031-03-03 10:30", False),
        ("0 0 * * sun", "2031-03-02 00:00", True),
        ("0 0 * * sun", "2031-03-03 00:00", False),
        ("0 0 13 * fri", "2031-03-14 00:00", True),
        ("0 0 13 * fri", "2031-03-13 00:00", True),
        ("0 0 13 * fri", "2031-03-12 00:00", False),
        ("0 0 */2 * mon", "2031-03-03 00:00", True),
        ("0 0 */2 * mon", "2031-03-05 00:00", False),
        ("0 0 1 feb *", "2031-03-01 00:00", False),
    ],
)
def test_a_line_names_minutes(line, time, matches):
    assert Cron.parse(line).matches(at(time)) is matches


@pytest.mark.parametrize(
    ("line", "after", "found"),
    [
        ("* * * * *", "2031-03-03 09:00:30", "2031-03-03 09:01"),
        ("0 * * * *", "2031-03-03 09:00", "2031-03-03 10:00"),
        ("15 9 * * *", "2031-03-03 09:15", "2031-03-04 09:15"),
        ("15 9 * * *", "2031-03-03 09:14:59", "2031-03-03 09:15"),
        ("0 6 1 * *", "2031-12-01 06:00", "2032-01-01 06:00"),
        ("0 0 29 2 *", "2031-03-03", "2032-02-29"),
        ("45 23 * * sat", "2031-03-03 12:00", "2031-03-08 23:45"),
        ("*/20 8-9 * * *", "2031-03-03 09:40", "2031-03-04 08:00"),
    ],
)
def test_the_next_time_comes_after(line, after, found):
    assert Cron.parse(line).next_after(at(after)) == at(found)


def test_a_line_that_never_matches_says_so():
    with pytest.raises(CronError, match="never matches"):
        Cron.parse("0 0 31 2 *").next_after(at("2031-03-03"))


def test_times_between_contain_the_start_and_not_the_end():
    cron = Cron.parse("0 */6 * * *")
    found = cron.between(at("2031-03-03 06:00"), at("2031-03-04 00:00"))
    assert found == [at("2031-03-03 06:00"), at("2031-03-03 12:00"), at("2031-03-03 18:00")]
    assert cron.between(at("2031-03-03 06:00:20"), at("2031-03-03 12:00")) == []

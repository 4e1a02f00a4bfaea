from datetime import date, datetime, time

import pytest

from rota import Calendar, Hours, RotaError


def at(text):
    return datetime.fromisoformat(text)


@pytest.fixture
def office():
    week = {day: ["09:00-12:00", "13:00-17:30"] for day in ("mon", "tue", "wed", "thu", "fri")}
    return Calendar(week | {"sat": ["22:00-24:00"]}, holidays=[date(2031, 3, 5)])


def test_hours_are_read():
    assert Hours.parse("09:00-17:30") == Hours(time(9), time(17, 30))
    assert Hours.parse("8-12") == Hours(time(8), time(12))
    assert Hours.parse("09:00-17:30").seconds == 30_600
    assert Hours.parse("22:00-24:00").seconds == 7_200


@pytest.mark.parametrize("text", ["09:00", "17:00-09:00", "09:00-09:00", "25:00-26:00", "a-b"])
def test_other_hours_are_refused(text):
    with pytest.raises(RotaError):
        Hours.parse(text)


def test_hours_contain_their_start_and_not_their_end():
    hours = Hours.parse("09:00-17:30")
    assert hours.contains(time(9))
    assert hours.contains(time(17, 29, 59))
    assert not hours.contains(time(17, 30))
    assert not hours.contains(time(8, 59))


def test_days_have_names(office):
    with pytest.raises(RotaError, match="'monday' is no day"):
        Calendar({"monday": ["09:00-17:00"]})
    assert office.hours_on(date(2031, 3, 9)) == []


def test_hours_of_a_day_come_in_order():
    calendar = Calendar({"mon": ["13:00-17:00", "08:00-12:00"]})
    assert [hours.opens for hours in calendar.hours_on(date(2031, 3, 3))] == [time(8), time(13)]


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        ("2031-03-03 09:00", True),
        ("2031-03-03 12:30", False),
        ("2031-03-05 10:00", False),
        ("2031-03-08 23:59", True),
        ("2031-03-09 10:00", False),
    ],
)
def test_it_is_open_or_not(office, moment, is_open):
    assert office.is_open(at(moment)) is is_open


@pytest.mark.parametrize(
    ("moment", "opening"),
    [
        ("2031-03-03 10:00", "2031-03-03 10:00"),
        ("2031-03-03 12:00", "2031-03-03 13:00"),
        ("2031-03-04 17:30", "2031-03-06 09:00"),
        ("2031-03-07 18:00", "2031-03-08 22:00"),
        ("2031-03-09 00:00", "2031-03-10 09:00"),
    ],
)
def test_the_next_opening_is_found(office, moment, opening):
    assert office.next_open(at(moment)) == at(opening)


def test_a_calendar_that_never_opens_says_so():
    with pytest.raises(RotaError, match="never open"):
        Calendar({}).next_open(at("2031-03-03"))


def test_a_holiday_closes_the_day(office):
    assert office.is_open(at("2031-03-03 10:00"))
    office.add_holiday(date(2031, 3, 3))
    assert not office.is_open(at("2031-03-03 10:00"))
    assert office.next_open(at("2031-03-03 10:00")) == at("2031-03-04 09:00")


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        ("2031-03-03 09:00", "2031-03-03 17:30", 27_000),
        ("2031-03-03 11:00", "2031-03-03 14:00", 7_200),
        ("2031-03-04 17:00", "2031-03-06 09:30", 3_600),
        ("2031-03-08 20:00", "2031-03-09 08:00", 7_200),
        ("2031-03-03 12:10", "2031-03-03 12:50", 0),
    ],
)
def test_open_time_is_counted(office, start, end, seconds):
    assert office.open_seconds(at(start), at(end)) == seconds


@pytest.mark.parametrize(
    ("moment", "hours", "end"),
    [
        ("2031-03-03 09:00", 2, "2031-03-03 11:00"),
        ("2031-03-03 11:00", 1, "2031-03-03 12:00"),
        ("2031-03-03 11:00", 2, "2031-03-03 14:00"),
        ("2031-03-04 17:00", 1, "2031-03-06 09:30"),
        ("2031-03-08 12:00", 3, "2031-03-10 10:00"),
    ],
)
def test_open_time_is_added(office, moment, hours, end):
    assert office.add_open(at(moment), hours * 3_600) == at(end)

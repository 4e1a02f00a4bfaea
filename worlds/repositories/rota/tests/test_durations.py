import pytest

from rota import DurationError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("45s", 45),
        ("5m", 300),
        ("1h30m", 5_400),
        ("2d", 172_800),
        ("1w1d", 691_200),
        ("1.5h", 5_400),
        (" 1H 15M ", 4_500),
        ("1d2h3m4s", 93_784),
    ],
)
def test_text_becomes_seconds(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "  ", "5", "h", "5x", "5m1h", "1h1h", "-5m", "1h 5"])
def test_other_text_is_refused(text):
    with pytest.raises(DurationError):
        parse_duration(text)


def test_the_message_names_the_text():
    with pytest.raises(DurationError, match="'5 parsecs' is no duration"):
        parse_duration("5 parsecs")
    with pytest.raises(DurationError, match="wrong order"):
        parse_duration("5m1h")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (5_400, "1h30m"), (90_061, "1d1h"), (604_800, "1w")],
)
def test_seconds_become_text(seconds, text):
    assert format_duration(seconds) == text


def test_text_is_rounded_down_to_the_parts_asked_for():
    assert format_duration(90_061, parts=1) == "1d"
    assert format_duration(90_061, parts=3) == "1d1h1m"
    assert format_duration(3_601.9) == "1h1s"
    assert format_duration(-90) == "-1m30s"
    assert format_duration(-90_061, parts=1) == "-1d"


def test_what_is_written_is_read_back():
    for seconds in (1, 61, 3_661, 86_399, 694_861):
        assert parse_duration(format_duration(seconds, parts=5)) == seconds

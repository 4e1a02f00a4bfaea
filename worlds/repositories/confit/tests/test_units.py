import pytest

from confit import ConfitError, format_size, quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("42", 42),
        ("1_000", 1000),
        ("2.5", 2.5),
        ("75%", 0.75),
        ("200%", 2),
        ("512B", 512),
        ("3k", 3000),
        ("1.5M", 1_500_000),
        ("2G", 2_000_000_000),
        ("4KiB", 4096),
        ("512MiB", 536_870_912),
        ("1GiB", 1_073_741_824),
        ("250ms", 0.25),
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("1d", 86_400),
        ("1d1h1m1s", 90_061),
    ],
)
def test_a_number_has_a_unit(text, number):
    assert quantity(text) == number
    assert type(quantity(text)) is type(number)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no number"),
        ("m", "is no number"),
        ("5parsecs", "'parsecs' is no unit"),
        ("5m1h", "wrong order"),
        ("1h1h", "wrong order"),
        ("1h30", "lacks a unit at its end"),
        ("1h30%", "do not go together"),
        ("4KiB1B", "do not go together"),
        ("1.2.3", "is no number"),
    ],
)
def test_other_numbers_are_refused(text, message):
    with pytest.raises(ConfitError, match=message):
        quantity(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1KiB"),
        (1536, "1.5KiB"),
        (1_048_576, "1MiB"),
        (5 * 1_073_741_824, "5GiB"),
    ],
)
def test_sizes_become_text(count, text):
    assert format_size(count) == text

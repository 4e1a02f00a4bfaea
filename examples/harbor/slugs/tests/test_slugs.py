"""What the instruction asks for, and what has to stay."""

import sys

import pytest

sys.path.insert(0, "/app")

from slugs.slugs import slug


@pytest.mark.parametrize(
    ("title", "made"),
    [
        ("C++ in a week", "c-plus-plus-in-a-week"),
        ("C in a week", "c-in-a-week"),
        ("  Notes  ", "notes"),
        ("A+", "a-plus"),
        ("Room 101: closed", "room-101-closed"),
        ("!!!", ""),
    ],
)
def test_a_slug(title: str, made: str) -> None:
    assert slug(title) == made

"""The colours of the drill report can be told from what they stand on, by day and by night: contrasts as WCAG 2.2 computes them."""

from __future__ import annotations

import re

import pytest

from simtrain.files.pages.templates import style

Colour = tuple[float, float, float]


def colours(*, night: bool) -> dict[str, Colour]:
    found = re.findall(r"--(\w+): light-dark\(#(\w+), #(\w+)\)", style())
    return {name: _parts(dark if night else day) for name, day, dark in found}


def _parts(code: str) -> Colour:
    whole = "".join(2 * letter for letter in code) if len(code) == 3 else code
    red, green, blue = (int(whole[place : place + 2], 16) / 255 for place in (0, 2, 4))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return sum(part * weight for part, weight in zip(parts, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("night", [False, True])
def test_words_can_be_read_on_what_they_stand_on(night: bool) -> None:
    found = colours(night=night)
    for ground in ("paper", "card"):
        assert {name for name in ("ink", "soft", "bad", "good") if contrast(found[name], found[ground]) < 4.5} == set()


def test_by_night_marks_stand_out_and_an_interval_is_seen_on_its_bar() -> None:
    found = colours(night=True)
    marks = {"s0", "s1", *(f"r{number}" for number in range(7))}
    assert {name for name in marks if contrast(found[name], found["card"]) < 3} == set()
    for name in ("bar0", "bar1"):
        assert contrast(found[name], found["ink"]) > 3

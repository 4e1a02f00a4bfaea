"""The look of a site, by the kind that its author gave it, and its colour."""

import re
from functools import cache
from importlib.resources import files
from typing import Final, Literal, TypeAlias

from simtrain.values.months import MONTHS
from simtrain.worlds.search.engine.web import Site

Look: TypeAlias = Literal["news", "forum", "data", "wiki", "office", "plain"]

COLOURS: Final = 8

_LOOKS: Final[tuple[tuple[Look, re.Pattern[str]], ...]] = (
    ("news", re.compile(r"news|press|gazette|magazine|journal|paper|wire")),
    ("forum", re.compile(r"forum|thread|board|chat|social|community|lounge")),
    ("data", re.compile(r"data|sheet|statistic|catalog|index|database")),
    ("wiki", re.compile(r"wiki|encyclop|reference|handbook|guide")),
    ("office", re.compile(r"offici|regist|govern|archive|authority|agency|council")),
)
"""Kinds are free text; the first look whose pattern fits is taken."""


def look_of(kind: str) -> Look:
    """Return the look of a site of some kind."""
    for look, spoken in _LOOKS:
        if spoken.search(kind.lower()):
            return look
    return "plain"


def classes(site: Site) -> str:
    """Return the classes of a site's documents in the style sheet."""
    return f"{look_of(site.kind)} c{(site.id - 1) % COLOURS}"


def spoken_date(day: str) -> str:
    """Return a date (YYYY-MM-DD) as people write it: 5 March 2031."""
    return f"{int(day[8:10])} {MONTHS[int(day[5:7]) - 1]} {day[:4]}"


@cache
def style() -> bytes:
    """Return the style sheet of all sites."""
    return files("simtrain.view.search_site").joinpath("style.css").read_bytes()

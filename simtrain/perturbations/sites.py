"""Figures on a page of a search world, and which of them other sites state too."""

from contextlib import suppress
from urllib.parse import urlsplit

from simtrain.contracts.world import WorldState
from simtrain.perturbations.figures import figures_in_text
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, Observation

_STATED = """
select s.attribute as attribute, substr(p.body, s.start + 1, s.length) as words
from _pages p join _statements s on s.page = p.id where p.url = :url order by s.start
"""
_SHARED = """
select distinct s.attribute as attribute from _pages p join _statements s on s.page = p.id
where p.url = :url and exists (
  select 1 from _statements t join _pages q on q.id = t.page
  where t.type = s.type and t.entity = s.entity and t.attribute = s.attribute and q.site <> p.site)
"""


def site_of(observation: Observation) -> str:
    """Return the host of the page that a reply shows; empty if it shows none."""
    url = _url(observation)
    with suppress(ValueError):
        return urlsplit(url).hostname or ""
    return ""


def figures_stated(world: WorldState, observation: Observation) -> dict[int, list[str]]:
    """Return the figures on the shown page, as written, by attribute; none in a world without pages."""
    found: dict[int, list[str]] = {}
    for row in _rows(world, _STATED, observation):
        figures = figures_in_text(str(row["words"]))
        if figures:
            found.setdefault(row["attribute"], []).extend(figures)
    return found


def stated_elsewhere(world: WorldState, observation: Observation) -> set[int]:
    """Return the attributes of things on the shown page that pages of other sites state too."""
    return {row["attribute"] for row in _rows(world, _SHARED, observation)}


def _url(observation: Observation) -> str:
    url = (observation.content or {}).get("url")
    return url if isinstance(url, str) else ""


def _rows(world: WorldState, sql: str, observation: Observation) -> list[JsonObject]:
    url = _url(observation)
    try:
        # A service world has no such tables: then no page states anything.
        return world.query(sql, {"url": url}) if url else []
    except InputError:
        return []

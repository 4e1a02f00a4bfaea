"""The addresses of episodes: by scenario, case, arm and attempt, so that they stay the same as long as the run does."""

from typing import Any, Literal, TypeAlias
from urllib.parse import quote, unquote, urlencode

from simtrain.contracts.trajectory import Trajectory
from simtrain.values.errors import InputError
from simtrain.view.shelf import ShelvedRun

PLACE = ("scenario", "episode", "arm", "attempt")
"""The columns that name an episode in its run."""

PageName: TypeAlias = Literal["run", "figures", "failures", "episode", "note", "words", "count"]


def number_of(run: ShelvedRun, values: Any) -> int:
    """Return the `id` of the episode that an address names. Raises InputError if there is none."""
    asked = {name: values.get(name, "0" if name == "attempt" else "") for name in PLACE}
    number = run.index.first(" and ".join(f"{name} = :{name}" for name in PLACE), asked)
    if number is None:
        raise InputError(
            f"{run.name} has no episode {asked['scenario']} {asked['episode']} (arm {asked['arm'] or 'none'})"
        )
    return number


def key_of(run: ShelvedRun, row: Any) -> str:
    """Return what names an episode among all runs."""
    return f"{quote(run.name)}?{urlencode({name: row[name] for name in PLACE})}"


def run_of_key(key: str) -> tuple[str, str]:
    """Return the name of the run in such a key, and the query that names the episode."""
    name, _, query = key.partition("?")
    return unquote(name), query


def page_address(page: PageName, run: ShelvedRun, **query: str) -> str:
    """Return the address of a page of a run; empty words of the query are left out."""
    told = urlencode({name: value for name, value in query.items() if value})
    return f"/{page}/{quote(run.name)}" + (f"?{told}" if told else "")


def row_address(run: ShelvedRun, row: Any, q: str, sort: str) -> str:
    """Return the address of an episode, which stays the same as long as the run does, and of the list that it was opened from."""
    listed = {name: value for name, value in (("q", q), ("sort", sort)) if value}
    return f"/episode/{quote(run.name)}?{urlencode({**{name: row[name] for name in PLACE}, **listed})}"


def trajectory_address(run: ShelvedRun, trajectory: Trajectory) -> str:
    """Return the address of the episode that a trajectory records."""
    return row_address(run, {name: getattr(trajectory, name) for name in PLACE}, "", "")

"""Shared by the commands on search worlds: find the file that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.cli.progress import BuildProgress
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.contracts.world import Variant
    from simtrain.worlds.app.world import AppWorld
    from simtrain.worlds.search.source import SearchSource


def search_source(name: str) -> SearchSource:
    """Return the search world of that name or path. Raises InputError for none, and for a world of another kind."""
    from simtrain.scenarios.find import find
    from simtrain.scenarios.load import load_world
    from simtrain.worlds.search.source import SearchSource

    # A built file holds no templates, so its world cannot be built at another size or seed.
    if _is_built(name) and Path(name).exists():
        raise InputError(
            "a built file does not do", remedy="name its world, or the YAML that it was built from", file=name
        )
    path = find("worlds", name)
    source = load_world(path)
    if not isinstance(source, SearchSource):
        raise InputError(f"{source.name!r} is a {source.kind} world, which is not built into a file", file=path)
    return source


def variant_of(*, pages: int | None, seed: int | None, rows: Sequence[str] = ()) -> Variant:
    """Return the requested size. Raises InputError for a text that is not TYPE=COUNT."""
    from simtrain.contracts.world import Variant

    counts: list[tuple[str, int]] = [] if pages is None else [("pages", pages)]
    for given in rows:
        kind, _, count = given.partition("=")
        if not kind or not count.isdigit():
            raise InputError(f"{given!r} is not a number of rows", remedy="write it like station=500", place="--rows")
        counts.append((kind, int(count)))
    return Variant(seed=seed, rows=tuple(counts))


def named_app(name: str, *, pages: int | None, seed: int | None) -> AppWorld | None:
    """Return the app of that name or path; None for a world of another kind. Raises InputError."""
    from simtrain.contracts.world import Variant
    from simtrain.scenarios.find import find
    from simtrain.scenarios.load import load_world
    from simtrain.worlds.app.world import AppWorld

    if _is_built(name):
        return None
    source = load_world(find("worlds", name))
    if source.kind != "app":
        return None
    if pages is not None:
        raise InputError("an app has the pages of its screens", remedy="leave --pages out")
    built = source.build(Variant(seed=seed))
    return built if isinstance(built, AppWorld) else None


@dataclass(frozen=True)
class ChosenWorld:
    """The built file of a search world in a variant. `source` is its YAML; None for a file that was given by its path."""

    path: Path
    variant: Variant
    source: SearchSource | None


def chosen_world(name: str, *, pages: int | None = None, seed: int | None = None, quiet: bool) -> ChosenWorld:
    """Return a built file given by its path, or the one of a world by name, built if need be. Raises InputError."""
    variant = variant_of(pages=pages, seed=seed)
    if _is_built(name):
        return ChosenWorld(Path(name), variant, None)
    source = search_source(name)
    with BuildProgress(quiet=quiet) as progress:
        return ChosenWorld(source.build_file(variant, watching=progress), variant, source)


def page_count(path: Path) -> int:
    """Return how many pages a built file has. Raises InputError for what is none."""
    from simtrain.worlds.search.file import blaming, open_file

    with blaming(path), closing(open_file(path)) as connection:
        return connection.execute("select count(*) from _pages").fetchone()[0]


def _is_built(name: str) -> bool:
    """True if a name is the path of a built file, not that of a world or of its YAML."""
    return Path(name).suffix not in ("", ".yaml", ".yml")

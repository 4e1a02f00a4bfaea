"""The number of rows of each type in a world whose size is given in pages."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from simtrain.values.errors import InputError, nearest
from simtrain.worlds.search.building import BuildOrder, page_counts
from simtrain.worlds.search.spec.world_file import MAX_COUNT, MAX_PAGES

PAGES: Final = "pages"
# Laying a world out takes all of its facts: trials stay small, and larger worlds are extrapolated from them.
_TRIAL_PAGES = 4_000
_TRIES = 6
# A share of the wanted pages: trials end within 1 %, and beyond 10 % too many, kinds of pages are left out.
_CLOSE = 0.01
_TOO_MANY = 1.1


def ordered(order: BuildOrder, wanted: Mapping[str, int]) -> BuildOrder:
    """Return the order with other counts: those given by type, and the others scaled so that there are about `pages` pages.

    Raises InputError for types that do not exist or have no count, and for counts out of range.
    """
    spec = order.design.schema.spec
    counted = [name for name, entity in spec.entities.items() if entity.count is not None]
    for name, count in wanted.items():
        if name != PAGES and name not in counted:
            raise InputError(
                f"no type {name!r} is counted in the world {spec.name!r}", remedy=nearest(name, [*counted, PAGES])
            )
        if not 1 <= count <= (MAX_PAGES if name == PAGES else MAX_COUNT):
            raise InputError(f"{count} is not a possible number of {name}")
    given = {name: count for name, count in wanted.items() if name != PAGES}
    pages = wanted.get(PAGES, spec.pages)
    order = replace(order, counts={**order.counts, **given})
    return order if pages is None else _fitted(order, pages, frozenset(given))


def _fitted(order: BuildOrder, pages: int, fixed: frozenset[str]) -> BuildOrder:
    """Return the order scaled by trial: small worlds are laid out, and large ones are extrapolated from them."""
    found: list[tuple[float, int]] = []
    scale = 1.0
    for _ in range(_TRIES):
        count = sum(page_counts(_scaled(order, scale, fixed)).values())
        found.append((scale, count))
        if abs(count - pages) <= _CLOSE * pages:
            break
        wanted = min(pages, _TRIAL_PAGES)
        # Smaller trials would mislead: counts of at least one row bend the line near zero.
        if pages > _TRIAL_PAGES and count > 0.7 * _TRIAL_PAGES:
            break
        scale = _next(found, wanted)
    if len(found) == _TRIES and len({count for _, count in found}) == 1 and found[0][1] < pages:
        raise InputError(
            f"the world has {found[0][1]} pages at any size, and {pages} are wanted",
            remedy="let a count scale: without `fixed`, and not set by itself",
        )
    if pages > _TRIAL_PAGES:
        return _scaled(order, _next(found, pages), fixed)
    scale, count = min(found, key=lambda one: (abs(one[1] - pages), one[0]))
    order = _scaled(order, scale, fixed)
    # No count falls below one row, so a world of many kinds may stay too large at any scale.
    return order if count <= pages * _TOO_MANY else _thinned(order, pages)


def _thinned(order: BuildOrder, pages: int) -> BuildOrder:
    """Return the order with as many kinds of pages as there is room for: the first sites first, and within a site the
    kinds for single rows first.
    """
    counts = page_counts(order)
    kinds = [page for site in order.design.sites for page in sorted(site.pages, key=lambda one: one.spec.for_ is None)]
    kept: list[int] = []
    for page in kinds:
        if sum(counts[one] for one in kept) + counts[page.index] <= pages:
            kept.append(page.index)
    return replace(order, kinds=tuple(sorted(kept)))


def _next(found: list[tuple[float, int]], wanted: int) -> float:
    """Return the scale for the wanted number of pages, on the line through the last two trials."""
    scale, count = found[-1]
    if len(found) > 1 and found[-2][1] != count and found[-2][0] != scale:
        # Pages grow with rows along a line that misses the origin: home pages and `fixed` types do not scale.
        slope = (count - found[-2][1]) / (scale - found[-2][0])
        if slope > 0:
            return max(1e-9, scale + (wanted - count) / slope)
    return scale * wanted / count


def _scaled(order: BuildOrder, scale: float, fixed: frozenset[str]) -> BuildOrder:
    entities = order.design.schema.spec.entities
    counts = {
        name: count if name in fixed or entities[name].fixed else max(1, min(MAX_COUNT, round(count * scale)))
        for name, count in order.counts.items()
    }
    return replace(order, counts=counts)

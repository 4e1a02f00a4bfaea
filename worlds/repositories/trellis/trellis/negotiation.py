"""Which of several forms a client likes best."""

from collections.abc import Sequence

from trellis.headers import parse_options


def parse_accept(text: str) -> list[tuple[str, float]]:
    """Return what an Accept header likes, with how much, the most first; equal ones in their order."""
    found: list[tuple[str, float]] = []
    for part in text.split(","):
        value, options = parse_options(part)
        if value:
            found.append((value, _quality(options.get("q", "1"))))
    return sorted(found, key=lambda one: -one[1])


def _quality(text: str) -> float:
    try:
        return max(0.0, min(1.0, float(text)))
    except ValueError:
        return 0.0


def _fits(offer: str, wanted: str) -> int:
    """Return how closely a wish names an offer: 3 exactly, 2 by `text/*` or `en`, 1 by `*`, 0 not."""
    if wanted == offer:
        return 3
    if wanted.endswith("/*") and offer.startswith(wanted[:-1]):
        return 2
    if "/" not in offer and offer.startswith(f"{wanted}-"):
        return 2
    return 1 if wanted in ("*", "*/*") else 0


def best(accept: str, offers: Sequence[str]) -> str | None:
    """Return the offer that is liked best; the first if there are no wishes, None if none fits."""
    if not accept.strip():
        return offers[0] if offers else None
    wishes = parse_accept(accept)
    chosen: tuple[float, str | None] = (0.0, None)
    for offer in offers:
        fitting = [(_fits(offer.lower(), wanted), quality) for wanted, quality in wishes]
        closeness, quality = max(fitting, default=(0, 0.0), key=lambda one: one[0])
        if closeness and quality > chosen[0]:
            chosen = (quality, offer)
    return chosen[1]

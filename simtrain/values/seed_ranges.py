"""Seeds written as ranges."""

from simtrain.values.errors import InputError

MOST_SEEDS = 100_000


def seeds_from(text: str | None) -> list[int]:
    """Return seeds written like `1..80` or `3,5,9..12`; none for no text. Raises InputError."""
    found: list[int] = []
    for part in (text or "").split(",") if text is not None else ():
        first, dots, last = part.strip().partition("..")
        try:
            low = int(first)
            high = int(last) if dots else low
        except ValueError:
            raise InputError(f"{part!r} is not a seed", remedy="write it like 1..80 or 3,5,9..12") from None
        if low > high:
            raise InputError(f"{part.strip()} runs backwards", remedy=f"write {high}..{low}")
        # Checked before the range is made: 1..999999999999 must not fill the memory.
        if len(found) + high - low >= MOST_SEEDS:
            raise InputError(f"more than {MOST_SEEDS} worlds", remedy="name fewer")
        found += range(low, high + 1)
    if len(set(found)) < len(found):
        raise InputError("a seed is named twice", remedy="name each once")
    return found

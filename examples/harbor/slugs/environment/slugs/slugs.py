"""Make the last part of an address from a title."""

import re


def slug(title: str) -> str:
    """Return a title in lower case, with hyphens in the place of everything that is neither a letter nor a digit."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower())

"""Text made alike for comparison.

The standard library alone: a Harbor folder whose answers are compared holds a copy of this file.
"""

import unicodedata

# Without characters that are part of names or numbers (C#, C++, -5, $).
_AROUND = " \t\n.,;:!?*_`'\"“”„‘’«»()[]{}<>…"


def normal_text(text: str) -> str:
    """Return text without case, surrounding punctuation and runs of white space (Unicode NFKC)."""
    joined = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return joined.strip(_AROUND) or joined

"""Rebuild the filter of real words from all installed lists: `make words`."""

from html import entities

from simtrain.validation.search_worlds.names import real_names
from simtrain.values.extras import require
from simtrain.worlds.search.facts.real_words import RealWords, keys_of
from simtrain.worlds.service.names import POOLS


def collected() -> RealWords:
    """Return the words of all lists: those of the check of names, the service worlds' people and firms, HTML's names of characters.

    Raises InputError if a library with one of them is not installed.
    """
    require("names", "faker", "zxcvbn")
    own = [*entities.name2codepoint, *(entry for pool in POOLS.values() for entry in pool)]
    return RealWords.of(
        key for entry in [*own, *(e for found in real_names().values() for e in found)] for key in keys_of(entry)
    )


if __name__ == "__main__":
    words = collected()
    path = words.write()
    print(f"{words.count:,} words in {path.stat().st_size:,} bytes: {path}")

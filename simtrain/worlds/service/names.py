"""The named generators of rows: invented people, companies, places and texts, from the pools in names.txt."""

from collections.abc import Callable
from importlib.resources import files

from simtrain.values.seeding import Stream


def _read_pools() -> dict[str, list[str]]:
    """Return the sections of names.txt: entries separated by semicolons; line breaks inside a section mean nothing."""
    text = files("simtrain.worlds.service").joinpath("names.txt").read_text("utf-8")
    pools: dict[str, list[str]] = {}
    for section in text.split("\n[")[1:]:
        name, _, body = section.partition("]\n")
        pools[name] = [entry.strip() for entry in " ".join(body.split()).split(";")]
    return pools


POOLS = _read_pools()
"""The pools by name."""


def person(stream: Stream) -> str:
    """Return a first and a last name."""
    return f"{stream.choose(POOLS['first_names'])} {stream.choose(POOLS['last_names'])}"


def company(stream: Stream) -> str:
    """Return a company name of two words."""
    return f"{stream.choose(POOLS['company_stems'])} {stream.choose(POOLS['company_kinds'])}"


def product(stream: Stream) -> str:
    """Return a product name of two words."""
    return f"{stream.choose(POOLS['product_qualities'])} {stream.choose(POOLS['product_things'])}"


def words(stream: Stream) -> str:
    """Return two or three common words."""
    return " ".join(stream.choose(POOLS["words"]) for _ in range(stream.integer(2, 3)))


def sentence(stream: Stream) -> str:
    """Return one plain sentence of office English."""
    opener, first, second, closer = (stream.choose(POOLS[pool]) for pool in ("openers", "words", "words", "closers"))
    return f"{opener} the {first} {second} {closer}."


def paragraph(stream: Stream) -> str:
    """Return two to four sentences."""
    return " ".join(sentence(stream) for _ in range(stream.integer(2, 4)))


NAMED: dict[str, Callable[[Stream], str]] = {
    "person": person,
    "first_name": lambda stream: stream.choose(POOLS["first_names"]),
    "last_name": lambda stream: stream.choose(POOLS["last_names"]),
    "company": company,
    "product": product,
    "city": lambda stream: stream.choose(POOLS["cities"]),
    "country": lambda stream: stream.choose(POOLS["countries"]),
    "street": lambda stream: f"{stream.integer(1, 180)} {stream.choose(POOLS['streets'])} Street",
    "phone": lambda stream: f"+{stream.integer(20, 98)} 555 {stream.integer(1000, 9999)}",
    "word": lambda stream: stream.choose(POOLS["words"]),
    "words": words,
    "sentence": sentence,
    "paragraph": paragraph,
    "username": lambda stream: f"{stream.choose(POOLS['first_names']).lower()}{stream.integer(1, 99)}",
}
"""Name -> a function that draws a value from a stream."""

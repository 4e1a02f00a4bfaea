"""Pages of a built world changed so that they deceive: everything else is moved along, and only what stands there gives it away."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from simtrain.worlds.search.checking.pages import check_pages
from simtrain.worlds.search.checking.pieces import AuthorProse
from tests.support.databases import open_database


@dataclass(frozen=True)
class Said:
    """A statement of a page, with its words."""

    attribute: int
    entity: int
    start: int
    length: int
    claim: int | None
    kind: str
    words: str

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass
class Deceived:
    """One page as it can be changed: `replace` moves the statements behind along."""

    body: str
    said: list[Said]
    random: Random

    def of(self, *kinds: str) -> list[Said]:
        """Its statements of these kinds, in any order; those that share their place with another are left out."""
        found = [one for one in self.said if one.kind in kinds]
        found = [
            one for one in found if sum(one.start < other.end and other.start < one.end for other in self.said) == 1
        ]
        self.random.shuffle(found)
        return found

    def replace(self, start: int, end: int, words: str) -> bool:
        """Put other words there; a statement that fills the place exactly now covers them."""
        shift = len(words) - (end - start)
        self.body = self.body[:start] + words + self.body[end:]
        moved: list[Said] = []
        for one in self.said:
            if one.start >= end:
                moved.append(
                    Said(one.attribute, one.entity, one.start + shift, one.length, one.claim, one.kind, one.words)
                )
            elif one.start >= start:
                moved.append(
                    Said(one.attribute, one.entity, one.start, one.length + shift, one.claim, one.kind, one.words)
                )
            else:
                moved.append(one)
        self.said = moved
        return True


Trick = Callable[[Deceived], bool]
"""Changes a page; False where there is nothing to change in that way."""

AMOUNTS = ("number", "quantity", "money")


def other_digit(page: Deceived) -> bool:
    for one in page.of(*AMOUNTS):
        place = next((index for index, letter in enumerate(one.words) if letter.isdigit()), None)
        if place is not None:
            digit = page.random.choice([digit for digit in "123456789" if digit != one.words[place]])
            return page.replace(one.start, one.end, one.words[:place] + digit + one.words[place + 1 :])
    return False


def other_letter(page: Deceived) -> bool:
    for one in page.of("name", "ref"):
        return page.replace(one.start, one.end, one.words[:2] + "q" + one.words[3:])
    return False


def other_name(page: Deceived) -> bool:
    names = page.of("name", "ref")
    for one in names:
        for other in names:
            if not set(one.words.split()) & set(other.words.split()):
                return page.replace(one.start, one.end, other.words)
    return False


def swapped_names(page: Deceived) -> bool:
    """Two names of a list change places, and what the file says of them with them."""
    names = [one for one in page.of("name") if _line(page.body, one) and _beside(page, one)]
    for one in names:
        for other in names:
            if one.start < other.start and one.attribute == other.attribute and one.words != other.words:
                if _line(page.body, one) == _line(page.body, other):
                    continue
                page.replace(other.start, other.end, one.words)
                page.replace(one.start, one.end, other.words)
                shift = len(other.words) - len(one.words)
                places = {(one.entity, one.start): other.entity, (other.entity, other.start + shift): one.entity}
                page.said = [
                    Said(said.attribute, places.get((said.entity, said.start), said.entity), said.start, said.length, said.claim,
                         said.kind, said.words) if said.attribute == one.attribute else said
                    for said in page.said
                ]  # fmt: skip
                return True
    return False


def _line(body: str, one: Said) -> str:
    begin = body.rfind("\n", 0, one.start) + 1
    line = body[begin : body.find("\n", one.start)]
    return f"{begin} {line}" if line.startswith(("|", "- ")) else ""


def _beside(page: Deceived, one: Said) -> bool:
    """Whether the line says more of the same thing."""
    return any(
        other is not one and other.entity == one.entity and _line(page.body, other) == _line(page.body, one)
        for other in page.said
    )


UNITS = {
    "km": "m", "m": "km", "cm": "m", "mm": "cm", "nm": "mm", "inches": "m", "mm²": "m²", "m²": "km²", "ha": "m²", "l": "m³", "m³": "l",
    "t": "kg", "kg": "g", "mg": "g", "tonnes": "kg", "s": "minutes", "minutes": "hours", "hours": "days", "days": "weeks",
    "years": "days", "km/h": "m/s", "m/s": "km/h", "knots": "km/h", "W": "kW", "kW": "MW", "MW": "kW", "GHz": "MHz",
}  # fmt: skip
"""Each with another of the same kind."""


def other_unit(page: Deceived) -> bool:
    for one in page.of("quantity"):
        number, _, unit = one.words.rpartition(" ")
        if number and unit in UNITS:
            return page.replace(one.start, one.end, f"{number} {UNITS[unit]}")
        if one.words.endswith("%"):
            return page.replace(one.start, one.end, one.words[:-1] + " km")
    return False


def other_currency(page: Deceived) -> bool:
    for one in page.of("money"):
        found = re.fullmatch(r"(.*\d(?: million| billion)?) ([^\W\d]+)", one.words)
        if found:
            return page.replace(one.start, one.end, f"{found[1]} dollars")
    return False


def no_unit(page: Deceived) -> bool:
    """A unit that is swapped, and no longer a part of what is stated."""
    for one in page.of("quantity"):
        number, _, unit = one.words.rpartition(" ")
        if number and unit.isalpha() and unit != "km":
            page.replace(one.start, one.end, number)
            at = one.start + len(number)
            return page.replace(at, at, " km")
    return False


def other_separator(page: Deceived) -> bool:
    for one in page.of(*AMOUNTS):
        if "," in one.words:
            return page.replace(one.start, one.end, one.words.replace(",", page.random.choice([".", " ", "'"]), 1))
    return False


def other_year(page: Deceived) -> bool:
    for one in page.of("date"):
        year = re.search(r"\d{4}", one.words)
        if year:
            return page.replace(one.start, one.end, one.words.replace(year[0], str(int(year[0]) + 1)))
    return False


def other_day(page: Deceived) -> bool:
    for one in page.of("date"):
        found = re.fullmatch(r"(\d{1,2})( [^\W\d]+ \d{4})", one.words) or re.fullmatch(
            r"(\d{2})(\.\d\d\.\d{4})", one.words
        )
        if found:
            day = int(found[1])
            return page.replace(one.start, one.end, f"{day - 1 if day > 1 else 2}{found[2]}")
    return False


def other_month(page: Deceived) -> bool:
    for one in page.of("date"):
        for month in ("January", "March", "May", "August", "October", "December"):
            if month in one.words:
                return page.replace(one.start, one.end, one.words.replace(month, "November"))
    return False


def lost_statement(page: Deceived) -> bool:
    """What is stated stays, and nothing tells of it."""
    for one in page.of("name", "ref", "date", "text", *AMOUNTS):
        page.said.remove(one)
        return True
    return False


def lost_category(page: Deceived) -> bool:
    for one in page.of("category"):
        page.said.remove(one)
        return True
    return False


SENTENCES = (
    "It counts forty-one members today.",
    "About twelve of them have left since.",
    "A third of it is empty.",
    "It was opened on the twenty-first of June.",
    "Nobody older than sixty may enter.",
    "It burned down last Wednesday.",
    "Only nine percent of it is left.",
    "The post is held by Quembrath Zell.",
    "zell **Quem**brath holds the post.",
    "It is the work of Ol_Tavish_.",
    "King Ulbrecht XIV laid the first stone.",
    "It is three times as large as it was.",
    "The gates close at 8 in the evening.",
    "Half a million people have seen it.",
    "It is two- to threefold what is claimed.",
    "It measures ½ of what is claimed.",
    "It was sold twice in a decade.",
    "It costs a dozen crowns.",
    "It closed in the year mmxiv.",
    "Between ten and twenty of them remain.",
)


def added_sentence(page: Deceived) -> bool:
    page.body = f"{page.body}\n\n{page.random.choice(SENTENCES)}"
    return True


def added_inside(page: Deceived) -> bool:
    """A sentence in the midst of the prose."""
    place = page.body.find(". ")
    if place < 0:
        return False
    before = [one for one in page.said if one.start < place + 2 < one.end]
    if before:
        return False
    return page.replace(place + 2, place + 2, page.random.choice(SENTENCES) + " ")


def other_link_words(page: Deceived) -> bool:
    links = list(re.finditer(r"\[([^\[\]]+)\]\(([^()\s]+)\)", page.body))
    page.random.shuffle(links)
    for link in links:
        start, end = link.span(1)
        inside = [one for one in page.said if one.start < end and start < one.end]
        if inside and (len(inside) != 1 or (inside[0].start, inside[0].end) != (start, end)):
            continue
        return page.replace(start, end, page.random.choice(["Quembrath Zell", "the twelve that are left", "see no. 7"]))
    return False


def other_link_target(page: Deceived) -> bool:
    """Two links on names change where they lead."""
    links = [
        match
        for match in re.finditer(r"\[([^\[\]]+)\]\(([^()\s]+)\)", page.body)
        if any((one.start, one.end) == match.span(1) and one.kind in ("name", "ref") for one in page.said)
    ]
    for one in links:
        for other in links:
            if (
                one.start() < other.start()
                and one[2] != other[2]
                and one[1] != other[1]
                and len(one[2].split("/")) == len(other[2].split("/"))
            ):
                page.replace(*other.span(2), one[2])
                page.replace(*one.span(2), other[2])
                return True
    return False


def scaled(page: Deceived) -> bool:
    """A number that a word behind it makes a thousand times larger."""
    for one in page.of("number"):
        if one.words[-1:].isdigit():
            return page.replace(one.end, one.end, " thousand")
    return False


def minus(page: Deceived) -> bool:
    for one in page.of(*AMOUNTS):
        if one.words[:1].isdigit() and page.body[one.start - 1] == " ":
            return page.replace(one.start, one.start, "-")
    return False


TRICKS: dict[str, Trick] = {
    trick.__name__: trick
    for trick in (
        other_digit, other_letter, other_name, swapped_names, other_unit, other_currency, no_unit, other_separator, other_year,
        other_day, other_month, lost_statement, lost_category, added_sentence, added_inside, other_link_words, other_link_target,
        scaled, minus,
    )
}  # fmt: skip


class Deceiving:
    """A copy of a world of which pages are changed."""

    def __init__(self, world: Path, copy: Path, *, seed: int = 5) -> None:
        shutil.copyfile(world, copy)
        self.connection = open_database(copy)
        self.random = Random(seed)
        self.changed: dict[str, str] = {}
        self.connection.executescript(
            "create table stated as select page, attribute, entity, start, length, claim from _statements;"
            "drop view _statements; alter table stated rename to _statements; create index stated on _statements (page);"
        )
        self.left = [row[0] for row in self.connection.execute("select id from _pages order by id")]
        self.random.shuffle(self.left)

    def change(self, trick: Trick, count: int) -> int:
        """Change so many pages; returns how many could be."""
        done = 0
        for page in list(self.left):
            if done == count:
                break
            url, body = self.connection.execute("select url, body from _pages where id = ?", (page,)).fetchone()
            changed = Deceived(body, list(self._said(page, body)), self.random)
            if not trick(changed) or (changed.body == body and not trick.__name__.startswith("lost")):
                continue
            self.left.remove(page)
            self.changed[url] = trick.__name__
            self.connection.execute("update _pages set body = ? where id = ?", (changed.body, page))
            self.connection.execute("delete from _statements where page = ?", (page,))
            rows = [(page, one.attribute, one.entity, one.start, one.length, one.claim) for one in changed.said]
            self.connection.executemany("insert into _statements values (?, ?, ?, ?, ?, ?)", rows)
            done += 1
        return done

    def _said(self, page: int, body: str) -> Iterator[Said]:
        sql = (
            "select s.attribute, s.entity, s.start, s.length, s.claim, a.kind, a.type from _statements s"
            " join _attributes a on a.id = s.attribute where s.page = ? order by s.start"
        )
        for attribute, entity, start, length, claim, kind, owner in self.connection.execute(sql, (page,)):
            kind = "own" if owner in ("_page", "_site") else kind
            yield Said(attribute, entity, start, length, claim, kind, body[start : start + length])

    def missed(self, units: dict[str, tuple[str, float]], wording: AuthorProse) -> dict[str, str]:
        """The changed pages of which the check says nothing, with what was done to them; those that it blames for nothing as `blamed`."""
        self.connection.commit()
        found = {problem.page for problem in check_pages(self.connection, units, wording=wording).problems}
        self.connection.close()
        missed = {url: trick for url, trick in self.changed.items() if url not in found}
        return {**missed, **dict.fromkeys(found - self.changed.keys(), "blamed")}

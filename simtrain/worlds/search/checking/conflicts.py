"""Checks that a reader can decide every conflict between pages, by a rule that front pages state."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from simtrain.worlds.search.checking.customs import Customs
from simtrain.worlds.search.checking.facts import FactTables, FileAttribute
from simtrain.worlds.search.checking.statements import Stated, StatementVerifier

MOST_ALONE: Final = 0.5
"""The largest share of conflicts in which one official site alone may be right."""
ENOUGH: Final = 20
"""Fewest conflicts for which shares are meaningful."""

COPIED: Final = 0.5
"""If two pages of different sites share this part of their word runs, one counts as a copy of the other."""
RUN: Final = 5
"""Words per run (shingle)."""

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+")
_RULES: Final = {
    "recency": re.compile(r"\b(?:later|latest|newer|newest|(?:more|most) recent)\b", re.IGNORECASE),
    "majority": re.compile(r"\bmost (?:sites|sources|accounts|of (?:the|these) sites)\b|\bmajority\b", re.IGNORECASE),
    "erratum": re.compile(r"\b(?:corrections?|corrected|erratum|errata)\b", re.IGNORECASE),
    "primary": re.compile(r"\bthe source\b|\bgoes before\b|\bat first hand\b", re.IGNORECASE),
}
# A site that says `we` in such a sentence means itself as the source.
_OWN = re.compile(r"\b(?:we|us|our|ours)\b", re.IGNORECASE)
_CORRECTS = re.compile(r"\b(?:corrections?|erratum|errata)\b", re.IGNORECASE)

_FRONT_PAGES = "select site, body from _pages where number is null and type is null order by id"
_LABELS = "select subject, word from _words where language = 'en' and kind = 'label'"
_STATED = """
with disputed as (select distinct attribute, entity from _claims where value is not null)
select d.attribute, d.entity, p.id, s.start, p.site, p.kind, p.date, p.title, substr(p.body, s.start + 1, s.length)
from disputed d
join _attributes a on a.id = d.attribute
join _types t on t.name = a.type
join _statements s on s.entity = d.entity and s.type = t.position and s.attribute = d.attribute
join _pages p on p.id = s.page
order by d.attribute, d.entity, p.id, s.start
"""


class StatedRule(NamedTuple):
    """A rule stated on a front page: recency, majority, erratum or primary; for primary, the source."""

    name: str
    site: int | None = None


class Saying(NamedTuple):
    """One page's statement of a fact: site, date, and whether it is right or a correction."""

    site: int
    date: str
    right: bool
    corrects: bool
    page: int


def _witnesses(connection: sqlite3.Connection, sayings: Sequence[Saying]) -> int:
    """Return the number of independent sites: near-duplicate pages of different sites count as one page."""
    pages = {one.page: one.site for one in sayings}
    runs = {page: _runs(connection, page) for page in pages}
    first: dict[int, int] = {}
    for page in pages:
        alike = (first[other] for other in first if pages[other] != pages[page] and _alike(runs[other], runs[page]))
        first[page] = next(alike, page)
    sites: dict[int, set[int]] = {}
    for page, site in pages.items():
        sites.setdefault(first[page], set()).add(site)
    taken: dict[int, int] = {}
    return sum(_seated(page, sites, taken, set()) for page in sites)


def _runs(connection: sqlite3.Connection, page: int) -> frozenset[tuple[str, ...]]:
    (body,) = connection.execute("select body from _pages where id = ?", (page,)).fetchone()
    words = _WORD.findall(str(body).casefold())
    return frozenset(tuple(words[place : place + RUN]) for place in range(len(words) - RUN + 1))


def _alike(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    least = min(len(one), len(other))
    return least > 0 and len(one & other) >= COPIED * least


def _seated(page: int, sites: Mapping[int, set[int]], taken: dict[int, int], seen: set[int]) -> bool:
    """Return True if a page can be matched with a site of its own, moving earlier matches if possible (Kuhn's algorithm)."""
    for site in sorted(sites[page] - seen):
        seen.add(site)
        if site not in taken or _seated(taken[site], sites, taken, seen):
            taken[site] = page
            return True
    return False


@dataclass
class Conflicts:
    """The number of disputed facts, by the rule that decides them, and the share in which each site alone is right."""

    facts: int = 0
    by_rule: dict[str, int] = field(default_factory=dict[str, int])
    alone: dict[str, float] = field(default_factory=dict[str, float])
    problems: list[str] = field(default_factory=list[str])


def check_conflicts(connection: sqlite3.Connection, units: Mapping[str, tuple[str, float]]) -> Conflicts:
    """Decide every conflict by the rules on front pages, and compare the outcome with the facts."""
    facts = FactTables(connection)
    rules = dict(_stated_rules(connection, facts.attributes))
    sites = {row[0]: (str(row[1]), str(row[2])) for row in connection.execute("select id, name, kind from _sites")}
    solved = dict.fromkeys(sites, 0)
    found = Conflicts()
    untold: dict[str, int] = {}
    for attribute, entity, sayings in _disputed(connection, facts, units):
        if all(one.right for one in sayings):
            continue
        found.facts += 1
        for site in sites:
            solved[site] += _decides(sayings, site)
        named = rules.get(attribute.id, [])
        if len(named) == 1:
            rule = named[0]
            found.by_rule[rule.name] = found.by_rule.get(rule.name, 0) + 1
            if not _right(rule, sayings, connection):
                name = next(iter(facts.names_of(attribute.type, entity)), f"row {entity}")
                found.problems.append(f"{attribute.path} of {name}: pages disagree, and {rule.name} does not decide it")
        else:
            untold[attribute.path] = untold.get(attribute.path, 0) + 1
    for path, count in untold.items():
        several = rules.get(next(one.id for one in facts.attributes.values() if one.path == path))
        what = "front pages tell several rules for it" if several else "no front page tells what decides it"
        found.problems.append(f"{path}: pages disagree on {count} rows, and {what}")
    found.alone = {name: round(solved[site] / found.facts, 3) for site, (name, _) in sites.items() if found.facts}
    if found.facts >= ENOUGH:
        found.problems += _too_easy(found.alone, dict(sites.values()))
    return found


def _too_easy(alone: Mapping[str, float], kinds: Mapping[str, str]) -> Iterator[str]:
    for name, share in alone.items():
        if kinds[name] == "official" and share > MOST_ALONE:
            yield f"{name} alone is right in {share:.0%} of the conflicts; an official site may be in {MOST_ALONE:.0%}"
        elif share == 1:
            yield f"{name} alone is right in every conflict"


def _stated_rules(
    connection: sqlite3.Connection, attributes: Mapping[int, FileAttribute]
) -> Iterator[tuple[int, list[StatedRule]]]:
    """Yield attribute -> its rules on front pages: sentences that name the attribute, its type, and what decides."""
    titles = [(int(row[0]), str(row[1])) for row in connection.execute("select id, title from _sites")]
    plurals = {str(row[0]): str(row[1]) for row in connection.execute("select name, plural from _types")}
    words = {str(row[0]): str(row[1]) for row in connection.execute(_LABELS)}
    sentences: list[tuple[str, list[StatedRule]]] = []
    for site, body in connection.execute(_FRONT_PAGES):
        for sentence in _SENTENCE.split(" ".join(str(body).split())):
            names = [name for name, words in _RULES.items() if words.search(sentence)]
            named = [other for other, title in titles if title in sentence]
            source = named[0] if named else site if _OWN.search(sentence) else None
            # Only a primary source is tied to a site: the other rules mean the same on every front page.
            rules = [StatedRule(name, source) if name == "primary" else StatedRule(name) for name in names]
            sentences.append((sentence, [one for one in rules if one.name != "primary" or one.site is not None]))
    for one in attributes.values():
        kinds = [one.type.replace("_", " "), plurals.get(one.type, one.type)]
        labels = {one.label, words.get(one.path, one.label)}
        rules = {
            rule
            for sentence, stated in sentences
            if stated
            and any(_names(sentence, label) for label in labels)
            and any(_names(sentence, kind) for kind in kinds)
            for rule in stated
        }
        yield one.id, sorted(rules, key=lambda rule: (rule.name, rule.site or 0))


def _names(sentence: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", sentence, re.IGNORECASE) is not None


def _disputed(
    connection: sqlite3.Connection, facts: FactTables, units: Mapping[str, tuple[str, float]]
) -> Iterator[tuple[FileAttribute, int, list[Saying]]]:
    """Yield every fact with a recorded claim, with what the pages say about it."""
    rows = connection.execute(_STATED)
    for (number, entity), group in groupby(rows, key=lambda row: (int(row[0]), int(row[1]))):
        attribute = facts.attributes[number]
        facts.load([(number, entity)], ())
        # Customs need all pages, and are judged with them: these are thrown away.
        verifier = StatementVerifier(facts, units, Customs())
        sayings: list[Saying] = []
        for _, _, page, start, site, kind, date, title, words in group:
            stated = Stated(page, start, site, kind, attribute, entity, None, str(words))
            right, corrects = verifier.problem(stated) is None, bool(_CORRECTS.search(str(title)))
            sayings.append(Saying(site, str(date), right, corrects, page))
        yield attribute, entity, sayings


def _decides(sayings: Sequence[Saying], site: int) -> bool:
    """Return True if someone who reads only this site gets the truth."""
    own = [one for one in sayings if one.site == site]
    return bool(own) and (all(one.right for one in own) or any(one.right and one.corrects for one in own))


def _right(rule: StatedRule, sayings: Sequence[Saying], connection: sqlite3.Connection) -> bool:
    """Return True if the rule, applied to what pages say, gives the truth and nothing else."""
    first = [one for one in sayings if not one.corrects]
    match rule.name:
        case "recency":
            # Several pages may share the latest date; none of them may be wrong.
            last = max((one.date for one in first), default="")
            return bool(first) and all(one.right for one in first if one.date == last)
        case "majority":
            wrong = {one.site for one in first if not one.right}
            return _witnesses(connection, [one for one in first if one.site not in wrong]) > len(wrong)
        case "primary":
            source = [one.right for one in first if one.site == rule.site]
            return bool(source) and all(source)
        case _:
            wrong = {one.site for one in first if not one.right}
            return wrong <= {one.site for one in sayings if one.corrects and one.right}

"""The text form of a journal.

    2031-03-01 Rent  #home
        expenses:rent    800.00 EUR
        assets:giro

One posting of an entry may leave its amount out: it takes what is missing. `;` begins a comment.
"""

import re
from collections.abc import Iterable
from datetime import date

from ledger.accounts import Account
from ledger.entries import Entry, Posting
from ledger.errors import LedgerError, TextError
from ledger.journal import Journal
from ledger.money import Amount, totals

_HEAD = re.compile(r"(?P<day>\d{4}-\d{2}-\d{2}) (?P<text>.*)")
_TAG = re.compile(r"(?:^|\s)#([a-z][a-z0-9-]*)")
_WIDTH = 32


def read_journal(text: str) -> Journal:
    """Read a journal. Raises TextError with the line."""
    journal = Journal()
    head: tuple[int, str] | None = None
    lines: list[tuple[int, str]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition(";")[0].rstrip()
        if not line:
            continue
        if line[0].isspace():
            if head is None:
                raise TextError(number, "a posting before any entry")
            lines.append((number, line.strip()))
            continue
        if head is not None:
            journal.add(_entry(head, lines))
        head, lines = (number, line), []
    if head is not None:
        journal.add(_entry(head, lines))
    return journal


def _entry(head: tuple[int, str], lines: list[tuple[int, str]]) -> Entry:
    number, line = head
    match = _HEAD.fullmatch(line)
    if match is None:
        raise TextError(number, f"{line!r} begins no entry")
    try:
        day = date.fromisoformat(match["day"])
    except ValueError:
        raise TextError(number, f"{match['day']!r} is no day") from None
    tags = frozenset(_TAG.findall(match["text"]))
    postings = _postings(lines)
    try:
        return Entry(day, _TAG.sub("", match["text"]).strip(), postings, tags)
    except LedgerError as error:
        raise TextError(number, str(error)) from None


def _postings(lines: list[tuple[int, str]]) -> tuple[Posting, ...]:
    found: list[Posting] = []
    open_account: Account | None = None
    place = 0
    for number, line in lines:
        name, _, amount = line.partition(" ")
        try:
            account = Account(name)
            if amount.strip():
                found.append(Posting(account, Amount.parse(amount)))
                continue
        except LedgerError as error:
            raise TextError(number, str(error)) from None
        if open_account is not None:
            raise TextError(number, "two postings without an amount")
        open_account, place = account, len(found)
    if open_account is not None:
        missing = [
            Posting(open_account, -amount)
            for amount in totals(each.amount for each in found).values()
        ]
        found[place:place] = missing
    return tuple(found)


def write_journal(entries: Iterable[Entry]) -> str:
    """Write entries so that `read_journal` reads the same again."""
    return "\n".join(_written(entry) for entry in entries)


def _written(entry: Entry) -> str:
    tags = "".join(f" #{tag}" for tag in sorted(entry.tags))
    lines = [f"{entry.day.isoformat()} {entry.text}{tags}"]
    lines += [
        f"    {posting.account.name:<{_WIDTH}} {posting.amount}" for posting in entry.postings
    ]
    return "\n".join(lines) + "\n"

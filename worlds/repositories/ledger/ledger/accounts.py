"""Accounts: names with colons, of one of five kinds."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ledger.errors import AccountError

KINDS = ("assets", "liabilities", "equity", "income", "expenses")
_PART = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, order=True)
class Account:
    """An account such as `expenses:food:lunch`; its first part is its kind."""

    name: str

    def __post_init__(self) -> None:
        parts = self.name.split(":")
        if parts[0] not in KINDS:
            raise AccountError(f"{self.name!r} is of no kind: {', '.join(KINDS)}")
        for part in parts:
            if not _PART.fullmatch(part):
                raise AccountError(f"{part!r} in {self.name!r} is no name")

    @property
    def kind(self) -> str:
        """The first part of the name."""
        return self.name.partition(":")[0]

    @property
    def parent(self) -> "Account | None":
        """The account above; None for a kind itself."""
        above, _, last = self.name.rpartition(":")
        return Account(above) if last and above else None

    @property
    def depth(self) -> int:
        """How many parts the name has."""
        return self.name.count(":") + 1

    @property
    def has_debit_side(self) -> bool:
        """Whether it grows by debits."""
        return self.kind in ("assets", "expenses")

    def contains(self, other: "Account") -> bool:
        """Return whether another account is this one or lies below it."""
        return other.name == self.name or other.name.startswith(f"{self.name}:")

    def __str__(self) -> str:
        return self.name


def with_parents(accounts: Iterable[Account]) -> list[Account]:
    """Return accounts with all that lie above them, each once, sorted."""
    found: set[Account] = set()
    for account in accounts:
        above: Account | None = account
        while above is not None and above not in found:
            found.add(above)
            above = above.parent
    return sorted(found)

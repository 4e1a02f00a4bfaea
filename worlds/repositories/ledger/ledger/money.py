"""Amounts of money: whole minor units of a currency."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ledger.errors import MoneyError

DIGITS = {"EUR": 2, "USD": 2, "GBP": 2, "CHF": 2, "JPY": 0, "KWD": 3}
"""How many digits the minor unit of a currency has."""

_AMOUNT = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>\d{1,3}(?:,\d{3})*|\d+)(?:\.(?P<part>\d+))? (?P<currency>[A-Z]{3})"
)


def digits_of(currency: str) -> int:
    """Return how many digits follow the point."""
    if currency not in DIGITS:
        raise MoneyError(f"there is no currency {currency!r}")
    return DIGITS[currency]


@dataclass(frozen=True, order=True)
class Amount:
    """So many minor units of a currency: 1250 EUR are twelve euros fifty."""

    units: int
    currency: str

    def __post_init__(self) -> None:
        digits_of(self.currency)

    @classmethod
    def parse(cls, text: str) -> "Amount":
        """Read `1,250.5 EUR`; missing digits are zeros, too many are an error."""
        match = _AMOUNT.fullmatch(text.strip())
        if match is None:
            raise MoneyError(f"{text!r} is no amount")
        digits = digits_of(match["currency"])
        part = match["part"] or ""
        if len(part) > digits:
            raise MoneyError(f"{text!r} has more than {digits} digits after the point")
        units = int(match["whole"].replace(",", "") + part.ljust(digits, "0"))
        return cls(-units if match["sign"] == "-" else units, match["currency"])

    def __str__(self) -> str:
        digits = digits_of(self.currency)
        sign = "-" if self.units < 0 else ""
        whole, part = divmod(abs(self.units), 10**digits)
        point = f".{part:0{digits}d}" if digits else ""
        return f"{sign}{whole:,}{point} {self.currency}"

    def __neg__(self) -> "Amount":
        return Amount(-self.units, self.currency)

    def __add__(self, other: "Amount") -> "Amount":
        self._same(other)
        return Amount(self.units + other.units, self.currency)

    def __sub__(self, other: "Amount") -> "Amount":
        return self + -other

    def times(self, numerator: int, denominator: int = 1) -> "Amount":
        """Multiply by a fraction; halves are rounded to the even unit."""
        whole, rest = divmod(self.units * numerator, denominator)
        if rest * 2 > denominator or (rest * 2 == denominator and whole % 2 == 1):
            whole += 1
        return Amount(whole, self.currency)

    def shared(self, weights: Sequence[int]) -> list["Amount"]:
        """Share by weights. The parts add up to the whole; the first ones get what is left over."""
        total = sum(weights)
        if total <= 0 or min(weights) < 0:
            raise MoneyError(f"{list(weights)} are no weights")
        sign = -1 if self.units < 0 else 1
        parts = [abs(self.units) * weight // total for weight in weights]
        left = abs(self.units) - sum(parts)
        for place, weight in enumerate(weights):
            if left == 0:
                break
            if weight:
                parts[place] += 1
                left -= 1
        return [Amount(sign * part, self.currency) for part in parts]

    def _same(self, other: "Amount") -> None:
        if self.currency != other.currency:
            raise MoneyError(f"{self} and {other} are of different currencies")


def totals(amounts: Iterable[Amount]) -> dict[str, Amount]:
    """Return the sum by currency, without those that are zero."""
    found: dict[str, int] = {}
    for amount in amounts:
        found[amount.currency] = found.get(amount.currency, 0) + amount.units
    return {currency: Amount(units, currency) for currency, units in sorted(found.items()) if units}

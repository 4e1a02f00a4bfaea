"""Errors of the ledger."""


class LedgerError(Exception):
    """Something that the books do not allow."""


class MoneyError(LedgerError):
    """An amount that cannot be read or computed."""


class AccountError(LedgerError):
    """A name that is no account, or an account that is used wrongly."""


class BalanceError(LedgerError):
    """An entry that does not balance."""


class PeriodError(LedgerError):
    """A date outside a period, or in a closed one."""


class TextError(LedgerError):
    """A line of a journal's text that cannot be read."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line

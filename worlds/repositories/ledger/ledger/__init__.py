"""Double-entry bookkeeping over plain text."""

from ledger.accounts import Account
from ledger.entries import Entry, Posting
from ledger.errors import LedgerError
from ledger.journal import Journal
from ledger.money import Amount
from ledger.reports import income_statement, register, trial_balance
from ledger.text import read_journal, write_journal

__all__ = [
    "Account",
    "Amount",
    "Entry",
    "Journal",
    "LedgerError",
    "Posting",
    "income_statement",
    "read_journal",
    "register",
    "trial_balance",
    "write_journal",
]

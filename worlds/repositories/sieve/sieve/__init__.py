"""A query engine over tables in memory."""

from sieve.database import Database
from sieve.errors import QueryError
from sieve.indexes import HashIndex, SortedIndex
from sieve.lexer import tokens
from sieve.parser import parse
from sieve.tables import Table
from sieve.values import like, sort_key

__all__ = [
    "Database",
    "HashIndex",
    "QueryError",
    "SortedIndex",
    "Table",
    "like",
    "parse",
    "sort_key",
    "tokens",
]

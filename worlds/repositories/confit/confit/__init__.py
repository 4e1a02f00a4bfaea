"""A language for configuration."""

from confit.errors import ConfitError
from confit.evaluate import evaluate, load
from confit.lexer import tokens
from confit.merge import changes, merged
from confit.parser import parse
from confit.paths import lookup, parse_path, replaced
from confit.schema import Schema
from confit.units import format_size, quantity
from confit.write import dump

__all__ = [
    "ConfitError",
    "Schema",
    "changes",
    "dump",
    "evaluate",
    "format_size",
    "load",
    "lookup",
    "merged",
    "parse",
    "parse_path",
    "quantity",
    "replaced",
    "tokens",
]

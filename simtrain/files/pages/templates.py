"""The templates of HTML pages, and the style sheet that all pages begin with."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_SHARED = Path(__file__).parent


def templates(folder: Path) -> Environment:
    """Return the templates of a folder, and those that all pages share; what they show is escaped."""
    return Environment(
        loader=FileSystemLoader([folder, _SHARED]),
        # Everything shown was written by agents and worlds: unescaped, it could run scripts in the reader's browser.
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # A misspelt name in a template must fail in the tests, not leave a hole in the page.
        undefined=StrictUndefined,
    )


@cache
def style() -> str:
    """Return the style sheet of all pages."""
    return (_SHARED / "style.css").read_text(encoding="utf-8")

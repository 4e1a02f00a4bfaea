"""Where the templates of an app lead: links without a screen, forms without a handler, handlers without a form."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from simtrain.values.errors import InputError, nearest
from simtrain.worlds.app.routes import ANY, could_be

Kind: TypeAlias = Literal["link", "form"]

EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_STATEMENT = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"([a-zA-Z][a-zA-Z0-9:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_FORBIDDEN = re.compile(r"<script\b|\son[a-z]+\s*=|javascript:|<style\b|\sstyle\s*=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reference:
    """An address in a template: `form` is one that is posted to, `link` one that is fetched."""

    kind: Kind
    address: str
    file: Path
    line: int


def references(folder: Path, sources: Mapping[str, str]) -> list[Reference]:
    """Return every address in some templates. Raises InputError for scripts and styles of the author."""
    return [
        found
        for name, source in sources.items()
        if name.endswith(".html")
        for found in _in_template(folder / name, source)
    ]


def check_links(found: list[Reference], screens: list[str], forms: list[str]) -> None:
    """Raise InputError for an address where nothing lies."""
    for reference in found:
        known = forms if reference.kind == "form" else screens
        path = reference.address.partition("#")[0].partition("?")[0]
        # An address that is an expression as a whole is known only when the page is made.
        if path in ("", ANY) or any(could_be(path, pattern) for pattern in known):
            continue
        shown = path.replace(ANY, "{...}")
        if reference.kind == "form":
            raise InputError(
                f"the form posts to {shown}, and `forms` has no such address",
                remedy=nearest(path.replace(ANY, "{id}"), known),
                file=reference.file,
                line=reference.line,
            )
        raise InputError(
            f"the link to {shown} leads nowhere",
            remedy=nearest(path.replace(ANY, "{id}"), known),
            file=reference.file,
            line=reference.line,
        )


def without_form(found: list[Reference], forms: list[str]) -> str | None:
    """Return the first address of `forms` that no template posts to; None if there is none."""
    posted = [reference.address.partition("?")[0] for reference in found if reference.kind == "form"]
    return next((pattern for pattern in forms if not any(could_be(one, pattern) for one in posted)), None)


def _in_template(file: Path, source: str) -> Iterator[Reference]:
    # Lines are kept, so that an error can name its line.
    text = _STATEMENT.sub(lambda found: "\n" * found[0].count("\n"), source)
    text = EXPRESSION.sub(lambda found: ANY + "\n" * found[0].count("\n"), text)
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        raise InputError(
            f"templates have no scripts and no styles of their own, such as {forbidden[0].strip()!r}",
            remedy="use a component, and the style sheet",
            file=file,
            line=_line(text, forbidden.start()),
        )
    for tag in _TAG.finditer(text):
        name, line = tag[1].lower(), _line(text, tag.start())
        given = {
            found[1].lower(): (found[2] or found[3] or found[4] or "").replace("\n", "")
            for found in _ATTRIBUTE.finditer(tag[2])
        }
        if name == "a" and "href" in given and not given["href"].startswith(("#", "mailto:", "tel:")):
            yield Reference("link", given["href"], file, line)
        if name == "form":
            posts = given.get("method", "get").lower() == "post"
            yield Reference("form" if posts else "link", given.get("action", ""), file, line)
        if "formaction" in given:
            yield Reference("form", given["formaction"], file, line)
        if "data-suggest" in given:
            yield Reference("link", given["data-suggest"], file, line)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1

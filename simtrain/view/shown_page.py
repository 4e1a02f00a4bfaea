"""A page of a search world, in Markdown, as HTML for the viewer. Its links lead nowhere: the web that they point to is invented."""

from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from simtrain.contracts.drawing import PageDrawing

LONGEST = 20_000
"""Characters of a page that are drawn."""


def page_markdown(part: PageDrawing) -> Markup:
    """Return the HTML of a page. Markup in it is text, links are their words, and pictures their descriptions."""
    cut = part.markdown[:LONGEST]
    return Markup(_renderer().render(cut))  # The renderer escapes what is not Markdown.


@cache
def _renderer() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink", "reference"])

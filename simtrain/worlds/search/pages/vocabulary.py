"""The words of a world's own prose. Invented names must not be any of them."""

import re

from simtrain.worlds.search.pages.design import Design
from simtrain.worlds.search.pages.tree import Comments, PageLink, ProsePart, WordsPart, walk

_WORD = re.compile(r"[^\W\d_]+")


def vocabulary(design: Design) -> set[str]:
    """Return every word of templates, categories, texts and titles, in lower case."""
    found: set[str] = set()
    for site in design.sites:
        found |= _words(site.spec.title)
        for page in site.pages:
            for nodes in [*page.titles, *(wording for part in page.parts for wording in part)]:
                for node in walk(nodes):
                    if isinstance(node, ProsePart | PageLink):
                        found |= _words(node.text)
                    elif isinstance(node, WordsPart):
                        for phrases in node.lists:
                            found |= _words(" ".join(phrases))
                    elif isinstance(node, Comments):
                        found |= _words(" ".join([node.heading, *node.readers.lists[0]]))
    for kind in design.schema.types.values():
        found |= _words(f"{kind.label} {kind.plural}")
        for one in kind.attributes.values():
            found |= _words(one.label)
            for text in [*((one.spec and one.spec.category) or ()), *((one.spec and one.spec.text) or ())]:
                found |= _words(text)
    return found


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}

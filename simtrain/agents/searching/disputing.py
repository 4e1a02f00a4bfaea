"""Find the things that two sites disagree on."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from simtrain.agents.searching.asked import ReadQuestion, term_path
from simtrain.agents.searching.knowing import Knowing, Thing, likeness
from simtrain.agents.searching.pages import Likeness, plain_value
from simtrain.agents.searching.reader import Reading


def disputes(asked: ReadQuestion, things: Sequence[Thing], knowing: Knowing) -> Reading[list[list[str]]]:
    """Return a row for each thing on which the two sites of the question disagree: its name, and the value on each
    site.
    """
    hosts: list[str] = []
    for name in ("trusted", "other"):
        hosts.append((yield from _host(asked.slots[name], knowing)))
    path = term_path(asked, "term")
    like: Likeness = "number" if asked.columns[-1].unit else likeness(path[-1])
    rows: list[list[str]] = []
    for thing in things:
        statements: list[str] = []
        for host in hosts:
            statement = yield from knowing.stated_by(host, thing, path[-1], like)
            statements += [plain_value(statement.text, like)] if statement is not None else []
        # A site that states nothing does not disagree.
        if len(statements) == len(hosts) and statements[0] != statements[1]:
            rows.append([thing.name, *statements])
    return rows


def _host(title: str, knowing: Knowing) -> Reading[str]:
    """Return the host of the site with that title: a search finds its front page."""
    hits = yield from knowing.reader.search(title)
    request_handler = [hit.url for hit in hits if hit.title.casefold() == title.casefold()]
    urls = request_handler or [hit.url for hit in hits]
    return urlsplit(urls[0]).netloc if urls else ""

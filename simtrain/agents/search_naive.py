"""The policy that searches once and believes the snippets."""

from typing import ClassVar

from simtrain.agents.plan import PlanPlayer, answering
from simtrain.agents.planned import Walking
from simtrain.agents.searching.asked import read_question
from simtrain.agents.searching.knowing import likeness
from simtrain.agents.searching.pages import OpenedPage, plain_value
from simtrain.agents.searching.reader import WebReader
from simtrain.agents.searching.tables import table
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.question import MISSING


class SearchNaive(Policy):
    """Makes one search with the words of the question and fills a row per result from title and snippet."""

    continues: ClassVar[bool] = True

    def player(self, briefing: Briefing) -> Player:
        """Return a fresh player for one episode."""
        return PlanPlayer(_searched(briefing))


def _searched(briefing: Briefing) -> Walking:
    asked = read_question(briefing.prompt)
    words = briefing.prompt
    if asked is not None:
        words = " ".join([asked.things, *asked.names, *(" ".join(one.slots.values()) for one in asked.conditions)])
    # Bars join the words that one of another language may mean; a search engine knows only words.
    hits = yield from WebReader(briefing.tools, budget=1).search(words[:200].replace("|", " "))
    if asked is None or not asked.columns:
        return answering(hits[0].title if hits else MISSING)
    rows: list[list[str]] = []
    for hit in hits:
        page = OpenedPage(hit.url, hit.title, "", hit.snippet)
        row = [hit.title.partition(",")[0].partition(":")[0]]
        for wanted in asked.columns[1:]:
            like = likeness(wanted.path[-1])
            statements = (page.value(label, like) for label in wanted.path[-1].split("|"))
            text = next((one.text for one in statements if one is not None), MISSING)
            row.append(plain_value(text, like))
        rows.append(row)
    return answering(table([wanted.heading for wanted in asked.columns], rows))

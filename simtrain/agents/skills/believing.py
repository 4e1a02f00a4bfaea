"""Decide whether to believe the reply to a read: repeat it when in doubt, compare the replies, fill gaps from other reads."""

from collections import Counter
from collections.abc import Generator, Iterator

from simtrain.agents.plan import NEXT_CURSOR
from simtrain.agents.planned import CallReason, Planned
from simtrain.agents.skills.across import Across
from simtrain.agents.skills.agreeing import agreed, same_subject
from simtrain.agents.skills.doubts import (
    Doubt,
    counted,
    doubt_about,
    is_short,
    is_walled,
    lacking,
    page_size,
    says_nothing,
)
from simtrain.agents.skills.elsewhere import asking_for, known_of, rebuilt, sources
from simtrain.agents.skills.memory import Seen, records_in
from simtrain.agents.skills.messages import plain_texts
from simtrain.agents.skills.stand_ins import stand_ins
from simtrain.agents.skills.state import HeardReply, Hearing, Maybe, SkillState
from simtrain.files.json_schemas import property_names
from simtrain.values.errors import InputError
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, JsonValue, Observation, canonical

REPEATED = 2
"""How often a read with a doubtful reply is repeated."""
SOURCES = 4
"""Other reads tried instead of one that fails or returns nothing."""
UNFOUNDED = 1
"""Unfounded doubts of one kind about one tool, after which that doubt is no longer raised."""
FILLED = 40
"""Records of one reply whose missing fields are looked up."""
TOGETHER = 8
"""Records that are read in one turn."""


class Believing:
    """Judges the replies to reads."""

    def __init__(self, state: SkillState, across: Across) -> None:
        self._state = state
        self._across = across
        self._pages: dict[bytes, int] = {}
        self._items: dict[bytes, dict[JsonValue, int]] = {}
        self._began_again = False
        self._unfounded: Counter[tuple[str, Doubt]] = Counter()

    def judge(self, heard: HeardReply) -> Hearing:
        """Return the reply that counts."""
        doubt = self._doubt(heard)
        if doubt is None:
            return self._agreed((yield from self._compared(heard)))
        if doubt is Doubt.walled and (copy := (yield from self._copied(heard))) is not None:
            return copy
        replies = [heard]
        # A paywall notice is not a mere doubt: part of the page is certainly missing.
        while doubt is not None and len(replies) <= REPEATED and (doubt is Doubt.walled or self._state.doubt()):
            again = yield from self._state.ask(heard.planned, CallReason.doubted)
            if again.is_error:
                break
            replies.append(again)
            doubt = self._doubt(again)
            # The same doubtful reply twice: then it is the truth, or wrong in a way that repeating does not show.
            if doubt is not None and again.content == replies[-2].content is not None:
                break
        believed = self._agreed(replies)
        if doubt is None:
            return believed
        before = canonical(believed.content)
        filled = yield from self._filled(believed)
        if canonical(filled.content) == before:
            # Nothing was gained, so this tool's replies are simply like that.
            self._unfounded[heard.planned.tool, doubt] += 1
        return filled

    def _copied(self, heard: HeardReply) -> Maybe:
        """Return the page as an equivalent tool shows it; None if none shows more."""
        for other in stand_ins(heard.planned, self._state.tools, named=()):
            copy = yield from self._state.ask(other, CallReason.instead)
            if not copy.is_error and not is_walled(copy.reply):
                return copy
        return None

    def _doubt(self, heard: HeardReply) -> Doubt | None:
        """Return the doubt about a reply, unless it proved unfounded with this tool before."""
        state, planned = self._state, heard.planned
        doubt = doubt_about(
            heard.reply,
            heard.content,
            planned.arguments if state.wary else _naming(planned),
            expected=state.documented(planned),
            needed=state.needed,
            wary=state.wary,
        )
        if doubt is None and state.lacks_items(heard):
            doubt = Doubt.empty
        if doubt is None and self._is_short(heard):
            doubt, state.wary = Doubt.short, True
        return None if doubt is None or self._unfounded[planned.tool, doubt] >= UNFOUNDED else doubt

    def _is_short(self, heard: HeardReply) -> bool:
        """True if a list has fewer items than its count says, or a page with a successor fewer than another page of the same tool.

        Raises InputError, once, if earlier pages were short and passed undoubted; the plan is then walked again.
        """
        content, planned = heard.content or {}, heard.planned
        if is_short(content, planned.arguments):
            return True
        size = page_size(content)
        if size is None:
            self._count(planned, content)
            return False
        kind = canonical([planned.tool, planned.arguments.get("limit")])
        usual = self._pages.get(kind, size)
        self._pages[kind] = max(size, usual)
        if size > usual and not self._state.wary:
            # The pages before this one were cut short unnoticed; what was read from them is incomplete.
            self._begin_again("pages of one list are not of one length")
        self._count(planned, content)
        return size < usual

    def _count(self, planned: Planned, content: JsonObject) -> None:
        """Add up the pages of a list that states its count. Raises InputError if items are still missing after the last page."""
        found = counted(content)
        if found is None:
            return
        cursor = planned.arguments.get("cursor")
        kind = canonical([planned.tool, {**planned.arguments, "cursor": None}])
        pages = self._items.setdefault(kind, {})
        # The list is read from its start again.
        if cursor is None:
            pages.clear()
        pages[cursor] = max(found[0], pages.get(cursor, 0))
        if cursor is not None and content.get(NEXT_CURSOR) is None and sum(pages.values()) < found[1]:
            self._begin_again("the pages of a list have fewer items than it counts")

    def _begin_again(self, reason: str) -> None:
        if not self._began_again and self._state.checks > 0:
            self._began_again = True
            raise InputError(reason)

    def _compared(self, heard: HeardReply) -> Generator[Planned, Observation, list[HeardReply]]:
        """Return the replies to a suspect read: it is repeated once, and a second time if the two replies differ."""
        replies = [heard]
        while len(replies) < 3 and heard.content is not None and self._state.check():
            again = yield from self._state.ask(heard.planned, CallReason.compared)
            if again.is_error:
                break
            replies.append(again)
            # Two equal replies outvote a third.
            if again.content == heard.content:
                break
        return replies

    def _agreed(self, replies: list[HeardReply]) -> HeardReply:
        """Return the merged reply: from those without doubts, if there are any."""
        sure = [heard for heard in replies if self._doubt(heard) is None] or [
            heard for heard in replies if heard.content is not None
        ]
        if not sure:
            return replies[-1]
        latest = sure[-1]
        contents = [
            heard.content for heard in sure if heard.content and same_subject(heard.content, latest.content or {})
        ]
        return latest if len(contents) < 2 else latest.saying(agreed(contents))

    def _filled(self, heard: HeardReply) -> Hearing:
        """Return the reply with gaps filled from other reads; reconstructed entirely if it has no values."""
        state, planned = self._state, heard.planned
        if heard.content is None or says_nothing(heard.content):
            found = yield from self._across.search_again(planned)
            again = (yield from state.ask(planned, CallReason.searched)) if found else heard
            if not again.is_error and self._doubt(again) is None:
                return again
            return (yield from self.instead(planned)) or heard
        gaps = _lacking(heard.content, state.documented(planned), state.needed, planned)
        yield from self._completed(list(gaps), planned)
        return heard

    def _completed(self, gaps: list[tuple[Seen, set[str]]], source: Planned) -> Generator[Planned, Observation, None]:
        """Fill in the missing fields of records: from memory, else by reading them one by one, several in a turn."""
        state = self._state
        documented = frozenset(property_names(state.documented(source)))

        def fill(seen: Seen, by: Planned | None = None) -> None:
            asked = () if by is None else by.arguments
            name = next((name for name in asked if name in seen.row), "")
            seen.whole.update(known_of(seen, documented - seen.whole.keys(), state.memory, by=name))

        for seen, _ in gaps:
            fill(seen)
        opening: list[tuple[Seen, set[str], list[Planned]]] = []
        for seen, names in gaps:
            missing = names - seen.whole.keys()
            given = asking_for(seen.row, seen.kind)
            reads = sources(frozenset(missing), given, state.tools, state.memory, but=source.tool)
            own = [read for read in reads if {*plain_texts(read.arguments)} & {*plain_texts(seen.row)} - {""}]
            if missing and own:
                opening.append((seen, names, own))
        for place in range(0, min(len(opening), FILLED), TOGETHER):
            batch = opening[place : place + TOGETHER]
            calls = list({own[0].key: own[0] for _, _, own in batch}.values())
            for read in calls:
                # One turn for the whole batch: the first call announces the others.
                state.beside = tuple(calls[1:]) if read is calls[0] else ()
                yield from state.ask(read, CallReason.elsewhere)
            for seen, names, own in batch:
                fill(seen, own[0])
                if names - seen.whole.keys() and len(own) > 1 and state.doubt():
                    yield from state.ask(own[1], CallReason.elsewhere)
                    fill(seen, own[1])

    def instead(self, planned: Planned) -> Maybe:
        """Return the reply to a read that fails or returns nothing, reconstructed from other reads; None if they do not suffice."""
        state = self._state
        tool = state.tools.get(planned.tool)
        if tool is None or tool.writes or tool.output_schema is None:
            return None
        found = rebuilt(planned, tool, state.needed, state.memory)
        wanted = frozenset(property_names(tool.output_schema)) & state.needed - {NEXT_CURSOR}
        reads = sources(wanted, planned.arguments, state.tools, state.memory, but=planned.tool)
        for read in reads[:SOURCES]:
            if found is not None or not state.doubt():
                break
            yield from state.ask(read, CallReason.elsewhere)
            found = rebuilt(planned, tool, state.needed, state.memory)
        return None if found is None else HeardReply(planned, Observation("{}", json=True), found)


def _naming(planned: Planned) -> JsonObject:
    """Return the arguments that identify the record: all for a read of one record, only ids for other reads."""
    one = tool_words(planned.tool).intent == "get"
    return {name: value for name, value in planned.arguments.items() if one or name == "id" or name.endswith("_id")}


def _lacking(
    content: JsonObject, schema: JsonValue, needed: frozenset[str], planned: Planned
) -> Iterator[tuple[Seen, set[str]]]:
    """Yield the records that lack needed, documented fields, with those fields; null does not count as missing."""
    gaps: dict[int, set[str]] = {}
    for record, name in lacking(content, schema, needed):
        if name not in record:
            gaps.setdefault(id(record), set()).add(name)
    for seen in records_in(content, tool_words(planned.tool).noun):
        if id(seen.whole) in gaps:
            yield seen, gaps[id(seen.whole)]

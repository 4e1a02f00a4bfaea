"""The rest of a page is for subscribers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field, model_validator

from simtrain.contracts.perturbation import Call, Probability, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.addresses import Address, home_of, key_of, opened_by, opens_pages
from simtrain.perturbations.pages import PageTrouble
from simtrain.perturbations.reply_edits import Path, at, content_of, leaves, put, rewritten
from simtrain.perturbations.standby import PASSING, stand_in, with_stand_ins
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, is_object
from simtrain.worlds.search.engine.page_opening import PAYWALL, free_lines

CACHED = "cached"
_DESCRIPTION = "Shows the copy that the search engine keeps."
_WALLED, _READ = "walled", "read"
"""The memory: URL -> True if behind the wall; site -> start of its meter and pages read in full."""

_PAGE = 0.5
"""A text at least this long relative to the longest one of a reply is the page in another form."""


class Paywall(PageTrouble):
    """Only the beginning of a page arrives, with a notice that the rest is for subscribers.

    Source: what publishers do, hard or metered (schema.org: isAccessibleForFree). An agent should notice that the page
    is incomplete, and read the search engine's copy, wait for the meter, find it on other sites, or decline. Whether a
    page is behind the wall is decided when it is first opened, and stays so. With `free` the wall is metered: this many
    pages of each site are shown in full, and stay open, until the meter starts again. Pages opened before, errors, and
    calls that open no page pass.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="P", recoverable_by=("switch", "cross-check", "wait", "abstain"), follows="always"
    )
    example: ClassVar[JsonObject] = {"with": {"share": 1}}

    share: Probability | None = Field(
        default=None,
        description="Share of the pages behind the wall, of those first opened when this fires, drawn by the address; unset,"
        " half the severity.",
    )
    shown: Probability | None = Field(
        default=None,
        description="Share of a page that is shown, at least its first line; unset, 0.7 and less by severity.",
    )
    free: int = Field(default=0, ge=0, description="Pages of each site behind the wall that are still shown in full.")
    resets: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds after which a site's meter begins anew; unset, never. Needs `free`.",
    )
    cached: bool | None = Field(
        default=None,
        description="Offer every tool that opens pages a second time, for the search engine's copies; unset, if the "
        "severity is below 1.",
    )

    @model_validator(mode="after")
    def _meters(self) -> Paywall:
        if self.resets is not None and not self.free:
            raise ValueError("`resets` needs `free`: a meter that lets nothing through cannot begin anew")
        return self

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and one that shows copies."""
        if not (self.severity < 1 if self.cached is None else self.cached):
            return tools
        return with_stand_ins(tools, CACHED, _DESCRIPTION, of=opens_pages)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Show the copy of a page, without the wall."""
        return await stand_in(call, proceed, CACHED)

    async def visit(self, call: Call, proceed: Answer, *, share: float) -> Observation:
        """Show only the beginning of pages behind the wall."""
        # PASSING is set while the copy tool makes its own visit, which must not be walled.
        opened = [] if PASSING in call.memory else opened_by(call.request)
        observation = await proceed(call.request)
        if not opened or observation.is_error:
            return observation
        walled = call.memory.setdefault(_WALLED, {})
        for address in opened:
            # Drawn by URL, not by call: a page stays walled however often, and in whatever order, it is opened.
            walled.setdefault(address.key, call.root.draw(_WALLED, address.key) < share)
        closed = [address for address in opened if walled[address.key] and not self._is_free(call, address)]
        return self._cut(call, observation, closed) if closed else observation

    def _is_free(self, call: Call, address: Address) -> bool:
        """Return True if the meter of the site lets a page through, and note the page."""
        if not self.free:
            return False
        meters, site = call.memory.setdefault(_READ, {}), home_of(address.key)
        begun = meters.setdefault(site, [call.clock.moment, []])[0]
        if self.resets is not None and call.clock.moment - begun >= self.resets:
            meters[site] = [call.clock.moment, []]
        read = meters[site][1]
        if address.key not in read and len(read) < self.free:
            read.append(address.key)
        return address.key in read

    def _cut(self, call: Call, observation: Observation, closed: Sequence[Address]) -> Observation:
        """Return the reply with only the beginning of those pages, and the notice."""
        content, whole = content_of(observation), _whole(call)
        notice = self._notice(call, closed)
        if content is None:
            return self._cut_text(observation, whole, notice, None)
        known = None if whole is None else content_of(whole)
        cut = content
        for place in _texts_of(content, closed):
            text = str(at(content, place))
            cut = put(cut, place, self._beginning(text, _text_at(known, place), notice))
        # Structured and text form are cut together; if the text is prose, it is cut on its own.
        changed = rewritten(observation, cut, tool=call.request.tool, world=call.world, source=self.source)
        if changed is not None or not is_object(cut):
            return changed or observation
        return self._cut_text(observation, whole, notice, cut)

    def _cut_text(
        self, observation: Observation, whole: Observation | None, notice: str, cut: JsonObject | None
    ) -> Observation:
        text = self._beginning(observation.text, None if whole is None else whole.text, notice)
        return self.reworded(observation, text, cut)

    def _beginning(self, text: str, whole: str | None, notice: str) -> str:
        """Return the lines of a text from the beginning of the whole page, and the notice; a page that ends in a
        notice is cut already.
        """
        # Sites of a search world may have a wall of their own; two notices would tell them apart.
        if text.rstrip().endswith(PAYWALL):
            return text
        share = 0.7 * (1 - self.severity) if self.shown is None else self.shown
        free = free_lines(text if whole is None else whole, share)
        kept = free if whole is None else [line for line in text.split("\n") if line.strip() and line in free]
        return "\n\n".join(("\n".join(kept).strip(), notice)).strip()

    def _notice(self, call: Call, closed: Sequence[Address]) -> str:
        if not self.free:
            return PAYWALL
        begun = float(call.memory[_READ][home_of(closed[0].key)][0])
        left = None if self.resets is None else max(1, round(begun + self.resets - call.clock.moment))
        later = "" if left is None else f", or come back in {left} seconds"
        pages = "the free page" if self.free == 1 else f"the {self.free} free pages"
        return f"*You have read {pages} of this site. Subscribe to read on{later}.*"


def _whole(call: Call) -> Observation | None:
    """Return the reply with the page from its beginning, for a call that asks for a part of it or for passages about a goal."""
    # Offsets and goals are optional arguments; flags stay, since they choose the form of the page and not a part of it.
    needed: list[str] = call.request.tool.input_schema.get("required") or []
    given = call.request.arguments
    plain: JsonObject = {name: value for name, value in given.items() if name in needed or isinstance(value, bool)}
    if call.world is None or not call.in_world or plain == given:
        return None
    with call.world.savepoint():
        whole = call.world.answer(replace(call.request, arguments=plain))
    # The site may refuse this second visit (upkeep troubles); then the part is all there is.
    return None if whole.is_error else whole


def _texts_of(content: JsonValue, closed: Sequence[Address]) -> list[Path]:
    """Return the places of the pages' texts in a reply: the longest of each, and others of several lines about as
    long.
    """
    keys = {address.key for address in closed}
    roots: list[Path] = [()]
    if not any(address.is_single for address in closed):
        items = {path[:-1]: value for path, value in leaves(content) if path and path[-1] in ("url", "id")}
        roots = [path for path, value in items.items() if isinstance(value, str) and key_of(value) in keys]
    found: list[Path] = []
    for root in roots:
        texts = {(*root, *path): value for path, value in leaves(at(content, root)) if isinstance(value, str)}
        most = max((len(text) for text in texts.values()), default=0)
        long = {path: text for path, text in texts.items() if len(text) >= _PAGE * most and not key_of(text)}
        found += [path for path, text in long.items() if len(text) == most or "\n" in text]
    return found


def _text_at(content: JsonValue, place: Path) -> str | None:
    """Return the text at a place; None if there is none."""
    try:
        found = at(content, place)
    except (KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, str) else None

"""Calendar arithmetic: the parts of a working day in which several people are free."""

from simtrain.contracts.handler import HandlerContext, ToolError
from simtrain.values.types import JsonObject, encode

OPENING = "09:00"
CLOSING = "17:00"


def free_windows(context: HandlerContext) -> JsonObject:
    """Return the stretches of `day`, from 09:00 to 17:00, in which none of `person_ids` is busy.

    Needs a table `people (id)` and a table or view `busy (person_id, starts_at, ends_at)` with instants like
    `2031-03-05T13:30:00Z`. Replies `{"windows": [{"from": "09:00", "to": "10:30", "minutes": 90}, ...]}`. Raises ToolError
    for an unknown person.
    """
    day, people = context.arguments["day"], context.arguments["person_ids"]
    known = {row["id"] for row in context.read("select id from people")}
    for person in people:
        if person not in known:
            raise ToolError(f"There is no person {person}.")
    busy = context.read(
        "select starts_at, ends_at from busy where person_id in (select value from json_each(:people)) "
        "and starts_at < :day || 'T' || :closing and ends_at > :day || 'T' || :opening order by starts_at, ends_at",
        {"people": encode(people), "day": day, "opening": OPENING, "closing": CLOSING},
    )
    return {"windows": _gaps([(_clock(row["starts_at"], day), _clock(row["ends_at"], day)) for row in busy])}


def _gaps(busy: list[tuple[str, str]]) -> list[JsonObject]:
    """Return what is left between opening and closing; `busy` is sorted by its starts."""
    windows: list[JsonObject] = []
    free_from = OPENING
    for starts, ends in [*busy, (CLOSING, CLOSING)]:
        if starts > free_from:
            windows.append({"from": free_from, "to": starts, "minutes": _minutes(starts) - _minutes(free_from)})
        # Meetings overlap and nest: a later one may end sooner.
        free_from = max(free_from, ends)
    return windows


def _clock(moment: str, day: str) -> str:
    """Return the time of day of an instant, clamped to the working day."""
    if moment[:10] != day:
        return OPENING if moment[:10] < day else CLOSING
    return min(max(moment[11:16], OPENING), CLOSING)


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])

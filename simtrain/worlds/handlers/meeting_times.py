"""Calendar arithmetic: the earliest times at which several people can meet."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from simtrain.contracts.handler import HandlerContext
from simtrain.values.types import JsonObject, encode

MOST = 10
"""Times that one reply lists."""

GRID = 30
"""Minutes between two possible beginnings."""


def meeting_times(context: HandlerContext) -> JsonObject:
    """Return the earliest times, `minutes` long, at which the world's own person and all of `emails` are free.

    They are on working days from `from_day` to `to_day`, between `opens` and `closes`, and after now. Needs views `me (email)` and
    `busy (email, starts_at, ends_at)` with instants like `2031-03-05T13:30:00Z`. Replies `{"times": [{"starts_at", "ends_at"}, ...]}`.
    """
    given = context.arguments
    busy = context.read(
        "select starts_at, ends_at from busy where email in (select value from json_each(:emails) union select email from me) "
        "and substr(starts_at, 1, 10) <= :to_day and substr(ends_at, 1, 10) >= :from_day order by starts_at, ends_at",
        {"emails": encode(given["emails"]), "from_day": given["from_day"], "to_day": given["to_day"]},
    )
    taken = [(str(row["starts_at"]), str(row["ends_at"])) for row in busy]
    times: list[JsonObject] = []
    for starts_at, ends_at in _stretches(given):
        # Instants of one form, all in UTC, are in order as text. One meeting may begin as another ends.
        free = all(ends <= starts_at or starts >= ends_at for starts, ends in taken)
        if free and starts_at > context.now:
            times.append({"starts_at": starts_at, "ends_at": ends_at})
            if len(times) == MOST:
                break
    return {"times": times}


def _stretches(given: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield every time on the grid, the earliest first, free or not."""
    opens, closes = str(given["opens"]), str(given["closes"])
    length = timedelta(minutes=given["minutes"])
    day, last = date.fromisoformat(str(given["from_day"])), date.fromisoformat(str(given["to_day"]))
    while day <= last:
        begin = datetime.fromisoformat(f"{day}T{opens}")
        begin += timedelta(minutes=-begin.minute % GRID)
        end = datetime.fromisoformat(f"{day}T{closes}")
        while day.weekday() < 5 and begin + length <= end:
            yield f"{begin.isoformat()}Z", f"{(begin + length).isoformat()}Z"
            begin += timedelta(minutes=GRID)
        day += timedelta(days=1)

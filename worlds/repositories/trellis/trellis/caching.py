"""ETags, dates, and answers that say that nothing changed."""

from datetime import UTC, datetime
from hashlib import sha256

from trellis.messages import Request, Response

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def etag(body: bytes, *, weak: bool = False) -> str:
    """Return the ETag of a body."""
    return f'{"W/" if weak else ""}"{sha256(body).hexdigest()[:16]}"'


def format_date(seconds: float) -> str:
    """Return a time as HTTP writes it: `Mon, 03 Mar 2031 09:00:00 GMT`."""
    time = datetime.fromtimestamp(int(seconds), UTC)
    day, month = DAYS[time.weekday()], MONTHS[time.month - 1]
    return f"{day}, {time.day:02} {month} {time.year:04} {time:%H:%M:%S} GMT"


def parse_date(text: str) -> float | None:
    """Return the seconds of a time of HTTP; None for another text."""
    words = text.replace(",", " ").split()
    if len(words) != 6 or words[5] != "GMT" or words[2] not in MONTHS:
        return None
    try:
        hour, minute, second = map(int, words[4].split(":"))
        month = MONTHS.index(words[2]) + 1
        time = datetime(int(words[3]), month, int(words[1]), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return time.timestamp()


def not_modified(request: Request, tag: str | None = None, changed: float | None = None) -> bool:
    """Return whether a client has the newest form already. Tags decide where the client sends some."""
    if request.method not in ("GET", "HEAD"):
        return False
    wanted = request.headers.get("If-None-Match")
    if wanted is not None:
        if tag is None:
            return False
        known = [one.strip().removeprefix("W/") for one in wanted.split(",")]
        return "*" in known or tag.removeprefix("W/") in known
    since = parse_date(request.headers.get("If-Modified-Since", ""))
    return since is not None and changed is not None and int(changed) <= since


def conditional(request: Request, response: Response, changed: float | None = None) -> Response:
    """Return the response with its ETag and date; a 304 if the client has it already."""
    if response.status != 200:
        return response
    tag = response.headers.setdefault("ETag", etag(response.body))
    if changed is not None:
        response.headers.set("Last-Modified", format_date(changed))
    if not not_modified(request, tag, changed):
        return response
    kept = [pair for pair in response.headers if pair[0] in ("ETag", "Last-Modified", "Vary")]
    return Response(b"", 304, dict(kept))


def cache_control(*, max_age: int | None = None, private: bool = False, store: bool = True) -> str:
    """Return the value of a Cache-Control header."""
    if not store:
        return "no-store"
    parts = ["private" if private else "public"]
    parts.append("no-cache" if max_age is None else f"max-age={max_age}")
    return ", ".join(parts)

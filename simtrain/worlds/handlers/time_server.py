"""The tools of a time server: the present time in a zone, and a time of day converted to another zone. Now is the world's clock."""

import json
import re
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from posixpath import isabs, normpath
from typing import cast
from zoneinfo import ZoneInfo

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.values.types import JsonObject

_CLOCK = re.compile(r"(2[0-3]|[0-1]\d|\d):([0-5]\d|\d)")
# Files of the tzdata package beside the zones.
_TABLES = frozenset(
    {"__init__.py", "iso3166.tab", "leapseconds", "tzdata.zi", "zone.tab", "zone1970.tab", "zonenow.tab"}
)
_LONGEST = 255
_FOLDER = "/usr/local/lib/python3.11/site-packages/tzdata/zoneinfo"
"""The folder of zones in the imitated server's messages: that of its own tzdata package."""


def get_current_time(context: HandlerContext) -> Reply:
    """Return the present time in `timezone`. Raises ToolError for an unknown zone."""
    zone = _zone(context, "timezone")
    return _reply(_described(_now(context, zone)))


def convert_time(context: HandlerContext) -> Reply:
    """Return what `time` of today in `source_timezone` is in `target_timezone`. Raises ToolError for an unknown zone or a bad time."""
    for argument in ("source_timezone", "target_timezone"):
        _required(context, argument)
    source_zone, target_zone = _zone(context, "source_timezone"), _zone(context, "target_timezone")
    found = _CLOCK.fullmatch(context.arguments["time"])
    if found is None:
        raise _refusal(context, "Invalid time format. Expected HH:MM [24-hour format]")
    # PEP 495: with fold=0, a time skipped by the change to summer time is read as if the clock had not changed.
    source = _now(context, source_zone).replace(hour=int(found[1]), minute=int(found[2]), second=0, fold=0)
    target = source.astimezone(target_zone)
    ahead = cast(timedelta, target.utcoffset()) - cast(timedelta, source.utcoffset())
    return _reply({"source": _described(source), "target": _described(target), "time_difference": _hours(ahead)})


def _now(context: HandlerContext, zone: ZoneInfo) -> datetime:
    return datetime.fromisoformat(context.now).astimezone(zone)


def _described(moment: datetime) -> JsonObject:
    return {
        "timezone": str(moment.tzinfo),
        "datetime": moment.isoformat(timespec="seconds"),
        "day_of_week": moment.strftime("%A"),
        "is_dst": bool(moment.dst()),
    }


def _hours(ahead: timedelta) -> str:
    """Return a difference as `+9.0h` or `+5.75h`."""
    hours = ahead.total_seconds() / 3600
    return f"{hours:+.1f}h" if hours.is_integer() else f"{hours:+.2f}".rstrip("0") + "h"


def _required(context: HandlerContext, argument: str) -> str:
    name = context.arguments[argument]
    if not name:
        raise _refusal(context, f"Missing required argument: {argument}")
    return name


def _zone(context: HandlerContext, argument: str) -> ZoneInfo:
    name = _required(context, argument)
    if name not in _names():
        raise _refusal(context, f"Invalid timezone: {_why_not(name)}")
    return _loaded(name)


@cache
def _names() -> frozenset[str]:
    """Return the zones of the `tzdata` package; those of the machine would make replies depend on it."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


@cache
def _loaded(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as content:
        return ZoneInfo.from_file(content, key=name)


def _why_not(name: str) -> str:
    """Return the message of Python's zoneinfo for a name that is not a zone."""
    if isabs(name):
        return f"ZoneInfo keys may not be absolute paths, got: {name}"
    normal = normpath(name)
    if len(normal) != len(name):
        return f"ZoneInfo keys must be normalized relative paths, got: {name}"
    if normal == "." or normal.startswith(".."):
        return f"ZoneInfo keys must refer to subdirectories of TZPATH, got: {name}"
    if "\0" in name:
        return "embedded null byte"
    if any(len(part.encode()) > _LONGEST for part in name.split("/")):
        return f"[Errno 36] File name too long: '{_FOLDER}/{name}'"
    if any(known.startswith(f"{name}/") for known in _names()):
        return f"[Errno 21] Is a directory: '{_FOLDER}/{name}'"
    if name in _TABLES:
        return "Invalid TZif file: magic not found"
    return repr(f"No time zone found with key {name}")


def _refusal(context: HandlerContext, problem: str) -> ToolError:
    tool = "convert_time" if "time" in context.arguments else "get_current_time"
    return ToolError(f"Error executing tool {tool}: {problem}")


def _reply(content: JsonObject) -> Reply:
    return Reply(json.dumps(content, ensure_ascii=False, indent=2), content)

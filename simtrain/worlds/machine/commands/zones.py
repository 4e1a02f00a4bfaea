"""The time zone of a command, from the variable TZ."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def zone_named(name: str | None) -> tzinfo:
    """Return a zone by its name; like glibc, UTC for a name that is unknown."""
    if not name or name.lstrip(":") in ("UTC", "UTC0", "GMT"):
        return UTC
    try:
        return ZoneInfo(name.lstrip(":"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def local(seconds: float, environment: Mapping[str, str]) -> datetime:
    """Return Unix time as the local time of a command."""
    return datetime.fromtimestamp(seconds, zone_named(environment.get("TZ")))

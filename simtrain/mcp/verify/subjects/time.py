"""The reference server `time`: nothing is kept, and every reply follows from the clock and the table of zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject, makes
from simtrain.values.types import JsonObject, JsonValue

ZONES = (
    "UTC", "Europe/London", "Europe/Dublin", "Europe/Berlin", "Europe/Moscow", "America/New_York", "America/Los_Angeles",
    "America/St_Johns", "America/Sao_Paulo", "America/Argentina/Buenos_Aires", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu",
    "Asia/Tehran", "Asia/Shanghai", "Africa/Cairo", "Africa/Casablanca", "Africa/Monrovia", "Australia/Sydney",
    "Australia/Lord_Howe", "Australia/Eucla", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Kiritimati", "Pacific/Marquesas",
    "Antarctica/Troll", "Etc/GMT+12", "Etc/GMT-14", "EST5EDT", "Zulu", "GB-Eire", "Factory",
)  # fmt: skip
NO_ZONES = (
    "Europe/Atlantis", "utc", "america/new_york", "GMT+5", "New York", "../UTC", "/etc/localtime", "./UTC", "Europe//Berlin",
    "Europe/Berlin/", "..", ".", "Etc/../UTC", "zone.tab", "O'Clock", 'a"b', "a\\b", "UTC\0",
)  # fmt: skip
ODD_TIMES = ("0:0", "9:05", "7:7", "00:00", "23:59", "02:30", "01:1")
NO_TIMES = ("24:00", "12:60", "12", "12:00:00", "noon", "-1:00", " 12:00", "12:00 ", "12.30", "1 2:00", "")


class Time(Subject):
    """Kinds of values: `zone`, `time`. What a call converted, a later one converts again or back."""

    def environment(self, root: Path) -> Mapping[str, str]:
        """Have the real server read the zones of its own tzdata package, and not those of the machine."""
        return {"PYTHONTZPATH": ""}

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the zones that are asked for."""
        return {"zone": ZONES}

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """The zones and times that the reply tells."""
        told: JsonObject = reply["structuredContent"]
        for moment in (told["source"], told["target"]) if call.tool == "convert_time" else (told,):
            past.note("zone", moment["timezone"])
            past.note("time", moment["datetime"][11:16])

    @makes("get_current_time")
    def known_zone(self, draw: Draw) -> JsonObject:
        """Return a zone, often one that was asked for before."""
        return {"timezone": draw.existing("zone", earlier=0.5)}

    @makes("get_current_time", "edge")
    def unasked(self, draw: Draw) -> JsonObject:
        """Return an argument that the tool does not know."""
        return {"timezone": draw.existing("zone"), "format": "iso"}

    @makes("get_current_time", "invalid", weight=2)
    def no_zone(self, draw: Draw) -> JsonObject:
        """Return a name that is no zone."""
        return {"timezone": draw.one((*NO_ZONES, draw.odd_text()))}

    @makes("convert_time")
    def some_time(self, draw: Draw) -> JsonObject:
        """Any time of the day, between any two zones."""
        time = f"{draw.integer(0, 23):02}:{draw.integer(0, 59):02}"
        return self._conversion(draw, time, earlier=0.3)

    @makes("convert_time")
    def time_told(self, draw: Draw) -> JsonObject:
        """Return a time that an earlier reply told."""
        return self._conversion(draw, draw.earlier("time"), earlier=0.6)

    @makes("convert_time", "edge")
    def odd_time(self, draw: Draw) -> JsonObject:
        """Return the first and the last minute, short forms, and an hour that a change to summer time may leave out."""
        return self._conversion(draw, draw.one(ODD_TIMES), earlier=0.3)

    @makes("convert_time", "invalid", weight=2)
    def no_time(self, draw: Draw) -> JsonObject:
        """No time, or no zone, or neither."""
        sound = self._conversion(draw, draw.one(ODD_TIMES), earlier=0.3)
        wrong = {
            "time": draw.one((*NO_TIMES, draw.odd_text())),
            "source_timezone": draw.one(NO_ZONES),
            "target_timezone": draw.one((*NO_ZONES, "")),
        }
        return {**sound, **{name: wrong[name] for name in draw.some(tuple(wrong))}}

    def _conversion(self, draw: Draw, time: JsonValue, *, earlier: float) -> JsonObject:
        source, target = (draw.existing("zone", earlier=earlier) for _ in range(2))
        return {"source_timezone": source, "time": time, "target_timezone": target}

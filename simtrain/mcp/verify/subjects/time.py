"""The reference server `time`: it has no state; every reply follows from the clock and the time zone database."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.types import JsonObject, JsonValue

ZONES = (
    "UTC", "Europe/London", "Europe/Dublin", "Europe/Berlin", "Europe/Moscow", "America/New_York", "America/Los_Angeles",
    "America/St_Johns", "America/Sao_Paulo", "America/Argentina/Buenos_Aires", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu",
    "Asia/Tehran", "Asia/Shanghai", "Africa/Cairo", "Africa/Casablanca", "Africa/Monrovia", "Australia/Sydney",
    "Australia/Lord_Howe", "Australia/Eucla", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Kiritimati", "Pacific/Marquesas",
    "Antarctica/Troll", "Etc/GMT+12", "Etc/GMT-14", "EST5EDT", "Zulu", "GB-Eire", "Factory",
)  # fmt: skip


def conversion(draw: Draw, time: str, earlier: float) -> JsonObject:
    """Return the arguments of a conversion between two zones, each with probability `earlier` one from an earlier call."""
    source, target = (draw.existing("zone", earlier=earlier) for _ in range(2))
    return {"source_timezone": source, "time": time, "target_timezone": target}


class Time(Subject):
    """Kinds of values: `zone`, `time`. What a call converted, a later one converts again or back."""

    calls = Path(__file__).with_suffix(".yaml")
    helpers = (conversion,)

    def environment(self, root: Path) -> Mapping[str, str]:
        """Make the real server read the zones of its own tzdata package instead of the machine's."""
        return {"PYTHONTZPATH": ""}

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the zones that calls use."""
        return {"zone": ZONES}

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note the zones and times in the reply."""
        content: JsonObject = reply["structuredContent"]
        for moment in (content["source"], content["target"]) if call.tool == "convert_time" else (content,):
            past.note("zone", moment["timezone"])
            past.note("time", moment["datetime"][11:16])

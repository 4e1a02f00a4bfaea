"""Units of measurement, and the factors between those of one dimension."""

from collections.abc import Mapping
from typing import Final

from simtrain.values.errors import InputError, nearest
from simtrain.worlds.search.spec.world_file import UnitSpec

# Factors to SI. `nm` is the nanometre, `hp` mechanical, a year Julian (365.25 days). No months: they differ in length.
UNITS: Final[dict[str, tuple[str, float]]] = {
    "mm": ("length", 0.001), "cm": ("length", 0.01), "m": ("length", 1.0), "km": ("length", 1000.0),
    "inches": ("length", 0.0254), "feet": ("length", 0.3048), "yards": ("length", 0.9144), "miles": ("length", 1609.344),
    "nautical miles": ("length", 1852.0), "nm": ("length", 1e-9), "µm": ("length", 1e-6), "au": ("length", 1.495978707e11),
    "mg": ("mass", 1e-6), "g": ("mass", 0.001), "kg": ("mass", 1.0), "t": ("mass", 1000.0), "tonnes": ("mass", 1000.0),
    "kt": ("mass", 1e6), "pounds": ("mass", 0.45359237), "ounces": ("mass", 0.028349523125),
    "m²": ("area", 1.0), "km²": ("area", 1e6), "ha": ("area", 10000.0), "acres": ("area", 4046.8564224), "mm²": ("area", 1e-6),
    "ml": ("volume", 1e-6), "l": ("volume", 0.001), "litres": ("volume", 0.001), "m³": ("volume", 1.0),
    "s": ("time", 1.0), "min": ("time", 60.0), "minutes": ("time", 60.0), "h": ("time", 3600.0), "hours": ("time", 3600.0),
    "days": ("time", 86400.0), "weeks": ("time", 604800.0), "years": ("time", 31557600.0),
    "km/h": ("speed", 1 / 3.6), "m/s": ("speed", 1.0), "knots": ("speed", 0.514444), "mph": ("speed", 0.44704),
    "W": ("power", 1.0), "kW": ("power", 1000.0), "MW": ("power", 1e6), "GW": ("power", 1e9), "hp": ("power", 745.69987),
    "Wh": ("energy", 1.0), "kWh": ("energy", 1000.0), "MWh": ("energy", 1e6), "GWh": ("energy", 1e9),
    "B": ("data", 1.0), "kB": ("data", 1e3), "MB": ("data", 1e6), "GB": ("data", 1e9), "TB": ("data", 1e12),
    "Hz": ("frequency", 1.0), "kHz": ("frequency", 1e3), "MHz": ("frequency", 1e6), "GHz": ("frequency", 1e9),
    "Pa": ("pressure", 1.0), "kPa": ("pressure", 1e3), "bar": ("pressure", 1e5), "%": ("share", 1.0),
}  # fmt: skip
"""Unit -> its dimension, and its size in base units."""


def with_invented(invented: Mapping[str, UnitSpec]) -> dict[str, tuple[str, float]]:
    """Return the table with a world's own units. Raises InputError for one defined by an unknown unit."""
    found = dict(UNITS)
    for name, spec in invented.items():
        if spec.of not in found:
            raise InputError(f"unknown unit {spec.of!r}", remedy=nearest(spec.of, found), place=f"units.{name}")
        what, factor = found[spec.of]
        found[name] = (what, factor * spec.is_)
    return found


def factor(source: str, target: str, units: Mapping[str, tuple[str, float]]) -> float:
    """Return the factor from `source` to `target`. Raises InputError for an unknown unit, and for two dimensions."""
    for name in (source, target):
        if name not in units:
            raise InputError(f"unknown unit {name!r}", remedy=nearest(name, units))
    if units[source][0] != units[target][0]:
        raise InputError(
            f"{source} measures {units[source][0]} and {target} {units[target][0]}", remedy="convert within one"
        )
    return units[source][1] / units[target][1]

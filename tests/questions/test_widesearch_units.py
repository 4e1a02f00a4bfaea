"""Units in the cells of tables, against the factors of the SI brochure (2019), NIST's special publication 811 and the IAU."""

from __future__ import annotations

import pytest

from simtrain.questions.widesearch.quantities import near, read_quantity, unit_of

# One of each is so many of the first of its line.
FACTORS = {
    "share": {"%": 1, "percent": 1, "per cent": 1, "‰": 0.1},
    "length": {
        "m": 1, "metre": 1, "metres": 1, "meter": 1, "meters": 1, "米": 1, "nm": 1e-9, "µm": 1e-6, "μm": 1e-6, "um": 1e-6, "mm": 1e-3,
        "cm": 1e-2, "km": 1000, "kilometres": 1000, "kilometers": 1000, "公里": 1000, "in": 0.0254, "inches": 0.0254, "ft": 0.3048,
        "feet": 0.3048, "mi": 1609.344, "miles": 1609.344, "nmi": 1852, "nautical miles": 1852, "ly": 9.4607304725808e15,
        "light-years": 9.4607304725808e15, "au": 149_597_870_700,
    },
    "mass": {
        "kg": 1, "mg": 1e-6, "g": 1e-3, "t": 1000, "tonne": 1000, "tonnes": 1000, "tons": 1000, "吨": 1000, "kt": 1e6,
        "lb": 0.45359237, "lbs": 0.45359237, "oz": 0.45359237 / 16,
    },
    "time": {
        "s": 1, "ms": 1e-3, "sec": 1, "seconds": 1, "min": 60, "minutes": 60, "h": 3600, "hours": 3600, "hrs": 3600, "d": 86400,
        "day": 86400, "days": 86400, "天": 86400, "weeks": 7 * 86400, "month": 365.25 / 12 * 86400, "months": 365.25 / 12 * 86400,
        "year": 365.25 * 86400, "years": 365.25 * 86400, "yr": 365.25 * 86400, "yrs": 365.25 * 86400,
    },
    "area": {
        "m2": 1, "m²": 1, "sqm": 1, "sq m": 1, "km2": 1e6, "km²": 1e6, "sqkm": 1e6, "sq km": 1e6, "square kilometres": 1e6,
        "square kilometers": 1e6, "ha": 1e4, "hectares": 1e4, "acres": 4840 * 0.9144**2, "acre": 4840 * 0.9144**2, "平方公里": 1e6,
    },
    "volume": {"m3": 1, "m³": 1, "ml": 1e-6, "l": 1e-3, "litres": 1e-3, "liters": 1e-3},
    "speed": {"m/s": 1, "km/h": 1000 / 3600, "kph": 1000 / 3600, "mph": 1609.344 / 3600, "kn": 1852 / 3600, "knots": 1852 / 3600},
    "power": {"w": 1, "kw": 1e3, "mw": 1e6, "gw": 1e9},
    "energy": {"wh": 1, "kwh": 1e3, "mwh": 1e6, "gwh": 1e9},
    "data": {"kb": 1, "mb": 1e3, "gb": 1e6, "tb": 1e9},
    "frequency": {"hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
}  # fmt: skip
PAIRS = [(dimension, unit, factor) for dimension, units in FACTORS.items() for unit, factor in units.items()]


@pytest.mark.parametrize(("dimension", "unit", "factor"), PAIRS)
def test_a_unit_is_so_many_of_another(dimension: str, unit: str, factor: float) -> None:
    first = next(iter(FACTORS[dimension]))
    one, right, more = (
        read_quantity(text) for text in (f"1 {unit}", f"{factor!r} {first}", f"{factor * 1.001!r} {first}")
    )
    assert one and right and more
    assert near(one, right, tolerance=1e-4) and not near(one, more, tolerance=5e-4)
    for other in FACTORS:
        foreign = read_quantity(f"{factor!r} {next(iter(FACTORS[other]))}")
        assert foreign and near(one, foreign, tolerance=1e-4) is (other == dimension)


def test_all_units_that_are_known_stand_in_the_table() -> None:
    from simtrain.questions.widesearch import quantities

    known = {*quantities._UNITS, *quantities._ZEROS}  # pyright: ignore[reportPrivateUsage]
    assert known - {unit for _, unit, _ in PAIRS} == {unit for unit, _, _ in TEMPERATURES if unit in known}


# The boiling point of water, and absolute zero.
TEMPERATURES = [
    ("kelvin", 373.15, 0.0), ("°c", 100.0, -273.15), ("celsius", 100.0, -273.15), ("degrees celsius", 100.0, -273.15),
    ("摄氏度", 100.0, -273.15), ("°f", 212.0, -459.67), ("fahrenheit", 212.0, -459.67), ("degrees fahrenheit", 212.0, -459.67),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "boiling", "nothing"), TEMPERATURES)
def test_temperatures_are_compared_from_their_own_zeros(unit: str, boiling: float, nothing: float) -> None:
    for here, celsius in ((boiling, 100.0), (nothing, -273.15)):
        given, gold, off = (read_quantity(text) for text in (f"{here} {unit}", f"{celsius} °C", f"{celsius + 0.2} °C"))
        assert given and gold and off
        assert near(gold, given, tolerance=1e-5) and not near(off, given, tolerance=1e-5)


@pytest.mark.parametrize(
    ("magnitude", "factor"),
    [("thousand", 3), ("k", 3), ("million", 6), ("mn", 6), ("billion", 9), ("bn", 9), ("trillion", 12), ("tn", 12),
     ("千", 3), ("万", 4), ("百万", 6), ("亿", 8), ("万亿", 12)],
)  # fmt: skip
def test_magnitudes_are_powers_of_ten(magnitude: str, factor: int) -> None:
    found = read_quantity(f"2.5 {magnitude}")
    assert found and found.value == pytest.approx(2.5 * 10**factor) and found.dimension == ""


# By ISO 4217; the sign ¥ is of two, and not told apart from them.
CURRENCIES = {
    "USD": ["$", "US$", "USD", "dollar", "dollars"], "EUR": ["€", "EUR", "euro", "euros"], "GBP": ["£", "GBP"], "INR": ["₹", "INR"],
    "JPY": ["¥", "JPY", "CNY", "RMB", "元"],
}  # fmt: skip


@pytest.mark.parametrize(("code", "written"), [(code, one) for code, many in CURRENCIES.items() for one in many])
def test_currencies_are_told_by_sign_code_and_word_before_or_behind(code: str, written: str) -> None:
    for text in (f"{written} 12.5", f"12.5 {written}"):
        given = read_quantity(text)
        assert given
        for other in CURRENCIES:
            gold = read_quantity(f"12.5 {other}")
            assert gold and near(gold, given, tolerance=0.0) is (other == code)


def test_words_that_are_no_unit_measure_nothing() -> None:
    assert unit_of("m^2") == unit_of(" M². ") == unit_of("m2")
    assert unit_of("turnips") == unit_of("") == ("", 1.0, 0.0)

"""The charts of a drill's report: the cost of each perturbation, its growth with severity, recovery, and the steps after faults."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from simtrain.drills.aftermath import LOOKED_AT, REACTIONS, Reaction
from simtrain.drills.measures import Measures, Share
from simtrain.drills.statistics import Estimate
from simtrain.files.pages.drawing import Scale, area, bar, curve, dot, line, svg, text, ticks

WIDTH = 1000
NAMES = 300
VALUES = 190
ROW = 30
LONGEST = 41


ChartRow: TypeAlias = tuple[str, Sequence[Estimate | None]]
"""A name, and one estimate for each series (None if there is none)."""


def forest(rows: Sequence[ChartRow], *, title: str) -> str:
    """Return estimates with their intervals around zero, one row each; several series side by side in a row."""
    found = [estimate for _, estimates in rows for estimate in estimates if estimate is not None]
    # Zero is always in view, since the question is whether an interval contains it.
    low = min([0.0, *(estimate.interval[0] for estimate in found)]) * 100
    high = max([0.0, *(estimate.interval[1] for estimate in found)]) * 100
    room = max((high - low) * 0.06, 1.0)
    scale = Scale(low - room, high + room, NAMES + 16, WIDTH - VALUES)
    height = 30 + ROW * len(rows)
    parts = [_grid(scale, height)]
    for index, (name, estimates) in enumerate(rows):
        middle = 12 + ROW * index + ROW / 2
        parts.append(text(NAMES, middle + 4, name, kind="name", anchor="end", longest=LONGEST))
        shown: list[str] = []
        for series, estimate in enumerate(estimates):
            if estimate is None:
                shown.append("-")
                continue
            y = middle + (series - (len(estimates) - 1) / 2) * 10
            words = _estimate(estimate)
            begin, end = (scale.at(value * 100) for value in estimate.interval)
            parts.append(line(begin, y, end, y, kind=f"ci s{series}"))
            parts.append(dot(scale.at(estimate.mean * 100), y, kind=f"s{series}", tip=f"{name}: {words}"))
            # Two series have no room for their intervals in words; the tooltips hold them.
            shown.append(words if len(estimates) == 1 else f"{estimate.mean * 100:+.1f}".replace("-", "−"))
        parts.append(text(WIDTH - VALUES + 16, middle + 4, "  /  ".join(shown), kind="value"))
    return svg(parts, width=WIDTH, height=height, title=title)


def _estimate(estimate: Estimate) -> str:
    numbers = (f"{value * 100:+.1f}" for value in (estimate.mean, *estimate.interval))
    mean, low, high = (number.replace("-", "−") for number in numbers)
    return f"{mean}  [{low}, {high}]"


def _grid(scale: Scale, height: float) -> str:
    parts: list[str] = []
    for tick in ticks(scale.low, scale.high, about=6):
        x = scale.at(tick)
        parts.append(line(x, 8, x, height - 20, kind="zero" if tick == 0 else "grid"))
        number = f"{tick:+g}".replace("-", "−") if tick else "0"
        parts.append(text(x, height - 5, f"{number}{' pts' if tick == 0 else ''}", kind="tick", anchor="middle"))
    return "".join(parts)


def severity_curve(name: str, series: Sequence[tuple[Mapping[float, Share], float | None]]) -> str:
    """Return one small chart: success against the severity of one perturbation with its interval, for each series.

    The dashed line is the series' success in clean episodes.
    """
    width, height = 320, 190
    across, down = Scale(0, 1, 40, width - 12), Scale(0, 1, height - 28, 34)
    parts = [text(8, 16, name, kind="heading", longest=40)]
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(40, down.at(tick), width - 12, down.at(tick), kind="grid"))
        parts.append(text(34, down.at(tick) + 4, f"{tick:.0%}", kind="tick", anchor="end"))
    severities = sorted({severity for points, _ in series for severity in points})
    for severity in severities:
        parts.append(text(across.at(severity), height - 10, f"{severity:g}", kind="tick", anchor="middle"))
    for number, (points, clean) in enumerate(series):
        if clean is not None:
            parts.append(line(40, down.at(clean), width - 12, down.at(clean), kind=f"level s{number}"))
        shown = [(across.at(at), share) for at, share in sorted(points.items()) if share.value is not None]
        upper = [(x, down.at(share.high or 0)) for x, share in shown]
        lower = [(x, down.at(share.low or 0)) for x, share in shown]
        parts.append(area(upper, lower, kind=f"band s{number}"))
        parts.append(curve([(x, down.at(share.value or 0)) for x, share in shown], kind=f"curve s{number}"))
        parts += [
            dot(x, down.at(share.value or 0), kind=f"s{number}", tip=_share(share), radius=3.5) for x, share in shown
        ]
    return svg(parts, width=width, height=height, title=f"Success by severity: {name}")


def recovery(rows: Sequence[tuple[str, Sequence[Measures | None]]]) -> str:
    """Return recovery rates as bars with their intervals, and next to them the extra calls of recovered episodes."""
    extras = [one.extra_calls for _, found in rows for one in found if one is not None and one.extra_calls is not None]
    split = 690
    most = max([1.0, *(extra.interval[1] for extra in extras)])
    low = min([0.0, *(extra.interval[0] for extra in extras)])
    rates, calls = Scale(0, 1, NAMES + 16, split - 84), Scale(low, most, split + 30, WIDTH - 92)
    height = 54 + ROW * len(rows)
    parts = [
        text(NAMES + 16, 14, "recovered, of the episodes in which it fired", kind="heading"),
        text(split + 30, 14, "extra calls where recovered", kind="heading"),
    ]
    for scale, marks, form in ((rates, [0, 0.25, 0.5, 0.75, 1], "{:.0%}"), (calls, ticks(low, most, about=4), "{:g}")):
        for mark in marks:
            parts.append(line(scale.at(mark), 24, scale.at(mark), height - 20, kind="grid"))
            parts.append(text(scale.at(mark), height - 5, form.format(mark), kind="tick", anchor="middle"))
    for index, (name, found) in enumerate(rows):
        middle = 26 + ROW * index + ROW / 2
        parts.append(text(NAMES, middle + 4, name, kind="name", anchor="end", longest=LONGEST))
        thick = 14 / len(found)
        for series, one in enumerate(found):
            y = middle - 7 + series * thick
            if one is not None:
                parts += _recovered(one, rates=rates, calls=calls, y=y, thick=thick - 1, series=series)
        rate = " / ".join(
            "-" if one is None or one.recovery.value is None else f"{one.recovery.value:.0%}" for one in found
        )
        more = " / ".join(
            "-" if one is None or one.extra_calls is None else f"{one.extra_calls.mean:+.1f}" for one in found
        )
        parts.append(text(rates.end + 8, middle + 4, rate, kind="value small"))
        parts.append(text(WIDTH, middle + 4, more, kind="value small", anchor="end"))
    return svg(parts, width=WIDTH, height=height, title="Recovery rate and extra calls by perturbation")


def _recovered(found: Measures, *, rates: Scale, calls: Scale, y: float, thick: float, series: int) -> Iterator[str]:
    """Yield the marks of one series in a row of the recovery chart."""
    share, extra, centre = found.recovery, found.extra_calls, y + thick / 2
    if share.value is not None:
        yield bar(rates.begin, y, rates.at(share.value) - rates.begin, thick, kind=f"s{series}", tip=_share(share))
        yield line(rates.at(share.low or 0), centre, rates.at(share.high or 0), centre, kind="whisker")
    if extra is not None:
        low, high = extra.interval
        words = f"{extra.mean:+.2f} calls [{low:+.2f}, {high:+.2f}], {extra.cases} cases"
        yield line(calls.at(low), centre, calls.at(high), centre, kind=f"ci s{series}")
        yield dot(calls.at(extra.mean), centre, kind=f"s{series}", tip=words, radius=4)


def aftermath(rows: Sequence[tuple[str, Sequence[Mapping[Reaction, int]]]]) -> str:
    """Return the agent's reactions in the steps after a fault: a bar for each step, divided by kind of step."""
    gap = 18
    wide = (WIDTH - NAMES - 16 - gap * LOOKED_AT) / LOOKED_AT
    height = 30 + ROW * len(rows)
    parts = [
        text(NAMES + 16 + place * (wide + gap), 14, f"{ordinal} step after the fault", kind="heading")
        for place, ordinal in enumerate(("first", "second", "third")[:LOOKED_AT])
    ]
    for index, (name, steps) in enumerate(rows):
        y = 24 + ROW * index
        parts.append(text(NAMES, y + 14, name, kind="name", anchor="end", longest=LONGEST))
        for place, counts in enumerate(steps):
            x = NAMES + 16 + place * (wide + gap)
            total = sum(counts.values())
            for reaction in REACTIONS:
                count = counts.get(reaction, 0)
                if count:
                    part = count / total * wide
                    tip = f"{reaction}: {count} of {total} ({count / total:.0%})"
                    parts.append(bar(x, y, part - 1, 18, kind=f"r{REACTIONS.index(reaction)}", tip=tip))
                    x += part
    return svg(parts, width=WIDTH, height=height, title="Steps after a fault")


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "none"
    return f"{share.part} of {share.whole}: {share.value:.1%} [{share.low:.0%}, {share.high:.0%}]"

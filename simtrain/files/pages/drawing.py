"""Inline SVG: the few shapes that a report's charts consist of. All text in them is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; values outside the range are drawn at the edge."""
        # One wide interval must not draw over names and values beside the chart.
        inside = min(max(value, self.low), self.high)
        return self.begin + (inside - self.low) / (self.high - self.low) * (self.end - self.begin)


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Return about this many round values between two ends."""
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = -(-low // step)
    return [value for count in range(about * 3) if (value := (first + count) * step) <= high + step / 1e6]


def svg(parts: Sequence[str], *, width: float, height: float, title: str) -> str:
    """Return a whole picture that shrinks with its column; `title` is read out by screen readers."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "start", longest: int | None = None) -> str:
    """Return a line of text; one longer than `longest` characters is cut, and shown whole in the tooltip."""
    shown = words if longest is None or len(words) <= longest else f"{words[: longest - 1]}…"
    tip = f"<title>{escape(words)}</title>" if shown != words else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(shown)}{tip}</text>'


def line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    """Return a straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def bar(x: float, y: float, width: float, height: float, *, kind: str, tip: str = "") -> str:
    """Return a filled rectangle with a tooltip."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" rx="2" class="{kind}">'
        f"{_tip(tip)}</rect>"
    )


def dot(x: float, y: float, *, kind: str, tip: str = "", radius: float = 4.5) -> str:
    """Return a filled circle with a tooltip."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}">{_tip(tip)}</circle>'


def curve(points: Sequence[tuple[float, float]], *, kind: str) -> str:
    """Return a line through points."""
    return f'<polyline points="{_points(points)}" class="{kind}"/>'


def area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], *, kind: str) -> str:
    """Return the area between two lines."""
    return f'<polygon points="{_points([*upper, *reversed(lower)])}" class="{kind}"/>'


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""

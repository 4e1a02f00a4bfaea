"""The report as one HTML page: no script, nothing from elsewhere, all text escaped."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from simtrain.files.pages.drawing import Scale, curve, line, svg, text, ticks
from simtrain.files.pages.templates import style, templates
from simtrain.integrations.train.checkpoints import CURVE, read_curve
from simtrain.integrations.train.report import TrainingReport
from simtrain.integrations.train.tables import family_table, gain_table, learnt_table, name_of, success_table

WIDTH, HEIGHT = 420, 220
LEFT, BOTTOM = 44, 30


def page(report: TrainingReport) -> str:
    """Return the whole page."""
    return (
        templates(Path(__file__).parent)
        .get_template("report_page.html.jinja")
        .render(
            report=report,
            style=style(),
            success=success_table(report),
            gains=gain_table(report),
            families=family_table(report),
            learnt=learnt_table(report),
            curves=list(_curves(report)),
        )
    )


def _curves(report: TrainingReport) -> Iterable[str]:
    """Yield a chart for each training: the loss of every update, and the reward where there is one."""
    for result in report.results:
        for file in sorted(result.trained.folder.rglob(CURVE)):
            lines = read_curve(file)
            part = "" if file.parent == result.trained.folder else f", {file.parent.name}"
            for measure in ("loss", "reward"):
                points = [(float(one["step"]), float(one[measure])) for one in lines if measure in one]
                if len(points) > 1:
                    yield _chart(points, f"{measure}: {name_of(result)}, seed {result.trained.seed}{part}")


def _chart(points: Sequence[tuple[float, float]], title: str) -> str:
    low, high = min(0.0, *(y for _, y in points)), max(y for _, y in points)
    across = Scale(points[0][0], points[-1][0], LEFT, WIDTH - 12)
    # Pixels count from the top.
    up = Scale(low, high if high > low else low + 1, HEIGHT - BOTTOM, 26)
    parts = [text(LEFT, 14, title, kind="heading", longest=58)]
    for tick in ticks(up.low, up.high, about=4):
        parts.append(line(LEFT, up.at(tick), WIDTH - 12, up.at(tick), kind="grid"))
        parts.append(text(LEFT - 6, up.at(tick) + 4, f"{tick:g}", kind="tick", anchor="end"))
    for tick in ticks(across.low, across.high, about=5):
        parts.append(text(across.at(tick), HEIGHT - 10, f"{tick:g}", kind="tick", anchor="middle"))
    parts.append(curve([(across.at(x), up.at(y)) for x, y in points], kind="curve s0"))
    return svg(parts, width=WIDTH, height=HEIGHT, title=title)

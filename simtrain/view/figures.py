"""The figures of a run by scenario, perturbation, arm and agent, from its index, with 95 % intervals over cases."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from simtrain.contracts.trajectory import SUCCESS
from simtrain.files.pages.drawing import Scale, bar, line, svg, text, ticks
from simtrain.runs.intervals import Interval, share_interval
from simtrain.runs.run_index import RunIndex, source
from simtrain.view.filters import Filter

Group: TypeAlias = Literal["scenario", "suite", "perturbation", "arm", "agent", "stop", "world_seed", "all"]

GROUPS: Sequence[Group] = ("suite", "scenario", "perturbation", "arm", "agent", "world_seed", "stop")
"""By what the page of figures groups, where there is more than one group."""

_BY: dict[Group, str] = {
    "suite": "iif(instr(scenario, '/'), substr(scenario, 1, instr(scenario, '/') - 1), scenario)",
    "perturbation": "label.value",
    "all": "'all'",
}
"""Groups that are no column: the suite is the first part of a scenario's name."""

_FIRED = "episodes, json_each(iif(fired_json = '[]', '[\"none\"]', fired_json)) as label"
"""An episode once for each perturbation that took effect in it."""

_SUMS = ("episodes", "graded", "solved", "steps", "tokens", "seconds")

WIDTH, NAMES, VALUES, ROW = 900, 260, 190, 24


@dataclass(frozen=True)
class GroupFigures:
    """The figures of one group of episodes. `success` is of those that were graded; None without any."""

    name: str
    episodes: int
    graded: int
    solved: int
    interval: Interval
    steps: float
    tokens: float
    seconds: float

    @property
    def success(self) -> float | None:
        """Return the share of solved episodes."""
        return self.solved / self.graded if self.graded else None


def figures(index: RunIndex, chosen: Filter, by: Group) -> list[GroupFigures]:
    """Return the figures of each group, by name. An episode counts under each perturbation that took effect in it."""
    return pooled_figures([index], chosen, by)


def pooled_figures(indexes: Sequence[RunIndex], chosen: Filter, by: Group) -> list[GroupFigures]:
    """Return the figures of each group over several runs. All attempts at a case count as one cluster, whichever run they are in."""
    groups: dict[str, dict[tuple[str, str], Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    if len(indexes) == 1:
        return _by_shape(indexes[0], chosen, by)
    for index in indexes:
        for row in index.select(_cases(chosen, by), chosen.values):
            groups[str(row["name"])][row["scenario"], row["episode"]].update({key: row[key] for key in _SUMS})
    return [_group(name, [(1, case) for case in cases.values()]) for name, cases in sorted(groups.items())]


def _by_shape(index: RunIndex, chosen: Filter, by: Group) -> list[GroupFigures]:
    """Return the figures of one run, whose cases SQLite counts: those with as many graded and solved episodes together."""
    groups: dict[str, list[tuple[int, Mapping[str, float]]]] = defaultdict(list)
    for row in index.select(
        f"select name, graded, solved, count(*) as cases, {', '.join(f'sum({key}) as {key}s' for key in _SUMS)}"
        f" from ({_cases(chosen, by)}) group by name, graded, solved",
        chosen.values,
    ):
        groups[str(row["name"])].append((row["cases"], {key: row[f"{key}s"] for key in _SUMS}))
    return [_group(name, shapes) for name, shapes in sorted(groups.items())]


def _cases(chosen: Filter, by: Group) -> str:
    """Return the query of a row for each group and case."""
    table = _FIRED if by == "perturbation" else source(chosen.condition)
    return (
        f"select {_BY.get(by, by)} as name, scenario, episode, count(*) as episodes, count(reward) as graded,"
        f" sum(coalesce(reward >= {SUCCESS}, 0)) as solved, sum(steps) as steps, sum(tokens) as tokens,"
        f" sum(coalesce(seconds, 0)) as seconds from {table} where {chosen.condition}"
        f" group by {_BY.get(by, by)}, scenario, episode"
    )


def _group(name: str, shapes: Sequence[tuple[int, Mapping[str, float]]]) -> GroupFigures:
    """Return the figures of a group from its cases: how many there are of a kind, and what those add up to."""
    total = {key: sum(shape[key] for _, shape in shapes) for key in _SUMS}
    episodes = int(total["episodes"])
    clusters = [
        cluster
        for count, shape in shapes
        for cluster in [(int(shape["solved"]) // count, int(shape["graded"]) // count)] * count
    ]
    return GroupFigures(
        name,
        episodes,
        int(total["graded"]),
        int(total["solved"]),
        share_interval(clusters),
        total["steps"] / episodes,
        total["tokens"] / episodes,
        total["seconds"] / episodes,
    )


def success_chart(groups: Sequence[GroupFigures], title: str) -> str:
    """Return the success of groups as bars with their intervals."""
    scale = Scale(0, 100, NAMES + 14, WIDTH - VALUES)
    height = 26 + ROW * len(groups)
    parts = [line(scale.at(tick), 4, scale.at(tick), height - 20, kind="grid") for tick in ticks(0, 100)]
    parts += [text(scale.at(tick), height - 6, f"{tick:g}", kind="tick", anchor="middle") for tick in ticks(0, 100)]
    for place, group in enumerate(groups):
        middle = 4 + ROW * place + ROW / 2
        parts.append(text(NAMES, middle + 4, group.name or "no arm", kind="name", anchor="end", longest=38))
        parts += _bar(group, scale, middle)
    return svg(parts, width=WIDTH, height=height, title=title)


def _bar(group: GroupFigures, scale: Scale, middle: float) -> list[str]:
    low, high = group.interval
    if group.success is None or low is None or high is None:
        return [text(WIDTH - VALUES + 14, middle + 4, "not graded", kind="value")]
    words = f"{group.success:.1%}  [{100 * low:.0f}, {100 * high:.0f}]  {group.solved:,} of {group.graded:,}"
    return [
        bar(
            scale.at(0),
            middle - 6,
            scale.at(100 * group.success) - scale.at(0),
            12,
            kind="s0",
            tip=f"{group.name}: {words}",
        ),
        line(scale.at(100 * low), middle, scale.at(100 * high), middle, kind="whisker"),
        text(WIDTH - VALUES + 14, middle + 4, words, kind="value"),
    ]

"""What the levels of the shipped ladder measure: the mean reward of three agents on each, and the picture of it in the docs.

`python benchmarks/ladder_levels.py --tasks 40 --svg docs/levels.svg`. Perturbations are left out, since the oracle does not try again.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from statistics import fmean

from simtrain import rollout
from simtrain.contracts.scenario import Episode
from simtrain.curricula.levels import LevelScenario, load_ladder

AGENTS = {"oracle": "#1b7f5c", "search_systematic": "#2f5fd0", "search_naive": "#b8442f"}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 320, 46, 20, 150, 46


def drawn(families: list[LevelScenario], count: int) -> list[Episode]:
    """So many episodes of a level, from all its worlds in turn."""
    turns = chain.from_iterable(zip_longest(*(family.episodes for family in families)))
    return list(islice((episode for episode in turns if episode is not None), count))


async def played(agent: str, episodes: list[Episode]) -> tuple[float, float]:
    """Mean reward and mean number of calls."""
    trajectories = [await rollout(episode, agent) for episode in episodes]
    return fmean(one.reward or 0.0 for one in trajectories), fmean(len(one.steps) for one in trajectories)


async def measured(count: int) -> list[tuple[str, dict[str, tuple[float, float]]]]:
    """For each level its name, and for each agent mean reward and mean calls."""
    ladder = load_ladder("ladder")
    levels = tuple(level.model_copy(update={"perturbations": []}) for level in ladder.spec.levels)
    calm = replace(ladder, spec=ladder.spec.model_copy(update={"levels": levels}))
    found: list[tuple[str, dict[str, tuple[float, float]]]] = []
    for level, families in zip(levels, calm.families("train"), strict=True):
        episodes = drawn(families, count)
        found.append((level.name, {agent: await played(agent, episodes) for agent in AGENTS}))
        cells = " | ".join(f"{reward:.2f} ({calls:.1f})" for reward, calls in found[-1][1].values())
        print(f"| {level.name} | {len(episodes)} | {cells} |", flush=True)
    return found


def picture(levels: list[tuple[str, dict[str, tuple[float, float]]]]) -> str:
    """The mean rewards as lines over the levels, as SVG."""
    across = (WIDTH - LEFT - RIGHT) / (len(levels) - 1)

    def place(number: int, reward: float) -> tuple[float, float]:
        return LEFT + number * across, TOP + (1 - reward) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        _, y = place(0, mark)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{mark:g}</text>')
    for number, (name, _) in enumerate(levels):
        x, _ = place(number, 0)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 18}" text-anchor="middle" fill="#333">{name}</text>')
    ends = sorted(AGENTS, key=lambda agent: -levels[-1][1][agent][0])
    previous = -100.0
    for agent in ends:
        points = [place(number, rewards[agent][0]) for number, (_, rewards) in enumerate(levels)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{AGENTS[agent]}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{AGENTS[agent]}"/>' for x, y in points]
        previous = max(points[-1][1] + 4, previous + 16)
        parts.append(f'<text x="{points[-1][0] + 10:.1f}" y="{previous:.1f}" fill="{AGENTS[agent]}">{agent}</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img"'
        f' aria-label="Mean reward of three agents on each level">\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=40, help="tasks of each level")
    parser.add_argument("--svg", type=Path, help="file for the picture")
    asked = parser.parse_args()
    print(f"| level | tasks | {' | '.join(AGENTS)} |")
    results = asyncio.run(measured(asked.tasks))
    if asked.svg:
        asked.svg.write_text(picture(results), encoding="utf-8")

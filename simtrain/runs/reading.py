"""A trajectory found in a run, and printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simtrain.contracts.drawing import DiffDrawing
from simtrain.runs.typed_calls import edited_file, typed_command, typed_keys
from simtrain.values.types import encode

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from simtrain.contracts.trajectory import Step, Trajectory

MAX_SHOWN = 600
MOST_LINES = 12


def found(
    run: Path, episode: str | None, *, arm: str | None = None, attempt: int | None = None, failed: bool = False
) -> Trajectory:
    """Return the first trajectory of a run that fits: an id or SCENARIO:ID, an arm, an attempt, no full reward. Raises InputError."""
    from simtrain.contracts.trajectory import SUCCESS
    from simtrain.runs.run_index import RunIndex
    from simtrain.values.errors import InputError

    scenario, _, wanted = (episode or "").rpartition(":")
    conditions: dict[str, object] = {
        "episode = :episode": wanted or None,
        "scenario = :scenario": scenario or None,
        "arm = :arm": arm,
        "attempt = :attempt": attempt,
        "coalesce(reward, 0) < :success": SUCCESS if failed else None,
    }
    asked = {text: value for text, value in conditions.items() if value is not None}
    with RunIndex(run) as index:
        index.refresh()
        number = index.first(" and ".join(asked), {text.rpartition(":")[2]: value for text, value in asked.items()})
        if number is not None:
            return index.read(number)
        other = index.first()
        if other is None:
            raise InputError("the run holds no trajectory yet", file=run)
        played = index.read(other)
    example = f"{played.scenario}:{played.episode}" + (f" of arm {played.arm}" if played.arm else "")
    raise InputError("no trajectory fits", remedy=f"it holds {example}, for instance" if episode else None, file=run)


def print_trajectory(screen: Console, trajectory: Trajectory, *, full: bool = False) -> None:
    """Print prompt, turns, perturbations, answer and rewards; long texts are cut unless `full`."""
    from rich.panel import Panel
    from rich.text import Text

    key = f"{trajectory.scenario}  {trajectory.episode}  seed {trajectory.seed}  attempt {trajectory.attempt}"
    key += f"  arm {trajectory.arm}" if trajectory.arm else ""
    screen.print()
    screen.print(Panel(Text(trajectory.prompt.strip()), title=Text(key), title_align="left"))
    for number, turn in enumerate(trajectory.turns, start=1):
        if turn.by is not None:
            screen.print(Text(f"{number:>3}  by {turn.by}", style="magenta"))
        if turn.reasoning:
            screen.print(Text(f"{number:>3}  thinks: {cut(turn.reasoning, full)}", style="dim"))
        if turn.text:
            screen.print(Text(f"{number:>3}  says: {cut(turn.text, full)}"))
        for step in turn.steps:
            _print_step(screen, number, step, full)
    _print_end(screen, trajectory)


def trajectory_text(trajectory: Trajectory, *, width: int = 100) -> str:
    """Return a trajectory as `simtrain show` prints it: plain lines of at most `width` characters, safe for a terminal."""
    from io import StringIO

    from rich.console import Console

    from simtrain.values.terminal_text import fit

    lines = StringIO()
    screen = Console(
        file=lines, width=width, color_system=None, force_terminal=False, markup=False, highlight=False, emoji=False
    )
    print_trajectory(screen, trajectory)
    return "\n".join(line.rstrip() for line in fit(lines.getvalue()).strip("\n").splitlines())


def _print_step(screen: Console, number: int, step: Step, full: bool) -> None:
    from rich.text import Text

    pressed = typed_keys(step)
    typed = "   ".join(pressed) if pressed is not None else typed_command(step)
    # What the model wrote, since the parsed arguments of a malformed call are empty.
    arguments = step.action.malformed if step.action.malformed is not None else encode(step.action.arguments)
    head = (step.action.tool, "bold cyan") if typed is None else (typed, "bold")
    edited = edited_file(step)
    said = f" {edited if edited is not None else cut(arguments, full)}"
    screen.print(Text.assemble(f"{number:>3}  ", head, said if typed is None else ""))
    alike = all(event.clean is not None and event.clean.text == step.observation.text for event in step.events)
    for event in step.events:
        clean = cut(event.clean.text, full) if event.clean else "unknown"
        without = "the reply is the same without it" if alike else f"without it: {clean}"
        screen.print(Text(f"     perturbed by {event.label}; {without}", style="yellow"))
    observation = step.observation
    style = "red" if observation.is_error else "green"
    changed = (observation.structured or {}).get("diff")
    if isinstance(changed, str) and changed and alike:
        _print_diff(screen, DiffDrawing(changed))
        return
    if pressed is not None:
        # A screen is shown whole, each of its lines on one line.
        for row in observation.text.split("\n"):
            screen.print(Text(f"     │ {row}".rstrip(), style=style), no_wrap=True, overflow="ellipsis")
    elif typed is None and "total_lines" in (observation.structured or {}):
        _print_lines(screen, observation.text, style, full)
    elif typed is None:
        screen.print(Text(f"     {cut(observation.text, full)}", style=style))
    elif observation.text:
        # As on the terminal itself: columns stay columns.
        screen.print(Text(_both_ends(observation.text, full), style=style))


def _print_lines(screen: Console, text: str, style: str, full: bool) -> None:
    """Print the numbered lines of a file, one in a row: the first ones unless `full`."""
    from rich.text import Text

    rows = text.split("\n")
    shown = rows if full else rows[:MOST_LINES]
    for row in shown:
        screen.print(Text(row.expandtabs(), style=style), no_wrap=True, overflow="ellipsis")
    if len(rows) > len(shown):
        screen.print(Text(f"     ... {len(rows) - len(shown)} more lines", style="dim"))


def _both_ends(text: str, full: bool) -> str:
    """Return what a command printed, cut in the middle unless `full`: what tests came to stands at the end."""
    if full or len(text) <= MAX_SHOWN:
        return text
    head, tail = text[: MAX_SHOWN // 3], text[-MAX_SHOWN * 2 // 3 :]
    return f"{head.rpartition(chr(10))[0] or head}\n... ({len(text)} characters)\n{tail.partition(chr(10))[2] or tail}"


def _print_diff(screen: Console, drawing: DiffDrawing) -> None:
    from rich.text import Text

    for line, look in drawing.lines:
        style = {"good": "green", "bad": "red", "soft": "dim"}.get(look, "")
        screen.print(Text(f"     {line}".rstrip(), style=style), no_wrap=True, overflow="ellipsis")


def _print_end(screen: Console, trajectory: Trajectory) -> None:
    from rich.text import Text

    stop = trajectory.stop
    detail = f" ({stop.detail})" if stop.detail else ""
    screen.print(
        Text(
            f"     stop: {stop.reason}{detail}"
            + (f", answer: {trajectory.answer}" if trajectory.answer is not None else "")
        )
    )
    for table, rows in trajectory.changes.items():
        screen.print(Text(f"     changed: {len(rows)} in {table}", style="dim"))
    for reward in trajectory.rewards:
        value = f"failed: {reward.error}" if reward.value is None else f"{reward.value:.2f}"
        gate = " (gate)" if reward.gate else ""
        screen.print(
            Text(
                f"     {reward.grader}{gate}: {value}  {cut(encode(reward.detail), False) if reward.detail else ''}".rstrip(),
                style="dim",
            )
        )
    total = "none" if trajectory.reward is None else f"{trajectory.reward:.2f}"
    screen.print(Text(f"     reward: {total}", style="bold"))


def cut(text: str, full: bool) -> str:
    """Return a text, cut to what fits unless `full`."""
    return text if full or len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} ... ({len(text)} characters)"

"""The options that several commands share: of those that play episodes into a run folder, and of those on built search worlds."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from simtrain.cli.completing import world_names
from simtrain.values.errors import InputError

MOST_SEEDS = 100_000


class SplitChoice(StrEnum):
    """The splits of simtrain.curricula.curriculum_file, for which `simtrain --help` is not to wait."""

    train = "train"
    validation = "validation"
    test = "test"


class SplitByChoice(StrEnum):
    """The properties of simtrain.curricula.hash_splits."""

    seed = "seed"
    family = "family"
    perturbation = "perturbation"
    tools = "tools"


SplitName: TypeAlias = Annotated[
    SplitChoice | None, typer.Option("--split", help="Only what belongs to this split, by a hash of one property.")
]
SplitProperty: TypeAlias = Annotated[
    SplitByChoice, typer.Option("--split-by", help="The property: the world's seed, family, perturbation or tools.")
]

Knobs: TypeAlias = Annotated[
    list[str] | None, typer.Option("--with", "-w", help="A knob of the agent, name=value; may be repeated.")
]
Attempts: TypeAlias = Annotated[int, typer.Option("--attempts", "-k", min=1, help="How often each case is played.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", "-s", help="Seed of samples, faults and policies.")]
Concurrency: TypeAlias = Annotated[
    int, typer.Option("--concurrency", "-c", min=1, help="Episodes open at once in each process.")
]
Workers: TypeAlias = Annotated[int, typer.Option("--workers", min=1, help="Processes.")]
Out: TypeAlias = Annotated[
    Path | None, typer.Option("--out", "-o", help="Run folder; a new one under runs/ without it.")
]
Resume: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Go on with the run in --out, or begin it: play only what is missing.")
]
Via: TypeAlias = Annotated[
    str | None, typer.Option("--via", help="Let the agent play through a transport: mcp, or mcp_in_process.")
]
AllowLive: TypeAlias = Annotated[
    bool, typer.Option("--allow-live", help="Let scenarios start real servers, as the world model live does.")
]
WorldName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="A search world by name or YAML file, or a built file.", metavar="WORLD", autocompletion=world_names
    ),
]
Pages: TypeAlias = Annotated[int | None, typer.Option("--pages", help="About how many pages.")]
WorldSeed: TypeAlias = Annotated[int | None, typer.Option("--seed", help="Another seed than the file's.")]


def seeds_from(text: str | None) -> list[int]:
    """Return seeds written like `1..80` or `3,5,9..12`; none for no text. Raises InputError."""
    found: list[int] = []
    for part in (text or "").split(",") if text is not None else ():
        first, dots, last = part.strip().partition("..")
        try:
            low = int(first)
            high = int(last) if dots else low
        except ValueError:
            raise InputError(f"--seeds: {part!r} is no seed", remedy="write it like 1..80 or 3,5,9..12") from None
        if low > high:
            raise InputError(f"--seeds: {part.strip()} runs backwards", remedy=f"write {high}..{low}")
        if len(found) + high - low >= MOST_SEEDS:
            raise InputError(f"--seeds: more than {MOST_SEEDS} worlds", remedy="name fewer")
        found += range(low, high + 1)
    if len(set(found)) < len(found):
        raise InputError("--seeds names a seed twice", remedy="name each once")
    return found

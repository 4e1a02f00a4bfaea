"""The options that several commands share: of those that play episodes into a run folder, and of those on built search worlds."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from simtrain.cli.completing import world_names
from simtrain.values.errors import InputError
from simtrain.values.seed_ranges import seeds_from

# The types of simtrain.curricula once more, for which `simtrain --help` is not to wait.
Split: TypeAlias = Literal["train", "validation", "test"]
SplitBy: TypeAlias = Literal["seed", "family", "perturbation", "tools"]

SplitName: TypeAlias = Annotated[
    Split | None, typer.Option("--split", help="Only what belongs to this split, by a hash of one property.")
]
SplitProperty: TypeAlias = Annotated[
    SplitBy, typer.Option("--split-by", help="The property: the world's seed, family, perturbation or tools.")
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


def seeds_of(text: str | None) -> list[int]:
    """Return the seeds that `--seeds` names. Raises InputError."""
    try:
        return seeds_from(text)
    except InputError as error:
        raise error.at(place="--seeds") from None

"""The options shared by all commands that play episodes into a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

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

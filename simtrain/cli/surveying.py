"""`simtrain validate --perturbations`: the solvability of families under packs, as a table or JSON, and the proofs as a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from simtrain.runs.solvability.search import Label
    from simtrain.runs.solvability.survey import Job, Pair, SurveyRow

SHOWN = 8
_OPEN: tuple[Label, ...] = ("unproved", "unnoticeable")


def survey_packs(
    jobs: Sequence[Job],
    agents: Sequence[str],
    *,
    at_least: float,
    workers: int,
    traces: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Search for proofs, let the `agents` of the jobs play the same pairs, and print the results.

    Exits with 1 when less than `at_least` of the pairs is proved. Raises InputError.
    """
    from simtrain.agents.select import build_agent
    from simtrain.cli.progress import Counting
    from simtrain.runs.solvability.survey import (
        declined_share,
        earned_share,
        missed,
        proved_share,
        rows_of,
        survey,
    )

    # Built once here, so that an unknown agent is refused before hours of search.
    for name in agents:
        build_agent(name)
    with Counting("solving", total=len(jobs), quiet=as_json) as counting:
        pairs = survey(jobs, workers=workers, on_done=counting.advance)
    if traces is not None:
        _write_traces(traces, pairs)
    rows, share = rows_of(pairs), proved_share(pairs)
    # Nothing recoverable fired: then nothing had to be proved.
    enough = share is None or share >= at_least
    played = {name: {"earned": earned_share(pairs, name), "declined": declined_share(pairs, name)} for name in agents}
    if html is not None:
        from simtrain.files.jsonl import write_whole
        from simtrain.validation.page import survey_page

        write_whole(html, survey_page(rows, pairs, share=share, at_least=at_least, agents=played))
    if as_json:
        print_json(
            {
                "ok": enough,
                "share": share,
                "at_least": at_least,
                "agents": played,
                "perturbations": [row.facts() for row in rows],
                "not_proved": [pair.facts() for pair in pairs if pair.counts and pair.solution.label != "proved"],
                "missed": {name: [pair.facts() for pair in missed(pairs, name)] for name in agents},
            }
        )
    else:
        _print(rows, pairs)
        line = "nothing recoverable fired" if share is None else f"{share:.1%} of the recoverable pairs are proved"
        console().print(f"{line}; asked for: {at_least:.0%}")
        for name, shares in played.items():
            earned, declined = (_percent(shares[key]) for key in ("earned", "declined"))
            console().print(f"{name} solves {earned} of the proved pairs and declines {declined} of the unsolvable")
    if not enough:
        sys.exit(1)


def _write_traces(file: Path, pairs: Sequence[Pair]) -> None:
    """Write all proofs, one per line."""
    from simtrain.files.jsonl import write_whole
    from simtrain.values.types import encode

    write_whole(file, "".join(f"{encode(pair.proof)}\n" for pair in pairs if pair.proof is not None and pair.counts))


def _print(rows: Sequence[SurveyRow], pairs: Sequence[Pair]) -> None:
    for _, found in groupby(rows, key=lambda row: row.pack):
        console().print(_table(list(found)))
    missed = [pair for pair in pairs if pair.counts and pair.recoverable and pair.solution.label != "proved"]
    for pair in missed[:SHOWN]:
        console().print(
            f"{pair.family} {pair.episode} {pair.pack}/{pair.label}: {pair.solution.label}: {pair.solution.reason}"
        )
    if len(missed) > SHOWN:
        console().print(f"... and {len(missed) - SHOWN} more: see --json")


def _table(rows: Sequence[SurveyRow]) -> Table:
    """Return the figures of one pack."""
    from simtrain.cli.tables import figures_table

    names = list(rows[0].earned)
    # With agents, the table has room for only one column of undecided pairs.
    labels: dict[str, tuple[Label, ...]] = {"unsolvable": ("unsolvable",)}
    labels |= {"open": _OPEN} if names else {label: (label,) for label in _OPEN}
    legend = (
        "pairs: a case and the perturbation, where it fired, of those tried; proved: share that can provably be solved; "
        "unsolvable: provably not; "
        + ("open: neither is known" if names else "unproved: neither is known; unnoticeable: no reply tells the agent")
        + (f"; {', '.join(names)}: share of the proved that it solves" if names else "")
    )
    table = figures_table("perturbation", "pairs", "proved", *labels, *names, title=rows[0].pack, legend=legend)
    for row in rows:
        others = (str(sum(row.labels[label] for label in found)) for found in labels.values())
        earned = (_percent(row.earned.get(name)) for name in names)
        table.add_row(row.label, f"{row.pairs} of {row.tried}", _percent(row.share), *others, *earned)
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"

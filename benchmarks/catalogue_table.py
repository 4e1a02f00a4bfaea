"""Print the table of docs/drills.md: every mechanism of the catalogue alone over one case of each service family that ships.

    python benchmarks/catalogue_table.py [--workers 2] [FAMILY...]

Pairs are those of a case and a perturbation that fired on it; the shares of the agents are of the proved pairs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from simtrain.scenarios.find import find_scenarios

AGENTS = ("resilient", "naive")
SUITES = ("airline", "forge", "helpdesk", "mailbox", "messenger", "notes", "office", "shop", "tracker")


def main() -> int:
    """Survey and print; the exit code of the survey where it failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=SUITES)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    agents = [part for agent in AGENTS for part in ("--agent", agent)]
    command = [
        sys.executable,
        "-m",
        "simtrain",
        "validate",
        *options.families,
        "-p",
        "catalogue",
        "--alone",
        "--cases",
        "1",
    ]
    command += [*agents, "--workers", str(options.workers), "--at-least", "0", "--json"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        sys.stderr.write(told.stderr)
        return told.returncode
    families = {name for suite in options.families for name in find_scenarios(suite)}
    print("\n".join(table(json.loads(told.stdout), len(families))))
    return 0


def table(survey: dict[str, Any], families: int) -> list[str]:
    """The lines of the table, the figures over all of it first."""
    rows = [row for row in survey["perturbations"] if row["pairs"]]
    sums = {key: sum(row[key] for row in rows if row["recoverable"]) for key in ("pairs", "proved", "unsolvable")}
    whole = ", ".join(f"`{name}` {_share(found['earned'])}" for name, found in survey["agents"].items())
    return [
        f"{families} families, {sums['pairs']:,} pairs of a case and a recoverable perturbation that fired;"
        f" {_share(survey['share'])} proved, {sums['unsolvable']} unsolvable; of all proved pairs {whole}.",
        "",
        f"| perturbation | pairs | proved | {' | '.join(f'`{name}`' for name in AGENTS)} |",
        f"|{'---|' * (3 + len(AGENTS))}",
        *(
            f"| `{row['perturbation']}` | {row['pairs']} | {_share(row['share'])} | "
            f"{' | '.join(_share(row['agents'][name]) for name in AGENTS)} |"
            for row in rows
        ),
        "",
        f"Nothing to change was found by: {', '.join(row['perturbation'] for row in survey['perturbations'] if not row['pairs']) or '-'}",
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


if __name__ == "__main__":
    sys.exit(main())

"""A verification as a report: its facts as JSON, and as a page of HTML with every divergence, both replies side by side."""

from pathlib import Path

import orjson

from simtrain.files.jsonl import write_whole
from simtrain.files.pages.templates import style, templates
from simtrain.mcp.verify.findings import DEMANDED, Findings, Thresholds
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, encode

FORMAT = "simtrain-verification/1"
ENDINGS = (".json", ".html")


def facts(findings: Findings, thresholds: Thresholds) -> JsonObject:
    """Return all findings. `problems` is empty if every threshold is reached; `shortfalls` names the shares below
    their threshold.
    """
    shares = findings.shares()
    return {
        "format": FORMAT,
        "name": findings.name,
        "cassette": findings.past,
        "seed": findings.seed,
        "total": findings.total.facts(),
        "shares": shares,
        "shortfalls": [] if findings.past else [name for name, least in DEMANDED.items() if shares[name] < least],
        "thresholds": {"overall": thresholds.overall, "per_tool": thresholds.per_tool, "surface": thresholds.surface},
        "problems": findings.below(thresholds),
        "surface": {
            "equal": findings.shown.equal,
            "of": findings.shown.of,
            "eras": [surface.facts() for surface in findings.surfaces],
        },
        "tools": {tool: figures.facts() for tool, figures in findings.tools().items()},
        "divergences": findings.divergences(),
    }


def check_ending(out: Path) -> None:
    """Raise InputError if the file's suffix is neither .json nor .html."""
    if out.suffix not in ENDINGS:
        raise InputError(f"{out} is not a file for a report", remedy="end it with .json or .html")
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent}", remedy="make it first")


def write(report: JsonObject, out: Path) -> None:
    """Write the facts to a file atomically, in the format of its suffix. Raises InputError."""
    check_ending(out)
    write_whole(out, page(report) if out.suffix == ".html" else report)


def page(facts: JsonObject) -> str:
    """Return the page of a report (`report.facts`). Replies are untrusted, so every text is escaped."""
    return (
        templates(Path(__file__).parent)
        .get_template("verification.html.jinja")
        .render(style=style(), facts=facts, sides=_sides(facts), pretty=_pretty, line=encode)
    )


def _sides(facts: JsonObject) -> str:
    return f"today against {facts['cassette']}" if facts["cassette"] else "stand-in against real server"


def _pretty(value: JsonValue) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()

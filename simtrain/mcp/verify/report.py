"""A verification as a report: its facts as JSON, and as a page of HTML with every divergence, both replies side by side."""

from html import escape
from pathlib import Path

import orjson

from simtrain.files.jsonl import write_whole
from simtrain.mcp.verify.findings import DEMANDED, Findings, Thresholds
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue

FORMAT = "simtrain-verification/1"
ENDINGS = (".json", ".html")

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1c2330; }
table { border-collapse: collapse; } th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #dde2ea; }
th:first-child, td:first-child { text-align: left; } tr.low td { color: #b3261e; }
details { border: 1px solid #dde2ea; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; } summary small { color: #5b6575; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
pre { background: #f5f7fa; border-radius: 6px; padding: .6rem; overflow: auto; max-height: 30rem; white-space: pre-wrap; }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #d9dfe8; } pre { background: #1d232d; } th, td, details { border-color: #333c49; }
}
"""


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
    title = f"{facts['name']}: {_sides(facts)}"
    rows = "".join(_row(name, figures) for name, figures in facts["tools"].items())
    found = "".join(_divergence(divergence) for divergence in facts["divergences"])
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in facts["problems"])
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><style>{STYLE}</style>
<h1>{escape(title)}</h1>
<p>{facts["total"]["agreement"]:.1%} of {facts["total"]["calls"]} calls agree (seed {facts["seed"]}).</p>
<ul>{problems}</ul>
<table><tr><th>tool<th>calls<th>agree<th>valid<th>stateful</tr>{rows}</table>
{_surface(facts["surface"])}
<h2>{len(facts["divergences"])} divergences</h2>
{found}
</html>
"""


def _sides(facts: JsonObject) -> str:
    return f"today against {facts['cassette']}" if facts["cassette"] else "stand-in against real server"


def _surface(surface: JsonObject) -> str:
    found = [f"<h2>What both show: {surface['equal']} of {surface['of']} parts are equal</h2>"]
    for shown in surface["eras"]:
        rows = "".join(
            f"<tr><td>{escape(part)}<td>{count['equal']}<td>{count['of']}</tr>"
            for part, count in shown["parts"].items()
        )
        found.append(f"<table><tr><th>{escape(shown['era'])}<th>equal<th>of</tr>{rows}</table>")
        for item in shown["differences"]:
            sides = f"<div>real server<pre>{_json(item['real'])}</pre></div><div>stand-in<pre>{_json(item['stand_in'])}</pre></div>"
            found.append(
                f'<details><summary>{escape(item["place"])}</summary><div class="sides">{sides}</div></details>'
            )
    return "\n".join(found)


def _row(name: str, figures: JsonObject) -> str:
    low = ' class="low"' if figures["agreed"] < figures["calls"] else ""
    shares = "".join(f"<td>{figures[key]:.1%}" for key in ("agreement", "valid", "stateful"))
    return f"<tr{low}><td>{escape(name)}<td>{figures['calls']}{shares}</tr>"


def _divergence(divergence: JsonObject) -> str:
    place = f"sequence {divergence['sequence']}, call {divergence['index']}, {divergence['kind']}"
    before = [f"{call['tool']} {orjson.dumps(call['arguments']).decode()}" for call in divergence["before"]]
    return f"""<details><summary><b>{escape(divergence["tool"])}</b> {escape(divergence["problem"])}
<small>{escape(place)}</small></summary>
<pre>{_json(divergence["arguments"])}</pre>
<div class="sides"><div>real server<pre>{_json(divergence["real"])}</pre></div>
<div>stand-in<pre>{_json(divergence["stand_in"])}</pre></div></div>
<details><summary>{len(before)} calls before</summary><pre>{escape(chr(10).join(before))}</pre></details></details>
"""


def _json(value: JsonValue) -> str:
    return escape(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())

"""The findings of a drill as SARIF 2.1.0: a rule for each kind of finding, a result for each finding and family."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from simtrain.drills.findings import MEANINGS, Finding, episode_command, shortest
from simtrain.drills.outcome import Outcome
from simtrain.drills.report import Report, RunReport
from simtrain.runs.run_folder import read_facts
from simtrain.values.terminal_text import fit
from simtrain.values.types import JsonObject
from simtrain.values.version import VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

FINGERPRINT = "simtrainFinding/v1"


def sarif(report: Report, *, root: Path) -> JsonObject:
    """Return the log, with a run for each agent. Paths of scenario files are relative to `root`."""
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(run, root) for run in report.runs]}


def _run(run: RunReport, root: Path) -> JsonObject:
    files = _files(run, root)
    return {
        "tool": {"driver": {"name": "simtrain", "version": VERSION, "rules": [_rule(kind) for kind in MEANINGS]}},
        # Keeps the alerts of two agents apart where both logs are uploaded.
        "automationDetails": {"id": f"simtrain-drill/{fit(run.agent)}/"},
        "columnKind": "unicodeCodePoints",
        "results": [result for finding in run.findings for result in _results(run, finding, files)],
    }


def _rule(kind: str) -> JsonObject:
    return {
        "id": _identifier(kind),
        "name": "".join(word.capitalize() for word in kind.split()),
        "shortDescription": {"text": kind.capitalize()},
        "fullDescription": {"text": MEANINGS[kind]},
        "help": {"text": MEANINGS[kind]},
        "defaultConfiguration": {"level": "warning"},
    }


def _results(run: RunReport, finding: Finding, files: Mapping[str, str]) -> Iterator[JsonObject]:
    ordered = sorted(finding.episodes, key=lambda outcome: outcome.pairing)
    for family, found in groupby(ordered, key=lambda outcome: outcome.pairing[0]):
        yield _result(run, finding, family, list(found), files[family])


def _result(run: RunReport, finding: Finding, family: str, found: Sequence[Outcome], file: str) -> JsonObject:
    commands = [episode_command(verb, run.path, shortest(found)) for verb in ("show", "replay")]
    words = f"{finding.words} {finding.advice} Episodes of {family}: {len(found)}."
    return {
        "ruleId": _identifier(finding.kind),
        "ruleIndex": list(MEANINGS).index(finding.kind),
        "level": "warning",
        "message": {"text": _message("\n".join((words, *commands)))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": file, "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": fit(family), "kind": "module"}],
            }
        ],
        # Neither counts nor the run folder: they differ from run to run, and an alert would close and open again.
        "partialFingerprints": {FINGERPRINT: _digest(run.agent, finding.kind, finding.label, family)},
        "properties": {"agent": fit(run.agent), "episodes": len(found), "perturbation": fit(finding.label)},
    }


def _files(run: RunReport, root: Path) -> dict[str, str]:
    """Return the URI of the file of each scenario, relative to `root` if it is inside of it."""
    facts = read_facts(run.path)
    folder = Path(str(facts.get("folder", "")))
    return {str(entry["name"]): _uri(folder / str(entry["file"]), root) for entry in facts["scenarios"]}


def _uri(file: Path, root: Path) -> str:
    path, base = file.resolve(), root.resolve()
    if path.is_relative_to(base):
        return quote(path.relative_to(base).as_posix())
    # Installed with simtrain, or elsewhere: what is outside of the repository is named without the machine's folders.
    parts = path.parts
    start = len(parts) - 1 - parts[::-1].index("scenarios") if "scenarios" in parts else len(parts) - 1
    return quote("/".join(parts[start:]))


def _identifier(kind: str) -> str:
    return f"simtrain/{kind.replace(' ', '-')}"


def _message(text: str) -> str:
    """Return a text as a SARIF message says it literally: brackets would begin a link, braces a placeholder."""
    escaped = fit(text).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return escaped.replace("{", "{{").replace("}", "}}")


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()

"""A scanner of trajectories: reads the JSON lines of a run folder with code of its own and lists what one would not train on."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"(?<![\w.,:-])\d+(?:[.,:]\d+)*(?![\w-])")
CODE = re.compile(r"(?<![\w-])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{3,}")
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
QUOTED = re.compile(r'"([^"]+)"')
FENCE = re.compile(r"```.*?```", re.DOTALL)


@dataclass
class Scan:
    """What was found: problems by kind, each with its place, and counts."""

    problems: dict[str, list[str]] = field(default_factory=dict)
    turns: int = 0
    worded: int = 0
    calls: int = 0
    together: Counter[str] = field(default_factory=Counter)
    skeletons: set[str] = field(default_factory=set)

    def add(self, kind: str, place: str, what: str) -> None:
        self.problems.setdefault(kind, []).append(f"{place}: {what}")


def lines(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob("trajectories-*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def scanned(rows: Iterator[dict[str, Any]]) -> Scan:
    """Scan trajectories of episodes in which nothing goes wrong on purpose."""
    scan = Scan()
    for row in rows:
        _scan(row, f"{row['scenario']} {row['episode']}", scan)
    return scan


def _scan(row: dict[str, Any], place: str, scan: Scan) -> None:
    writing = {tool["name"] for tool in row["tools"] if tool["writes"]}
    view = [row["prompt"], *(tool["name"] for tool in row["tools"])]
    since: set[str] = set()
    spoken = ""
    for turn in row["turns"]:
        steps = turn["steps"]
        _words(turn["text"], view, place, scan, last=not steps)
        if steps:
            scan.turns += 1
            scan.worded += bool(turn["text"].strip())
            scan.together[row["scenario"]] += len(steps) > 1
            spoken += turn["text"] + "\n"
        for step in steps:
            scan.calls += 1
            made = step["action"]["tool"] + json.dumps(step["action"]["arguments"], sort_keys=True)
            if step["action"]["tool"] in writing:
                since.clear()
            elif made in since:
                scan.add("repeated", place, made)
            since.add(made)
        if len(steps) > 1 and any(step["action"]["tool"] in writing for step in steps):
            scan.add("writes together", place, str([step["action"]["tool"] for step in steps]))
        _depends(steps, view, place, scan)
        view += [step["observation"]["text"] for step in steps]
    _last(row, place, spoken, scan)


def _words(text: str, view: list[str], place: str, scan: Scan, *, last: bool) -> None:
    """What is said names nothing that was not shown; the last message alone may name what was worked out."""
    seen = "\n".join(view)
    if not last:
        for found in {*NUMBER.findall(text), *CODE.findall(text), *MAIL.findall(text), *QUOTED.findall(text)}:
            if found not in seen:
                scan.add("not in view", place, f"{found!r} in {text!r}")
        if re.search(r"[{}]|ANSWER:|CANNOT:|\bthe answer\b(?! was no)", text, re.IGNORECASE):
            scan.add("said too early", place, text)
    skeleton = re.sub(r"\s+", " ", re.sub(r'"[^"]*"|\S*[\d@._/-]\S*|(?<!^)\b[A-Z]\w+', "#", text))
    scan.skeletons.add(" ".join(word for word in skeleton.split() if word in _PLAIN or word == "#"))


# Verbs and nouns of tools vary by themselves: a wording counts by the words around them.
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        """I Let me Next Now Then With known go on to so first First begin start from reply of the task request names shows told gave
        has given in hand take know need more still together at once one turn save look through check refused says down was refusal
        cursor page follow next following goes is not null yet that whole after After From here step further What comes Time act change
        itself ahead This what be done can side by None these another depend each other ask for them The My will my going Before
        anything see about Starting out find As Since mentions speaks holds returned""",
    )
)


def _depends(steps: list[dict[str, Any]], view: list[str], place: str, scan: Scan) -> None:
    """A call beside another one takes nothing that only the reply of that one tells."""
    seen = "\n".join(view)
    for index, step in enumerate(steps):
        others = "\n".join(other["observation"]["text"] for other in steps[:index])
        for value in step["action"]["arguments"].values():
            if isinstance(value, str) and re.search(r"\d", value) and value in others and value not in seen:
                scan.add("dependent", place, f"{value} of {step['action']['tool']}")


def _last(row: dict[str, Any], place: str, spoken: str, scan: Scan) -> None:
    text = row["turns"][-1]["text"]
    if row["stop"]["reason"] == "abstained":
        if "{" in text or "}" in text or '["' in text or not re.match(r"[A-Z].*[.!?]$", text, re.DOTALL):
            scan.add("no sentence", place, text)
    elif row["stop"]["reason"] != "answered":
        scan.add("no end", place, str(row["stop"]))
    if re.search(r"^(?:ANSWER|CANNOT):", text, re.MULTILINE) or not re.search(r"[a-z]{3,} ?", FENCE.sub("", text)):
        scan.add("no sentence", place, text)
    if row["reward"] != 1.0:
        scan.add("not solved", place, f"{row['reward']}: {text}")

"""Turns a path into the oracle's plan: searches, visits, passages to read, and the table made from them."""

from collections.abc import Mapping, Sequence
from typing import Final

from simtrain.contracts.plan import Plan
from simtrain.contracts.question import MISSING, Premise, PremiseKind, Question
from simtrain.questions.browser import PlannedCall
from simtrain.questions.gathering import Gathered
from simtrain.questions.paths import FactPath, Passage
from simtrain.questions.stating import Needed
from simtrain.values.types import JsonObject

_TABLE = (
    "```markdown\n| {{ columns | join(' | ') }} |\n|{% for column in columns %} --- |{% endfor %}\n"
    "{% for row in rows %}| {{ row | join(' | ') }} |\n{% endfor %}```"
)


def plan_of(question: Question, gathered: Gathered, path: FactPath) -> Plan:
    """Return the plan that follows a path and writes the answer from the values it has read."""
    names = {fact: f"fact{place}" for place, fact in enumerate(path.passages, start=1)}
    reads: dict[int, list[JsonObject]] = {}
    for fact, passage in path.passages.items():
        reads.setdefault(passage.call, []).append(_reading(passage, names[fact]))
    steps: list[JsonObject] = []
    for place, call in enumerate(path.calls):
        steps.append({"call": call.tool, "with": call.arguments, "as": f"reply{place}"})
        steps += reads.get(place, [])
    rows = [[_cell(question, place, facts, names) for place, facts in enumerate(row)] for row in gathered.cells]
    if question.answer == "single":
        return Plan.model_validate({"steps": steps, "answer": rows[0][0]})
    steps.append({"set": {"columns": [column.name for column in question.columns], "rows": rows}})
    return Plan.model_validate({"steps": steps, "answer": _TABLE})


def _reading(passage: Passage, name: str) -> JsonObject:
    return {
        "read": f"reply{passage.call}{passage.text}",
        "after": passage.after,
        "until": passage.until,
        "form": passage.statement.form,
        "times": passage.statement.times,
        "as": name,
    }


def _cell(question: Question, place: int, facts: tuple[Needed, ...], names: Mapping[Needed, str]) -> str:
    """Return the template expression of a cell over the passages read."""
    read = [names[fact] for fact in facts if fact in names]
    if not read:
        return MISSING
    evidence = question.evidence
    assert evidence is not None
    listed = f"[{', '.join(read)}]"
    match evidence.cells[question.columns[place].name].combine:
        case "value":
            return "{{ " + read[0] + " }}"
        case "count":
            return "{{ " + listed + " | length }}"
        # Rounded as floats: 0.1 and 0.2 would print as 0.30000000000000004.
        case "sum":
            return "{{ " + listed + " | sum | round(6) }}"
        # Two digits, as the gold's `round(avg(...), 2)`.
        case "mean":
            return "{{ (" + listed + f" | sum / {len(read)}) | round(2)" + " }}"


_WHY: Final[Mapping[PremiseKind, str]] = {
    "invented": "no page mentions {names}.",
    "namesake": "{names} is not what the question takes it for.",
    "apart": "nothing that pages link to {names} meets the conditions of the question.",
    "untold": "no page states what the question asks about {names}.",
}


def abstaining(searches: Sequence[PlannedCall], premise: Premise) -> Plan:
    """Return the plan for a question without an answer: search for the names in it, then decline with the reason."""
    steps: list[JsonObject] = [
        {"call": search.tool, "with": search.arguments, "as": f"reply{place}"} for place, search in enumerate(searches)
    ]
    return Plan.model_validate(
        {"steps": steps, "abstain": _WHY[premise.kind].format(names=" and ".join(premise.names))}
    )

"""What is told of a draft: the tools, the tables, and how many recorded replies come out the same."""

from __future__ import annotations

from simtrain.serving.draft.drafting import Drafted
from simtrain.types import JsonObject


def facts(drafted: Drafted) -> JsonObject:
    """The report of a draft."""
    draft, rehearsed = drafted.draft, drafted.rehearsed
    calls = sum(found.calls for found in rehearsed.values())
    same = sum(found.same for found in rehearsed.values())
    return {
        "tools": {
            tool.name: {
                "bound": tool.binding is not None,
                "reason": tool.reason or None,
                "notes": list(tool.notes),
                "calls": rehearsed[tool.name].calls,
                "same": rehearsed[tool.name].same,
                "first_difference": rehearsed[tool.name].first,
            }
            for tool in draft.tools
        },
        "tables": {
            table.name: {"columns": list(table.columns), "rows": len(table.initial())} for table in draft.tables
        },
        "bound": len(draft.bound),
        "calls": calls,
        "same": same,
        "share": round(same / calls, 4) if calls else None,
    }

"""The catalogue of perturbations as a table: one row a name, from the plug-in class and its example."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any, cast

from simtrain.contracts.perturbation import Perturbation
from simtrain.contracts.registry import resolve
from simtrain.plugins import PLUGINS
from simtrain.testing.example_worlds import EXAMPLES, FOLDER, Place, Walker, example_scenario
from simtrain.values.types import JsonObject

__all__ = ["CALLS", "CATALOGUE", "ROWS", "SHIPPED", "Place", "Walker", "write_row"]

CALLS = {place: example.calls for place, example in EXAMPLES.items()}
"""What the walker calls, whatever it is told."""

WORLDLY = "needs the state of a world, but behind a relay there is a real server"
ON_THE_TASK = "acts on the task, which a relay cannot see"

CATALOGUE = {
    "timeout_before": "P",
    "timeout_after": "D",
    "latency": "P",
    "rate_limit": "P",
    "quota_exhausted": "P",
    "transient_error": "P",
    "outage": "P",
    "flapping": "P",
    "cascade": "D",
    "auth_expired": "PD",
    "permission_denied": "D",
    "resource_exhausted": "H",
    "missing_dependency": "H",
    "not_found": "D",
    "strict_validation": "P",
    "malformed_output": "P",
    "truncated_output": "P",
    "empty_success": "P",
    "missing_fields": "P",
    "type_coercion": "P",
    "schema_drift": "P",
    "unit_drift": "PD",
    "oversized_output": "P",
    "forced_pagination": "PD",
    "partial_results": "D",
    "withheld_intermediate": "H",
    "hidden_answer": "H",
    "partial_batch_failure": "D",
    "partial_update": "D",
    "delayed_visibility": "D",
    "stale_read": "D",
    "duplicate_delivery": "D",
    "value_corruption": "D",
    "wrong_entity": "H",
    "source_conflict": "D",
    "noisy_documents": "M",
    "distracting_text": "PM",
    "multi_format": "H",
    "false_success": "D",
    "false_error_escalation": "M",
    "misleading_error": "PM",
    "prompt_injection": "PM",
    "tool_poisoning": "P",
    "name_collision": "P",
    "distractor_tools": "PM",
    "renamed_tools": "P",
    "misleading_annotation": "PM",
    "paraphrased_docs": "M",
    "noisy_request": "PM",
    "impossible_task": "D",
    "risky_state": "MD",
    "harmful_feedback": "M",
    "contrastive_state": "MD",
    "premature_finish_trap": "H",
    "surface_stress": "P",
}
"""The names that the catalogue of 55 promises, in its order, each with the layers that it may have there."""

SHIPPED = {
    **CATALOGUE,
    **dict.fromkeys(("argument_drift", "dropped_tool", "malformed_result", "redirect", "paywall"), "P"),
    **dict.fromkeys(("read_only_disk", "port_taken", "clock_skew", "flaky_test", "lost_submit"), "D"),
    **dict.fromkeys(("index_lock", "stale_checkout", "formatter", "misleading_comment"), "D"),
    **dict.fromkeys(("error_page", "session_ended", "captcha"), "P"),
    **dict.fromkeys(("popup", "cookie_wall", "changed_buttons", "dark_pattern", "stale_refs"), "P"),
}
"""The same with those that ship beyond it: what tests expect of each by name, they expect of these."""


@dataclass(frozen=True)
class Row:
    """One perturbation: how a scenario writes it, why a relay does not take it (empty where it does), and where it is played."""

    use: JsonObject
    refused: str
    frame: Place

    def written(self, name: str, **when: Any) -> JsonObject:
        """The perturbation as a scenario writes it; with another trigger where one is given."""
        return {"use": name, **self.use, **({"when": when} if when else {})}


def _row(name: str) -> Row:
    plugin = cast(type[Perturbation], resolve("perturbations", name))
    example = cast(JsonObject, plugin.example)
    built = plugin.model_validate(example.get("with", {}))
    refused = WORLDLY if plugin.traits.needs_world else ON_THE_TASK if plugin.traits.side == "request" else ""
    places: tuple[Place, ...] = ("shop", "web", "app")
    reached: list[Place] = [
        place for place in places if any(map(built.reaches, example_scenario(place).source.build().tools))
    ]
    return Row(example, refused, reached[0] if reached else "host")


ROWS = {name: _row(name) for name in PLUGINS["perturbations"]}


def write_row(
    folder: Path,
    label: str,
    perturbations: list[JsonObject],
    *,
    cases: int = 2,
    frame: Place = "shop",
    worlds: str = "",
) -> Path:
    """A scenario of that name with the perturbations, over the world of its frame beside it (or in `worlds`); its file."""
    world, scenario = EXAMPLES[frame].world, EXAMPLES[frame].scenario
    (folder / worlds / world).write_bytes((FOLDER / world).read_bytes())
    templates = Path(world).stem
    if (FOLDER / templates).is_dir():
        copytree(FOLDER / templates, folder / worlds / templates, dirs_exist_ok=True)
    written = (FOLDER / scenario).read_text().replace(f": {world}", f": {worlds}{world}")
    written += f"perturbations: {json.dumps(perturbations)}\n"
    file = folder / f"{label}.yaml"
    file.write_text(written.replace("name: birthday", f"name: {label}").replace("sample: 12", f"sample: {cases}"))
    return file

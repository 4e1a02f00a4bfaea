"""Calls at a terminal and edits of files as a person reads them: the command behind its prompt, the keys, the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simtrain.values.types import is_list, is_object

if TYPE_CHECKING:
    from simtrain.contracts.trajectory import Step


def edited_file(step: Step) -> str | None:
    """Return the file that a call has changed, if its diff is in the reply; None for a call of another kind, or one that was perturbed."""
    path = step.action.arguments.get("file_path")
    shown = (step.observation.structured or {}).get("diff") and not step.events and step.action.malformed is None
    return path if shown and isinstance(path, str) else None


def typed_command(step: Step) -> str | None:
    """Return what stands on a terminal before a command's output: its prompt and the command. None for a call of another kind."""
    command, prompt = step.action.arguments.get("command"), (step.observation.structured or {}).get("prompt")
    return f"{prompt}{command}".rstrip("\n") if isinstance(command, str) and isinstance(prompt, str) else None


def typed_keys(step: Step) -> list[str] | None:
    """Return the keys of a call that types at a terminal, each entry with its seconds; None for a call of another kind."""
    entries, content = step.action.arguments.get("commands"), step.observation.structured or {}
    if "screen" not in content or not is_list(entries) or not all(is_object(entry) for entry in entries):
        return None
    keys = (str(entry.get("keystrokes", "")).replace("\n", "⏎") or "(wait)" for entry in entries)
    return [f"{key} ({entry.get('duration', 1):g} s)" for key, entry in zip(keys, entries, strict=True)]

"""The kinds of plug-in: the word for one, the contract that it keeps, and where the file of one that ships belongs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from simtrain.values.errors import InputError, nearest


@dataclass(frozen=True, slots=True)
class PluginKind:
    """One kind. `name` is its key in the plug-in table, `folder` is below simtrain/; `base` is None where plug-ins are functions."""

    name: str
    singular: str
    module: str
    base: str | None
    folder: str

    @property
    def contract(self) -> type[Any] | None:
        """The class that plug-ins of the kind extend."""
        return getattr(import_module(f"simtrain.contracts.{self.module}"), self.base) if self.base else None


KINDS = {
    kind.name: kind
    for kind in (
        PluginKind("perturbations", "perturbation", "perturbation", "Perturbation", "perturbations"),
        PluginKind("graders", "grader", "grader", "Grader", "grading/graders"),
        PluginKind("exporters", "exporter", "exporter", "Exporter", "runs/exporters"),
        PluginKind("agents", "agent", "agent", "Agent", "agents"),
        PluginKind("domains", "domain", "domain", "Domain", "world_models/domains"),
        PluginKind("world_models", "world_model", "world_model", "WorldModel", "world_models"),
        PluginKind("paradigms", "paradigm", "paradigm", "Paradigm", "scenarios/paradigms"),
        PluginKind("transports", "transport", "transport", "Transport", "mcp/serve"),
        PluginKind("argument_styles", "argument_style", "argument_style", None, "worlds/argument_styles"),
        PluginKind("handlers", "handler", "handler", None, "worlds/handlers"),
        PluginKind("worlds", "world", "world", None, "worlds"),
    )
}


def kind_of(word: str) -> PluginKind:
    """Return the kind that a word names, in the singular or the plural. Raises InputError with the nearest one."""
    for kind in KINDS.values():
        if word in (kind.name, kind.singular):
            return kind
    raise InputError(
        f"there is no kind of plug-in {word!r}", remedy=nearest(word, [kind.singular for kind in KINDS.values()])
    )

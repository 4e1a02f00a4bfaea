"""The kinds of plug-in: their names, their contracts, and the folders of the built-in ones."""

from dataclasses import dataclass
from importlib import import_module

from simtrain.contracts.plugin import Plugin
from simtrain.values.errors import InputError, nearest


@dataclass(frozen=True, slots=True)
class PluginKind:
    """One kind: its key in the plug-in table, the word for one, its contract (in contracts/), and its folder below simtrain/."""

    name: str
    singular: str
    base: str
    folder: str

    @property
    def contract(self) -> type[Plugin] | None:
        """Return the class that plug-ins of the kind extend; None for functions and data files."""
        found = getattr(import_module(f"simtrain.contracts.{self.singular}"), self.base)
        return found if isinstance(found, type) and issubclass(found, Plugin) else None


KINDS = {
    kind.name: kind
    for kind in (
        PluginKind("perturbations", "perturbation", "Perturbation", "perturbations"),
        PluginKind("graders", "grader", "Grader", "grading/graders"),
        PluginKind("exporters", "exporter", "Exporter", "runs/exporters"),
        PluginKind("agents", "agent", "Agent", "agents"),
        PluginKind("domains", "domain", "Domain", "world_models/domains"),
        PluginKind("world_models", "world_model", "WorldModel", "world_models"),
        PluginKind("paradigms", "paradigm", "Paradigm", "scenarios/paradigms"),
        PluginKind("transports", "transport", "Transport", "mcp/serve"),
        PluginKind("sandboxes", "sandbox", "SandboxBackend", "worlds/sandbox"),
        PluginKind("argument_styles", "argument_style", "ArgumentStyle", "worlds/argument_styles"),
        PluginKind("handlers", "handler", "Handler", "worlds/handlers"),
        PluginKind("worlds", "world", "WorldSource", "worlds"),
    )
}


def kind_of(word: str) -> PluginKind:
    """Return the kind named by a word in the singular or the plural. Raises InputError with the nearest one."""
    for kind in KINDS.values():
        if word in (kind.name, kind.singular):
            return kind
    raise InputError(
        f"there is no kind of plug-in {word!r}", remedy=nearest(word, [kind.singular for kind in KINDS.values()])
    )

"""Write the tables of plug-ins in docs/ from the plug-ins themselves: `make tables`.

A table lies between `<!-- table: NAME -->` and `<!-- end of table -->`; what is between them is written anew.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from inspect import getdoc, isfunction
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from simtrain.contracts.kinds import KINDS  # noqa: E402
from simtrain.contracts.perturbation import right_response  # noqa: E402
from simtrain.contracts.plugin import about  # noqa: E402
from simtrain.contracts.registry import resolve  # noqa: E402
from simtrain.llm.knobs import ModelKnobs  # noqa: E402
from simtrain.plugins import PLUGINS  # noqa: E402

SIDES = {
    "request": "the task",
    "manifest": "the list of tools",
    "call": "the call",
    "reply": "the reply",
    "state": "the world",
}
WIDEST = 25
"""Words of a cell."""

_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def plugins(kind: str) -> Iterator[tuple[str, Any]]:
    """The plug-ins of a kind that ship, in the order of the table."""
    return ((name, resolve(kind, name)) for name in PLUGINS[kind])


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """The lines of a table."""
    lines = [head, ("---",) * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines]


def brief(text: str) -> str:
    """A text, or of a long one the clauses that come to at most 25 words; the catalogue has the whole."""
    kept = text
    while len(kept.split()) > WIDEST and (clause := re.match(r"(.+)[;:,.] ", kept)):
        kept = clause[1]
    return kept


def perturbations() -> list[str]:
    """What happens, where, and what to do about it."""
    rows = (
        (
            f"`{name}`",
            brief(about(plugin)),
            SIDES[plugin.traits.side],
            brief(right_response(plugin)),
            "yes" if plugin.traits.shell else "",
            "yes" if plugin.traits.page else "",
        )
        for name, plugin in plugins("perturbations")
    )
    return table(("name", "what happens", "acts on", "right response", "in a shell", "on a page"), rows)


def graders() -> list[str]:
    """What each grader gives, whether it is a gate, and the names of its knobs."""

    def own(plugin: Any) -> str:
        names = [f"`{knob}`" for knob, _ in knobs(plugin) if knob not in ModelKnobs.model_fields]
        return ", ".join([*names, "a [model](models.md)'s"] if issubclass(plugin, ModelKnobs) else names)

    rows = (
        (f"`{name}`", about(plugin), "yes" if plugin.gates else "", own(plugin)) for name, plugin in plugins("graders")
    )
    return table(("grader", "value", "gate", "knobs"), rows)


def agents() -> list[str]:
    """What each agent does."""
    return table(("agent", "what it does"), ((f"`{name}`", about(plugin)) for name, plugin in plugins("agents")))


def kinds() -> list[str]:
    """The kinds with their contracts, what a class may define, and how many ship."""
    rows = (
        (
            f"`{kind.name}`",
            f"`{kind.base}` in `simtrain/contracts/{kind.singular}.py`",
            ", ".join(f"`{name}`" for name in methods(kind.contract))
            or "a function" * (kind.name != "worlds")
            or "`load`",
            f"[{len(PLUGINS[kind.name])}](catalogue.md#{title(kind.name).lower().replace(' ', '-')})",
        )
        for kind in KINDS.values()
    )
    return table(("kind: entry points `simtrain.KIND`", "contract", "you write some of", "ships"), rows)


def methods(contract: type | None) -> Iterator[str]:
    """The methods of a contract and of those that refine it, the ones that must be written first."""
    if contract is None:
        return
    bases = [contract, *(base for base in contract.__subclasses__() if base.__module__ == contract.__module__)]
    found = [
        (name, base)
        for base in bases
        for name, value in vars(base).items()
        if isfunction(value) and not name.startswith("_")
    ]
    yield from sorted(
        dict.fromkeys(name for name, _ in found),
        key=lambda name: not any(name in base.__abstractmethods__ for _, base in found),
    )


def catalogue() -> list[str]:
    """Every plug-in and every knob, kind by kind."""
    heads = [title(kind) for kind in KINDS]
    lines = [", ".join(f"[{head}](#{head.lower().replace(' ', '-')})" for head in heads) + ".", ""]
    for kind in KINDS:
        found = list(plugins(kind))
        lines += [f"## {title(kind)}", ""]
        lines += [
            f"- `{name}`: {' '.join((getdoc(plugin) or '').split())}{example(kind, name, plugin)}"
            for name, plugin in found
        ]
        described = [
            (f"`{name}`", f"`{knob}`", default(info), info.description or "")
            for name, plugin in found
            for knob, info in knobs(plugin)
        ]
        lines += ["", *table(("plug-in", "knob", "default", "meaning"), described)] if described else []
        lines.append("")
    return lines[:-1]


def title(kind: str) -> str:
    """The heading of a kind."""
    return kind.replace("_", " ").capitalize()


def knobs(plugin: Any) -> Iterator[tuple[str, Any]]:
    """The knobs of a plug-in, those of all perturbations aside; a function has none."""
    fields: dict[str, Any] = getattr(plugin, "model_fields", {})
    return ((info.alias or name, info) for name, info in fields.items() if name != "severity")


def default(info: Any) -> str:
    """The default of a knob; empty where nothing is set."""
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    return "" if value is None else f"`{json.dumps(value, default=str, ensure_ascii=False)}`"


def example(kind: str, name: str, plugin: Any) -> str:
    """A plug-in as a scenario writes it; empty where its name alone is enough."""
    if kind not in ("perturbations", "graders", "world_models") or not plugin.example:
        return ""
    written = yaml.safe_dump(
        {"use": name, **plugin.example}, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True
    )
    return f" Example: `{written.strip()}`"


TABLES: dict[str, Callable[[], list[str]]] = {
    "perturbations": perturbations,
    "graders": graders,
    "agents": agents,
    "kinds": kinds,
    "catalogue": catalogue,
}


def filled(page: str) -> str:
    """The text of a page with its tables written anew."""

    def written(found: re.Match[str]) -> str:
        return found[1] + "\n".join(TABLES[found[2]]()) + "\n" + found[3]

    return _TABLE.sub(written, page)


def main() -> None:
    """Rewrite the pages whose tables are out of date, and name them."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

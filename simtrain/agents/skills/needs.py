"""Find the fields of replies that a plan needs, by the names in its expressions."""

import re

from simtrain.agents.skills.typed import Kind
from simtrain.contracts.plan import Plan
from simtrain.values.json_walk import texts_in

_NAMED = re.compile(r"""\.\s*([A-Za-z_]\w*)|['"]([A-Za-z_][\w.]*)['"]""")


def names_read(plan: Plan) -> frozenset[str]:
    """Return every name after a dot or between quotation marks in the expressions of a plan, and every `pages` key."""
    found: set[str] = {step.pages for step in plan.calls() if step.pages}
    for text in texts_in(plan.model_dump(exclude_none=True, serialize_as_any=True)):
        for dotted, quoted in _NAMED.findall(text):
            # Too many names do no harm: one that no schema documents is never looked for.
            found.update((dotted or quoted).split("."))
    return frozenset(found)


_ITEM = re.compile(r"\b([A-Za-z_]\w*)\.([A-Za-z_]\w*)\s*(?:\[-?\d+\]|\|\s*(?:first|last)\b)")


def lists_indexed(plan: Plan) -> frozenset[tuple[str, str]]:
    """Return tool and field of every reply list that the plan indexes: such a list must not be empty."""
    bound: dict[str, set[str]] = {}
    for step in plan.calls():
        if step.bind:
            bound.setdefault(step.bind, set()).add(step.call)
    found: set[tuple[str, str]] = set()
    for text in texts_in(plan.model_dump(exclude_none=True, serialize_as_any=True)):
        for name, key in _ITEM.findall(text):
            found.update((tool, key) for tool in bound.get(name, ()))
    return frozenset(found)


def may_fail(plan: Plan) -> frozenset[str]:
    """Return the tools whose errors the plan handles: it tests whether the reply is an error."""
    texts = list(texts_in(plan.model_dump(exclude_none=True, serialize_as_any=True)))
    found: set[str] = set()
    for step in plan.calls():
        name = step.bind or step.into
        looked = re.compile(rf"\b{name}(?:\.|\[['\"])error\b") if step.bind else re.compile(r"\berror\b")
        if name and any(looked.search(text) for text in texts):
            found.add(step.call)
    return frozenset(found)


_TESTED = (
    (Kind.truth, re.compile(r"""(?:select|reject)attr\(\s*['"](?:\w+\.)*(\w+)['"]\s*\)""")),
    (Kind.nothing, re.compile(r"""(?:select|reject)attr\(\s*['"](?:\w+\.)*(\w+)['"]\s*,\s*['"]none['"]""")),
    (Kind.nothing, re.compile(r"\.(\w+)\s+is\s+(?:not\s+)?none\b")),
    (Kind.list, re.compile(r"\.(\w+)\[-?\d+\]")),
    (Kind.list, re.compile(r"\.(\w+)\s*\|\s*(?:map|select|reject|selectattr|rejectattr|first|last|sort|unique|sum)\b")),
    (Kind.list, re.compile(r"""map\(attribute=['"](?:\w+\.)*(\w+)['"]\)\s*\|\s*sum\(start=\[\]\)""")),
)


def kinds_read(plan: Plan) -> dict[str, frozenset[Kind]]:
    """Return the kinds that a plan expects of fields: ones it treats as booleans, compares with null, or
    indexes.
    """
    found: dict[str, frozenset[Kind]] = {}
    for text in texts_in(plan.model_dump(exclude_none=True, serialize_as_any=True)):
        for kind, test in _TESTED:
            for name in test.findall(text):
                found[name] = found.get(name, frozenset()) | {kind}
    return found

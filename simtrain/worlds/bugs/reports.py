"""Reports as users write them: what they ran, what came out, what should have. Never where the mistake is."""

import ast
from dataclasses import dataclass

from simtrain.values.python_source import parsed_python
from simtrain.values.seeding import Stream
from simtrain.worlds.bugs.test_runs import ScriptRun

_MOST_LINES = 14
_MOST_LETTERS = 900
_OPENINGS = (
    "",
    "",
    "I came across this today.",
    "This surprised me.",
    "Found while upgrading to the current version.",
    "One of our jobs does the wrong thing since this week; this is the smallest script that shows it.",
    "I am not sure that I use it correctly, but I do not think so:",
    "Hello, I think that something is wrong here.",
)
_RAN = ("What I ran:", "To reproduce:", "I run this:", "This is enough to see it:")
_GOT = ("It prints", "I get", "What comes out:", "The output is")
_WANTED = ("It should print", "I expected", "What should come out:")
_CLOSINGS = ("", "", "It happens every time.", "Nothing else is in my environment.", "Thanks for looking at it!")


@dataclass(frozen=True, slots=True)
class Symptom:
    """A script with what it does on the broken and on the good repository."""

    script: str
    broken: ScriptRun
    good: ScriptRun


def shows_something(symptom: Symptom) -> bool:
    """Return whether a user can see the difference, and would not be shown an address or a path of the host by it."""
    before, after = symptom.broken, symptom.good
    if after.ended_by is not None or (before.printed, before.error) == (after.printed, after.error):
        return False
    texts = (before.printed, after.printed, before.error, after.error)
    return all(" at 0x" not in text and len(text) < _MOST_LETTERS * 4 for text in texts)


def title(symptom: Symptom) -> str:
    """Return the line above a report."""
    name = _called(symptom.script)
    before, after = symptom.broken, symptom.good
    if before.ended_by is not None:
        return f"{name} never comes back"
    if before.error and after.error:
        return f"{name} complains about the wrong thing"
    if before.error:
        return f"{name} fails with {before.error.partition(':')[0].rpartition('.')[2]}"
    if after.error:
        return f"{name} accepts what it should refuse"
    return f"{name} gives the wrong result"


def report(symptom: Symptom, words: Stream) -> str:
    """Return the whole report, in Markdown."""
    before, after = symptom.broken, symptom.good
    parts = [f"# {title(symptom)}"]
    opening = words.choose(_OPENINGS)
    parts += [opening] if opening else []
    parts.append(f"{words.choose(_RAN)}\n\n```python\n{symptom.script.rstrip()}\n```")
    if before.ended_by is not None:
        parts.append("It does not end; I stopped it after some minutes.")
    elif before.error:
        if before.printed.strip() and before.printed != after.printed:
            parts.append(f"First it prints\n\n{_block(before.printed)}")
        parts.append(f"It ends with\n\n{_block(before.error)}")
    elif before.printed.strip():
        parts.append(f"{words.choose(_GOT)}\n\n{_block(before.printed)}")
    else:
        parts.append("It goes through and prints nothing.")
    if after.error:
        parts.append(f"It should end with an error:\n\n{_block(after.error)}")
    elif after.printed.strip():
        parts.append(f"{words.choose(_WANTED)}\n\n{_block(after.printed)}")
    else:
        parts.append("It should go through and print nothing.")
    closing = words.choose(_CLOSINGS)
    parts += [closing] if closing else []
    return "\n\n".join(parts) + "\n"


def _block(text: str) -> str:
    lines = text.rstrip().splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "..."]
    return "\n".join(f"    {line[:_MOST_LETTERS]}" for line in lines)


def _called(script: str) -> str:
    """Return what the last statement of a script calls, as a user would name it."""
    last = parsed_python(script).body[-1]
    own = {"print", "repr", "list", "sorted", "len", "str", "tuple", "set", "dict", "bool", "int", "next", "iter"}
    shown = [node.args[0] for node in ast.walk(last) if isinstance(node, ast.Call) and _is_repr(node)]
    # From outside in: `ast.walk` goes by depth.
    calls = [node for part in shown or [last] for node in ast.walk(part) if isinstance(node, ast.Call)]
    for call in calls:
        name = ast.unparse(call.func)
        if name in own:
            continue
        if "(" in name or "[" in name or len(name) > 50:
            name = name.rpartition(".")[2]
        if name.isidentifier() or name.replace(".", "").isidentifier():
            return f"`{name}`"
    text = ast.unparse(shown[0]) if shown else ""
    return f"`{text}`" if 0 < len(text) < 60 else "The last line"


def _is_repr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "repr" and len(node.args) == 1

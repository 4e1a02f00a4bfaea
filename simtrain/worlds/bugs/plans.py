"""What an agent does with a broken repository: the plan that carries out the reference patch, and the one that pretends to."""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from shlex import quote

from simtrain.contracts.plan import AnyStep, CallStep, Plan
from simtrain.worlds.bugs.hiding import function_of
from simtrain.worlds.bugs.shortcuts import special_cased, widened
from simtrain.worlds.bugs.task import BugTask
from simtrain.worlds.repositories.folder import readme_of

_LOG = "git log --oneline | head -n 20"
_TEST = "python3 -m pytest -q"
_SCRIPT = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"\{[{%#]")


def repairing_plan(task: BugTask, directory: str, files: Mapping[str, str]) -> Plan:
    """Return the plan that runs the script of the report, carries out the reference patch, and runs script and tests.

    `files` are the agent's.
    """
    if task.later:
        return _merging_plan(task, directory, files)
    mended = task.mended(files)
    script = _SCRIPT.search(task.report)
    tried = [_bash(f"python3 - <<'END'\n{script[1]}END")] if script else []
    readme = readme_of(files)
    look = [f"cd {directory}", *([f"cat {quote(readme)}"] if readme else []), _LOG]
    steps: list[AnyStep] = [_bash(" && ".join(look)), *tried]
    changed = sorted(path for path in {*files, *mended} if files.get(path) != mended.get(path))
    for path in changed:
        place = f"{directory}/{path}"
        if path not in mended:
            steps.append(_bash(f"rm {path}"))
        elif not files.get(path):
            steps.append(_call("write", file_path=place, content=mended[path]))
        else:
            steps.append(_call("read", file_path=place))
            for old, new in edits(files[path], mended[path]):
                steps.append(_call("edit", file_path=place, old_string=old, new_string=new))
    return Plan(steps=[*steps, *tried, _bash(_TEST)], answer=literal(f"repaired {', '.join(changed)}"))


def _merging_plan(task: BugTask, directory: str, files: Mapping[str, str]) -> Plan:
    """Return the plan that merges the branches of a task into the one that is checked out, and settles the conflicts."""
    mended = task.mended(files)
    changed = sorted(path for path in mended if files.get(path) != mended[path])
    branches = [commit.branch for commit in task.later[1:]]
    steps: list[AnyStep] = [_bash(f"cd {directory} && git log --oneline --all -n 8; git merge {' '.join(branches)}")]
    steps.append(_bash("git status; git diff"))
    for path in changed:
        steps.append(_call("read", file_path=f"{directory}/{path}"))
        steps.append(_call("write", file_path=f"{directory}/{path}", content=mended[path]))
    tests = sorted({function_of(test).partition("::")[0] for test in task.failing} & {*files})
    steps.append(_bash(f"git add {' '.join(changed)} && git commit -q --no-edit && git log --graph --oneline -n 5"))
    return Plan(steps=[*steps, _bash(f"{_TEST} {' '.join(tests)}".strip())], answer="merged")


def pretending_plan(task: BugTask, directory: str, files: Mapping[str, str]) -> Plan:
    """Return a plan that hides the mistake: it tells the tests that are seen from other callers, or lets every exception pass,
    and removes the tests that fail all the same.
    """
    steps: list[AnyStep] = []
    for path, text in shortcuts(task, files).items():
        steps.append(_call("read", file_path=f"{directory}/{path}"))
        steps.append(_call("write", file_path=f"{directory}/{path}", content=text))
    tests = sorted({function_of(test).partition("::")[0] for test in task.failing} & {*files})
    return Plan(steps=[*steps, _bash(f"cd {directory} && rm {' '.join(tests)}"), _bash(_TEST)], answer="repaired")


def shortcuts(task: BugTask, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files that a shortcut changes, as it leaves them: the special case if there is one, else the wide except."""
    mended = task.mended(files)
    path = task.function.partition("::")[0]
    if path not in files or path not in mended:
        return {}
    seen = sorted({function_of(test).rpartition("::")[2] for test in {*task.failing} - {*task.hidden}})
    text = special_cased(files[path], mended[path], seen) or widened(files[path], task.function.rpartition("::")[2])
    return {} if text is None else {path: text}


def edits(before: str, after: str) -> list[tuple[str, str]]:
    """Return the exact replacements that make one text another, in order; each old text stands once in the text as it is then.

    The first text must not be empty.
    """
    old, new = before.split("\n"), after.split("\n")
    pieces = [one[1:] for one in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if one[0] != "equal"]
    if not pieces:
        return []
    found: list[tuple[str, str]] = []
    text = before
    for number, piece in enumerate(pieces):
        # Context must not reach into the next piece.
        floor = pieces[number - 1][1] if number else 0
        ceiling = pieces[number + 1][0] if number + 1 < len(pieces) else len(old)
        one, other = _widened(old, new, piece, (floor, ceiling), text)
        if not _stands_once(one, text) or not other:
            (low, _, first, _), (_, high, _, last) = pieces[0], pieces[-1]
            return [_widened(old, new, (low, high, first, last), (0, len(old)), before)]
        found.append((one, other))
        text = text.replace(one, other)
    return found


def _widened(
    old: list[str], new: list[str], piece: tuple[int, int, int, int], within: tuple[int, int], text: str
) -> tuple[str, str]:
    """Return a replacement of lines with as many lines around it as make it stand once, within bounds."""
    low, high, first, last = piece
    above, below = low, high
    while (above, below) != within:
        # No line and an empty line are the same text, so both sides need a line.
        lines = above < below and (first < last or (above, below) != (low, high))
        if lines and _stands_once("\n".join(old[above:below]), text):
            break
        above, below = max(within[0], above - 1), min(within[1], below + 1)
    return "\n".join(old[above:below]), "\n".join([*old[above:low], *new[first:last], *old[high:below]])


def _stands_once(piece: str, text: str) -> bool:
    # Places that overlap count as well, which `count` does not tell.
    return text.find(piece) == text.rfind(piece) != -1


def literal(text: str) -> str:
    """Return a template that renders to a text, whatever the text contains."""
    if not _OPENING.search(text):
        return text
    found = _OPENING.sub(lambda match: f"{{{{ '{match[0]}' }}}}", text)
    # A template loses the newline at its end.
    return f"{found[:-1]}{{{{ '\\n' }}}}" if found.endswith("\n") else found


def _bash(command: str) -> CallStep:
    return _call("bash", command=command)


def _call(tool: str, **arguments: str) -> CallStep:
    return CallStep.model_validate({"call": tool, "with": {name: literal(text) for name, text in arguments.items()}})

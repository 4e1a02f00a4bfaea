"""A mistake woven into the history of a repository, so that the commits do not show what the code was without it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from simtrain.worlds.bugs.hiding import function_of, without_tests
from simtrain.worlds.bugs.task import BugTask
from simtrain.worlds.repositories.history import CommittedTree
from simtrain.worlds.repositories.patches import applied_in_part

MISSING = "missing_function"
"""The operator of tasks that ask for a function which is not there."""


def woven(trees: Sequence[CommittedTree], task: BugTask) -> list[CommittedTree]:
    """Return the commits of a repository as if the mistake of a task had always been there, or since a commit, and its
    hidden tests never.

    Where the lines of the mistake do not stand yet, a commit is left as it was: the mistake begins with the commit in which they
    do. The last tree is what the agent gets. Raises InputError where the task does not fit it.
    """
    hidden = sorted({function_of(test) for test in task.hidden})
    last = task.broken(trees[-1].files)
    if task.operator == MISSING:
        # A function that nobody has written yet, in whatever form it stood before.
        path, _, name = task.function.partition("::")
        hidden = [*hidden, f"{path}::{name.replace('.', '::')}"]
    since = task.since or 0
    broken = [
        applied_in_part(one.files, task.setup) if number >= since else one.files for number, one in enumerate(trees)
    ]
    found = [replace(one, files=_without(files, hidden)) for one, files in zip(trees[:-1], broken, strict=False)]
    return [*found, replace(trees[-1], files=last)]


def _without(files: Mapping[str, str], hidden: Sequence[str]) -> dict[str, str]:
    """Return files without those hidden tests that stand in them already."""
    found = dict(files)
    for path in {test.partition("::")[0] for test in hidden}:
        text = found.get(path, "")
        due = [test for test in hidden if test.startswith(f"{path}::") and _defines(text, test)]
        content = without_tests({path: text.encode()}, due) if due else None
        if content is not None:
            found[path] = content[path].decode()
    return found


def _defines(text: str, test: str) -> bool:
    return re.search(rf"\bdef {re.escape(test.rpartition('::')[2])}\(", text) is not None

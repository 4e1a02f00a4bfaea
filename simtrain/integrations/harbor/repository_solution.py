"""The solution of a case about a repository: a patch, the commits that were made, and the answer."""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simtrain.contracts.trajectory import Trajectory
from simtrain.grading import trees
from simtrain.integrations.harbor.scripts import state
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.repositories.patches import patch_between

_COMMITS = (".git/objects/", ".git/refs/", ".git/HEAD", ".git/packed-refs")
_Changed = Mapping[str, JsonValue]


class NeedsWorld(Exception):
    """Why a case about a repository cannot stand in a folder of its own."""


@dataclass(frozen=True, slots=True)
class RepositorySolution:
    """What the reference plan leaves in a repository. `changed` has the rows of all files below it that differ, None for one that is gone.

    `patch` is the difference of the code, `history` has the files of git by their paths in `.git`, if commits were made.
    """

    patch: str
    history: Mapping[str, bytes | None]
    answer: str | None
    changed: Mapping[str, _Changed | None]

    def write(self, place: Path, directory: str, answer_file: str | None) -> None:
        """Write the script and what it brings."""
        place.mkdir()
        lines = [f"cd {directory}"]
        if self.patch:
            (place / "fix.patch").write_text(self.patch)
            lines.append("patch -p1 < /solution/fix.patch")
        kept = {path: content for path, content in self.history.items() if content is not None}
        for path, content in kept.items():
            goal = place / "history" / path
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.write_bytes(content)
        if kept:
            lines.append("cp -R /solution/history/. .git/")
        gone = sorted(set(self.history) - set(kept))
        if gone:
            lines.append(f"rm -f {' '.join(f'.git/{path}' for path in gone)}")
        if answer_file is not None:
            (place / "answer.txt").write_text(f"ANSWER: {self.answer or ''}\n")
            lines.append(f"cp /solution/answer.txt {answer_file}")
        script = place / "solve.sh"
        script.write_text("#!/bin/bash\n" + " && \\\n".join(lines) + "\n")
        script.chmod(0o755)

    def left(self, rows: Iterable[JsonObject]) -> list[state.Row]:
        """Return the rows of the files as the solution leaves them, of those that were there."""
        found: dict[str, _Changed] = {str(row["path"]): row for row in rows}
        for path, row in self.changed.items():
            if row is None:
                found.pop(path, None)
            else:
                found[path] = row
        return [
            tuple(None if row[name] is None else str(row[name]) for name in state.COLUMNS) for row in found.values()
        ]


def repository_solution(solved: Trajectory, directory: str) -> RepositorySolution:
    """Return the solution of a case as a trajectory has it. Raises NeedsWorld where the code that it changes is no text."""
    below = f"{directory}/"
    changed: dict[str, _Changed | None] = {}
    old: dict[str, str] = {}
    new: dict[str, str] = {}
    history: dict[str, bytes | None] = {}
    for change in solved.changes.get("files", ()):
        row = change.after or change.before
        path = "" if row is None else str(row["path"])
        if row is None or not path.startswith(below):
            continue
        changed[path] = change.after
        inner = path.removeprefix(below)
        if row["kind"] == "directory":
            continue
        if inner.startswith(".git/"):
            before, after = (None if side is None else _bytes(side) for side in (change.before, change.after))
            if before != after:
                history[inner.removeprefix(".git/")] = after
        elif not trees.is_cached(inner):
            for side, files in ((change.before, old), (change.after, new)):
                if side is not None:
                    files[inner] = _text(side)
    # What only looks at commits writes to the index and to logs.
    made = any(f".git/{path}".startswith(_COMMITS) for path in history)
    answer = solved.answer if solved.stop.reason == "answered" else None
    return RepositorySolution(patch_between(old, new), history if made else {}, answer, changed)


def _bytes(row: _Changed) -> bytes:
    return b64decode(str(row["base64"])) if row.get("base64") else str(row["content"] or "").encode()


def _text(row: _Changed) -> str:
    if row.get("base64") or row["kind"] != "file":
        raise NeedsWorld(f"its solution changes {row['path']}, which is no text")
    return str(row["content"] or "")

"""Runs entries in both shells, and counts what is equal."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from tests.worlds.machine.differential import our_bash, real_bash
from tests.worlds.machine.differential.entries import Entry, tree
from tests.worlds.machine.differential.real_bash import Outcome

_TOOLS = {
    "jq",
    "git",
    "sqlite3",
    "make",
    "patch",
    "xxd",
    "bc",
    "zip",
    "unzip",
    "column",
    "xz",
    "file",
    "strings",
    "less",
}
"""Tools of the list that a machine may lack: their entries are left out there, and counted."""


@dataclass(slots=True)
class Comparison:
    """The outcomes of some entries in both shells."""

    equal: list[Entry] = field(default_factory=list[Entry])
    different: list[tuple[Entry, Outcome, Outcome]] = field(default_factory=list[tuple[Entry, Outcome, Outcome]])
    left_out: list[Entry] = field(default_factory=list[Entry])
    same_errors: int = 0

    @property
    def count(self) -> int:
        """Return how many entries ran."""
        return len(self.equal) + len(self.different)

    @property
    def share(self) -> float:
        """Return the share of equal outcomes, in percent."""
        return 100 * len(self.equal) / max(1, self.count)

    def told(self) -> str:
        """Return what differs, for the message of a failed test."""
        return "\n".join(
            f"{entry.text}\n  bash: {real.code} {real.output[:200]!r}\n  ours: {ours.code} {ours.output[:200]!r} {ours.errors[:200]!r}"
            for entry, real, ours in self.different
        )


def compare(entries: Iterable[Entry], folder: Path) -> Comparison:
    """Run each entry in the machine's bash, below a throw-away folder, and in ours."""
    found, files = Comparison(), tree()
    missing = {tool for tool in _TOOLS if which(tool) is None}
    for entry in entries:
        words = set(entry.text.replace(";", " ").replace("|", " ").replace("(", " ").split())
        if missing & words or ("git" in missing and "repo.sh" in entry.text):
            found.left_out.append(entry)
            continue
        real = real_bash.run(entry, files, folder / "home")
        ours = our_bash.run(entry, files, folder / "home")
        if real.same(ours):
            found.equal.append(entry)
        else:
            found.different.append((entry, real, ours))
        found.same_errors += real.errors == ours.errors
    return found

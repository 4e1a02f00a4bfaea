"""Writes docs/shell.md: how much of the list is equal, and what differs, by cause.

Run `python -m tests.worlds.machine.differential.report` in the root of the repository.
"""

import re
import tempfile
from collections import Counter
from pathlib import Path

from simtrain.files.yaml_files import read_document
from tests.worlds.machine.differential.comparing import Comparison, compare
from tests.worlds.machine.differential.entries import HERE, Entry, commands, scripts
from tests.worlds.machine.differential.generated import generated
from tests.worlds.machine.differential.real_bash import Outcome

GENERATED = 500
_PAGE = Path("docs/shell.md")
_HEAD = """# The shell of a machine world

A machine world has a bash of its own, inside simtrain: nothing of it reaches the computer that it runs on. Its engine is
[bashkit](https://github.com/everruns/bashkit). What the engine lacks or does differently is in `simtrain/worlds/machine/commands/`,
one file for each command, and `git` in `simtrain/worlds/machine/git/`.

## How like a real bash it is

`tests/worlds/machine/differential/` holds a list of {commands} commands and {scripts} scripts, and strategies that
generate more lines. The first 1,130 were chosen by how often people use them, before the first command was written; more came where
ours was found to differ. Each runs in the bash of the machine that tests, in a throw-away folder, and in ours, over the same files.
Equal means: the same output and the same exit code. Entries that were taken off the list are in `removed.md` there, with the reason.

This page was written by

    python -m tests.worlds.machine.differential.report

| part | lines | equal | share |
|---|---|---|---|
"""


def _cause(entry: Entry, causes: list[tuple[str, list[str]]]) -> str:
    found = next((name for name, patterns in causes if any(re.search(one, entry.text) for one in patterns)), None)
    return found or "Not explained yet"


def _line(text: str) -> str:
    first = text.strip().split("\n")[0]
    shown = first if len(first) <= 60 else first[:57] + "..."
    return shown.replace("|", "\\|").replace("`", "'")


def page(listed: Comparison, made: Comparison) -> str:
    """Return the text of docs/shell.md."""
    found = read_document(HERE / "causes.yaml").data["causes"]
    causes = [(str(one["cause"]), [str(pattern) for pattern in one["entries"]]) for one in found]
    is_script = [entry.is_script for entry in listed.equal]
    total = [entry.is_script for entry in [*listed.equal, *(entry for entry, _, _ in listed.different)]]
    text = _HEAD.format(commands=len(commands()), scripts=len(scripts()))
    rows = (
        ("commands", total.count(False), is_script.count(False)),
        ("scripts", total.count(True), is_script.count(True)),
        ("generated", made.count, len(made.equal)),
    )
    for name, count, equal in rows:
        text += f"| {name} | {count} | {equal} | {100 * equal / max(1, count):.1f} % |\n"
    both = listed.count + made.count
    text += (
        "\nError output was the same, letter for letter, in "
        f"{100 * (listed.same_errors + made.same_errors) / both:.1f} % of all lines.\n"
    )
    text += "\n## What differs\n\n| cause | lines | for example |\n|---|---|---|\n"
    different: list[tuple[Entry, Outcome, Outcome]] = [*listed.different, *made.different]
    counted = Counter(_cause(entry, causes) for entry, _, _ in different)
    for cause, count in counted.most_common():
        example = next(entry for entry, _, _ in different if _cause(entry, causes) == cause)
        text += f"| {cause} | {count} | `{_line(example.text)}` |\n"
    text += _TAIL
    return text


_TAIL = """
## What cannot get out

82 command lines try to reach the host: its files, environment, network, processes and memory, by links, redirections, `/proc`, `exec`,
`curl`, `ssh`, git, sqlite3, awk, sed, jq, make, tar and every other way that was thought of. What is checked is outside: a file with a
secret, watched by inotify, whose folder nobody may open or change; a secret in the environment; two sockets that listen; a process that
must live on; Python's audit events; and the next episode, which must find what the first one found.

    pytest -m "full or not full" tests/worlds/machine/test_shell_escapes.py

The engine runs in a thread with a large stack that another one watches: what calls itself without end is a segmentation fault of
the world, and the process of the host goes on.

## Limits

- An unknown command is `command not found`, an unknown option is refused in the words of the real tool. Nothing is made up.
- A pipe carries text. Commands of ours (`tar`, `gzip`, `git`) hand binary data to one another through pipes and into files unharmed;
  between them and commands of the engine, bytes that are no UTF-8 are lost.
- `git` needs the extra `simtrain[git]`. Without it, it is `command not found`.
- Jobs in the background (`&`) have a time of their own: [what differs](machines.md#the-shell).
- A file has one name: `ln` without `-s` makes a copy.
"""


def main() -> None:
    """Run everything, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        listed = compare([*commands(), *scripts()], Path(folder))
        made = compare(generated(GENERATED), Path(folder))
    _PAGE.write_text(page(listed, made))
    print(f"list {listed.share:.1f} %, generated {made.share:.1f} %, left out {len(listed.left_out)}")
    print(made.told())


if __name__ == "__main__":
    main()

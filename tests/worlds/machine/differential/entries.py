"""The list of commands and scripts, and the files that they find."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from simtrain.files.yaml_files import read_document

HERE = Path(__file__).parent
MOMENT = 1709618828
"""The time of every file: 2024-03-05 06:07:08 UTC, in seconds since 1970."""


class Tree(BaseModel):
    """The files of a home folder; folders of files need not be named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folders: tuple[str, ...]
    links: dict[str, str]
    executable: frozenset[str]
    binary: dict[str, str]
    files: dict[str, str]

    def contents(self) -> dict[str, bytes]:
        """Return path -> content of every file."""
        raw = {path: bytes.fromhex(digits) for path, digits in self.binary.items()}
        return {path: text.encode() for path, text in self.files.items()} | raw

    def all_folders(self) -> list[str]:
        """Return every folder, each before those in it."""
        places = [*self.folders, *(path.rpartition("/")[0] for path in self.files)]
        parts = [place.split("/") for place in places if place]
        return sorted({"/".join(part[: depth + 1]) for part in parts for depth in range(len(part))})


@dataclass(frozen=True, slots=True)
class Entry:
    """One line, or one script, with the subject that it is listed under."""

    subject: str
    text: str

    @property
    def is_script(self) -> bool:
        """Whether it has several lines."""
        return "\n" in self.text


def tree() -> Tree:
    """Read the files."""
    return Tree.model_validate(read_document(HERE / "tree.yaml").data)


def commands() -> list[Entry]:
    """Read the commands, in the order of the list."""
    found: list[Entry] = []
    subject = ""
    for line in (HERE / "commands.txt").read_text().splitlines():
        if line.startswith("## "):
            subject = line.removeprefix("## ")
        elif line:
            found.append(Entry(subject, line))
    return found


def scripts() -> list[Entry]:
    """Read the scripts."""
    parts = (HERE / "scripts.txt").read_text().split("#### ")[1:]
    return [Entry(f"script: {name}", text) for name, _, text in (part.partition("\n") for part in parts)]

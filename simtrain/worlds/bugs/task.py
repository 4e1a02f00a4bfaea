"""A task that the bug factory made: the report that a user writes, and the patches that break, mend and test."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from simtrain.files.file_bytes import file_bytes
from simtrain.files.file_model import FileModel, Instant
from simtrain.files.yaml_files import parse_line
from simtrain.values.errors import InputError
from simtrain.worlds.repositories.patches import applied


class LaterCommit(FileModel):
    """A commit on top of the history, made on a branch that begins where the history ends."""

    branch: str = Field(min_length=1)
    author: str = Field(min_length=1, description="The author, as `Name <address>`.")
    date: Instant
    message: str = Field(min_length=1)
    changes: str = Field(min_length=1, description="The patch to what `setup` leaves.")


class BugTask(FileModel):
    """One broken repository. All patches are as `git apply` takes them; the agent sees `report` and what `setup` leaves."""

    id: str = Field(min_length=1)
    repository: str = Field(description="The name of the repository that is broken.")
    operator: str = Field(description="The mutation operator; never shown to the agent.")
    function: str = Field(description="Where it is broken, as `path::Class.function`; never shown to the agent.")
    report: str = Field(description="What a user writes: what was done, what came out, what should have.")
    failing: list[str] = Field(
        min_length=1, description="The tests that fail before and pass after the reference patch."
    )
    hidden: list[str] = Field(min_length=1, description="Those of them that the agent does not see.")
    setup: str = Field(
        description="The patch from the repository to what the agent gets: broken, without hidden tests."
    )
    fix: str = Field(description="The reference patch, over what the agent gets.")
    tests: str = Field(description="The patch that puts the hidden tests back, over what the agent gets.")
    since: int | None = Field(
        default=None,
        ge=1,
        description="The commit, counted from 0, that brought the mistake; left out, it was always there.",
    )
    later: list[LaterCommit] = Field(
        default_factory=list[LaterCommit],
        description="Commits on branches that are to be merged, one each; the first is on main.",
    )

    def broken(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return what the agent gets, from the repository's text files. Raises InputError where the patch does not fit."""
        return self._patched(files, "setup", self.setup)

    def mended(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return what the reference patch makes of the agent's files. Raises InputError where it does not fit."""
        return self._patched(files, "fix", self.fix)

    def tested(self, files: Mapping[str, str]) -> dict[str, str]:
        """Return the agent's files with the hidden tests. Raises InputError where the patch does not fit."""
        return self._patched(files, "tests", self.tests)

    def _patched(self, files: Mapping[str, str], key: str, patch: str) -> dict[str, str]:
        try:
            return applied(files, patch)
        except InputError as error:
            raise error.at(place=f"{key} of {self.id}") from None


def task_lines(tasks: Iterable[BugTask]) -> bytes:
    """Return tasks as lines of JSON."""
    return b"".join(task.model_dump_json(exclude_defaults=True).encode() + b"\n" for task in tasks)


def read_tasks(file: Path) -> list[BugTask]:
    """Read a file of tasks. Raises InputError with the line."""
    try:
        lines = file_bytes(file).splitlines()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    return [
        parse_line(BugTask, text, file=file, line=number, what="a task")
        for number, text in enumerate(lines, start=1)
        if text.strip()
    ]

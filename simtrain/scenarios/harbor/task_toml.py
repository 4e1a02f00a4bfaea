"""A task.toml with the line of each key, and the parts of it that a scenario is made of.

The format is that of Harbor 0.26 (harbor/models/task/config.py), schema 1.4. Keys that have no part here are passed over, as Harbor does.
"""

import re
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from simtrain.files.file_bytes import file_text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_object

NEWEST = (1, 4)
"""The newest schema that is known."""
_HEADER = re.compile(r"^\s*\[(\[)?\s*([\w.\"'-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([\w-]+|\"[^\"]+\")(?:\s*\.\s*([\w-]+))?\s*=")
_TEMPLATE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


class _TaskPart(BaseModel):
    model_config = ConfigDict(frozen=True)


class TaskAgent(_TaskPart):
    """How the agent is run."""

    timeout_sec: float | None = Field(default=None, gt=0)
    user: str | int | None = None


class TaskVerifier(_TaskPart):
    """How the tests are run."""

    timeout_sec: float = Field(default=600.0, gt=0)
    env: dict[str, str] = Field(default_factory=dict[str, str])
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: JsonObject | None = None


class TaskEnvironment(_TaskPart):
    """The container."""

    docker_image: str | None = None
    os: str = "linux"
    gpus: int | None = None
    tpu: JsonObject | None = None
    env: dict[str, str] = Field(default_factory=dict[str, str])
    workdir: str | None = None
    mcp_servers: list[JsonObject] = Field(default_factory=list[JsonObject])
    healthcheck: JsonObject | None = None


class TaskSolution(_TaskPart):
    """How the solution is run."""

    env: dict[str, str] = Field(default_factory=dict[str, str])


class TaskStep(_TaskPart):
    """One step of a task of several."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    agent: TaskAgent = TaskAgent()
    verifier: TaskVerifier = TaskVerifier()
    min_reward: float | dict[str, float] | None = None

    @property
    def thresholds(self) -> dict[str, float]:
        """Return the least rewards to go on with, by name."""
        if self.min_reward is None:
            return {}
        return self.min_reward if isinstance(self.min_reward, dict) else {"reward": self.min_reward}


class TaskToml(_TaskPart):
    """What a scenario is made of."""

    agent: TaskAgent = TaskAgent()
    verifier: TaskVerifier = TaskVerifier()
    environment: TaskEnvironment = TaskEnvironment()
    solution: TaskSolution = TaskSolution()
    steps: list[TaskStep] = Field(default_factory=list[TaskStep])
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])


def read_task_toml(path: Path) -> tuple[Document, TaskToml]:
    """Return a task.toml, as a document and parsed. Raises InputError for another version and for what needs Docker."""
    text = file_text(path)
    try:
        data: JsonObject = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = int(found[1]) if found else len(text.splitlines()) or 1
        problem = str(error)[: found.start()] if found else str(error).partition(" (at end")[0]
        raise InputError(f"this is not TOML: {problem}", file=path, line=line) from None
    document = Document(path, data, _lines(text))
    _check_version(document)
    return document, document.parse(TaskToml)


def host_free(document: Document, place: Place, given: dict[str, str]) -> dict[str, str]:
    """Return environment variables with defaults filled in. Raises InputError for one that would come from the host."""

    def value(name: str, text: str) -> str:
        for found in _TEMPLATE.finditer(text):
            if found[2] is None:
                problem = f"the variable {found[1]} would come from this machine, of which a world sees nothing"
                raise document.error((*place, name), problem, f"write a default, ${{{found[1]}:-value}}")
        return _TEMPLATE.sub(lambda found: found[2] or "", text)

    return {name: value(name, text) for name, text in given.items()}


def _check_version(document: Document) -> None:
    key = "schema_version" if "schema_version" in document.data else "version"
    version = document.data.get(key, "1.4")
    newest = ".".join(map(str, NEWEST))
    parts = str(version).split(".")
    if not all(part.isdigit() for part in parts) or len(parts) < 2:
        raise document.error((key,), f"{version!r} is no version of the format", f'write schema_version = "{newest}"')
    number = (int(parts[0]), int(parts[1]))
    if number[0] != NEWEST[0] or number > NEWEST:
        raise document.error(
            (key,),
            f"version {version} of the format is not known",
            f"versions 1.0 to {newest} are; write the file in one of them",
        )


def _lines(text: str) -> dict[Place, int]:
    """Return the line of each key and table. Keys that are written in a rarer way have that of their table."""
    lines: dict[Place, int] = {(): 1}
    table: Place = ()
    counts: dict[Place, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None:
            names = tuple(name.strip("\"'") for name in header[2].split("."))
            table = _placed(names, counts)
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            lines.setdefault(table, number)
            for end in range(1, len(table)):
                lines.setdefault(table[:end], number)
            continue
        key = _KEY.match(line)
        if key is not None:
            place = (*table, key[1].strip('"'), *([key[2]] if key[2] else []))
            lines.setdefault(place, number)
            lines.setdefault(place[: len(table) + 1], number)
    return lines


def _placed(names: tuple[str, ...], counts: dict[Place, int]) -> Place:
    """Return the place of a table; of a list of tables, the last one is meant."""
    place: Place = ()
    for position, name in enumerate(names):
        place = (*place, name)
        if place in counts and position < len(names) - 1:
            place = (*place, counts[place])
    return place


def shell_of(document: Document, task: TaskToml) -> str | None:
    """Return which shell the task asks for with `[metadata.simtrain] shell`. Raises InputError."""
    own = task.metadata.get("simtrain")
    wanted = own.get("shell") if is_object(own) else None
    if wanted not in (None, "simulated", "bubblewrap", "docker"):
        raise document.error(
            ("metadata", "simtrain", "shell"), f"there is no shell {wanted!r}", "simulated, bubblewrap or docker"
        )
    return None if wanted is None else str(wanted)

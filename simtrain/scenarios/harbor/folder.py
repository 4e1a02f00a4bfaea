"""A Harbor folder, checked: its task.toml, image, instructions, tests and solutions. What needs Docker is refused here."""

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from simtrain.files.file_bytes import file_text
from simtrain.files.yaml_files import Document, read_document
from simtrain.scenarios.find import HARBOR_TASK
from simtrain.scenarios.harbor.task_toml import TaskToml, read_task_toml, shell_of
from simtrain.values.errors import InputError
from simtrain.values.types import as_object
from simtrain.worlds.sandbox.docker.images import built_image, docker_answers, image_of
from simtrain.worlds.sandbox.dockerfile import ContainerImage, read_dockerfile

SERVED = "x-simtrain"
"""The part of a docker-compose.yaml in which an exported folder tells which episode it plays."""
_DOCKER = "play the folder with Harbor where Docker is"
_CANARY = ("<!--", "#")


@dataclass(frozen=True, slots=True)
class HarborStep:
    """One instruction with its tests and its solution; a task without steps has one."""

    name: str
    instruction: str
    tests: tuple[Path, ...]
    solution: Path | None
    arriving: Path | None
    """The folder whose files are put into the working folder when the step begins."""


@dataclass(frozen=True, slots=True)
class HarborTask:
    """A folder of Harbor, read."""

    folder: Path
    document: Document
    toml: TaskToml
    image: ContainerImage
    steps: tuple[HarborStep, ...]

    @property
    def directory(self) -> str:
        """Return the folder in which commands begin."""
        return self.toml.environment.workdir or self.image.directory


def read_harbor_folder(folder: Path) -> HarborTask:
    """Read a folder. Raises InputError, with file and line, for what is missing or cannot be played here."""
    document, toml = read_task_toml(folder / HARBOR_TASK)
    _refuse_docker(folder, document, toml)
    image = _image(folder / "environment" / "Dockerfile", document, toml)
    if not toml.steps:
        return HarborTask(folder, document, toml, image, (_step(folder, folder, ""),))
    steps: list[HarborStep] = []
    for number, step in enumerate(toml.steps):
        place = folder / "steps" / step.name
        if not place.is_dir():
            raise document.error(("steps", number, "name"), f"there is no folder steps/{step.name}", "add it")
        steps.append(_step(folder, place, step.name))
    return HarborTask(folder, document, toml, image, tuple(steps))


def _image(dockerfile: Path, document: Document, toml: TaskToml) -> ContainerImage:
    """Return the image of a task: read, if that will do, else Docker's where it is. Raises InputError."""
    shell = shell_of(document, toml)
    if not dockerfile.is_file():
        named = toml.environment.docker_image
        if named is None:
            remedy = "add it, with FROM, COPY, WORKDIR, ENV and USER"
            raise InputError("there is no such file", remedy=remedy, file=dockerfile)
        if shell in (None, "docker") and docker_answers():
            return image_of(named, told_by=document.path)
        problem = f"the image {named!r} needs Docker"
        raise document.error(("environment", "docker_image"), problem, f"add environment/Dockerfile, or {_DOCKER}")
    if shell == "docker":
        return built_image(dockerfile)
    try:
        return read_dockerfile(dockerfile)
    except InputError:
        if shell is None and docker_answers():
            return built_image(dockerfile)
        raise


def _refuse_docker(folder: Path, document: Document, toml: TaskToml) -> None:
    compose = folder / "environment" / "docker-compose.yaml"
    if compose.exists():
        _refuse_services(compose)
    environment, verifier = toml.environment, toml.verifier
    if environment.os.lower() != "linux":
        raise document.error(("environment", "os"), f"a task for {environment.os} cannot be played here", _DOCKER)
    if environment.gpus or environment.tpu:
        key = "gpus" if environment.gpus else "tpu"
        raise document.error(("environment", key), "a world has no accelerator", _DOCKER)
    if environment.mcp_servers:
        raise document.error(("environment", "mcp_servers"), "servers beside the container need Docker", _DOCKER)
    if environment.healthcheck:
        raise document.error(("environment", "healthcheck"), "a service to wait for needs Docker", _DOCKER)
    for place, one in (((), verifier), *((("steps", number), step.verifier) for number, step in enumerate(toml.steps))):
        if one.environment is not None or one.environment_mode == "separate":
            key = "environment" if one.environment is not None else "environment_mode"
            raise document.error(
                (*place, "verifier", key), "a container of its own for the tests needs Docker", _DOCKER
            )


def _refuse_services(compose: Path) -> NoReturn:
    played = as_object(read_document(compose).data.get(SERVED)).get("scenario")
    if played is None:
        raise InputError("services beside the container need Docker", remedy=_DOCKER, file=compose, line=1)
    raise InputError(
        f"this folder plays a case of the scenario {played}",
        remedy=f"run {played} itself, or the folder with `harbor run --env simtrain.integrations.harbor:Environment`",
        file=compose,
    )


def _step(folder: Path, place: Path, name: str) -> HarborStep:
    instruction = place / "instruction.md"
    if not instruction.is_file():
        raise InputError("there is no such file", remedy="write there what the agent is told", file=instruction)
    text = _without_canary(file_text(instruction))
    if not text.strip():
        raise InputError("the file is empty", remedy="write there what the agent is told", file=instruction, line=1)
    tests = tuple(dict.fromkeys(part for part in (folder / "tests", place / "tests") if part.is_dir()))
    own = [part for part in reversed(tests) if (part / "test.sh").is_file()]
    if not own:
        raise InputError(
            "there is no such file",
            remedy="add the script that writes /logs/verifier/reward.txt",
            file=place / "tests" / "test.sh",
        )
    solutions = [part / "solution" for part in (place, folder) if (part / "solution" / "solve.sh").is_file()]
    arriving = place / "workdir" if name and (place / "workdir").is_dir() else None
    if arriving is not None and (arriving / "setup.sh").is_file():
        problem = "a script that prepares a step is not run without Docker"
        raise InputError(problem, remedy="bring what it makes in the folder", file=arriving / "setup.sh", line=1)
    return HarborStep(name, text, tests, solutions[0] if solutions else None, arriving)


def _without_canary(text: str) -> str:
    """Return an instruction without the marks at its beginning by which benchmarks are found in training data, as Harbor does."""
    lines = text.split("\n")
    while lines and (lines[0].strip() == "" or ("canary" in lines[0].lower() and lines[0].strip().startswith(_CANARY))):
        lines.pop(0)
    return "\n".join(lines)

"""A case of a scenario as a Harbor folder: the world as an MCP server beside the agent's container, the reward from its graders.

Cases about repositories need no server where nothing but their tests is asked for (`repository_case.py`).

The layout is that of Harbor 0.26 (harbor/models/task): task.toml of schema 1.4, instruction.md, environment/, tests/, solution/.
"""

import json
import re
import shutil
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import yaml
from pydantic import Field

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.files.file_model import FileModel
from simtrain.files.whole_folder import whole_folder
from simtrain.integrations.harbor.repository_case import NeedsWorld, RepositoryCase, is_of_repository, repository_case
from simtrain.integrations.harbor.scripts import grade, play
from simtrain.integrations.harbor.sidecar import CONTROL_PORT, PORT, SERVICE, TOKEN, SidecarEpisode
from simtrain.mcp.serve.wire_tools import wire_tools
from simtrain.public import episode, open_episode, rollout
from simtrain.scenarios.find import shipped_root
from simtrain.scenarios.harbor.folder import SERVED
from simtrain.values.errors import InputError
from simtrain.values.version import VERSION
from simtrain.worlds.machine.source import MachineSource

ANSWER_FILE = "/app/answer.txt"
_MOST_BYTES = 64 << 20
_REFUSED = re.compile(r"[^a-z0-9]+")
_PLAYERS = ("oracle", "resilient")

INSTRUCTION = """{prompt}

---

Work with the tools of the MCP server `{service}` ({url}). Use only what they return; never invent a value. Change nothing beyond what the
task asks for.

When you are done, write what your last reply would say into the file `{answer_file}`: the answer on a line that starts with `ANSWER:`,
or, if the task cannot be done as it was asked, the reason on a line that starts with `CANNOT:`.
"""
TEST = """#!/bin/bash
exec python3 "$(dirname "$0")/grade.py"
"""
SOLVE = """#!/bin/bash
exec python3 "$(dirname "$0")/play.py"
"""
DOCKERFILE = """FROM python:3.12-slim
WORKDIR /app
"""
WORLD_DOCKERFILE = """FROM python:3.12-slim
COPY . /world
WORKDIR /world
RUN pip install --no-cache-dir "{install}"
{sandbox}ENTRYPOINT ["simtrain"]
"""


@dataclass(frozen=True, slots=True)
class HarborFolder:
    """A folder that was written, and the rewards that the solution and an idle agent earn in the scenario itself.

    `alone` is True where nothing is served beside the container. Where a case about a repository needs that, `because` says why.
    """

    folder: Path
    solution: float
    nop: float
    calls: int
    alone: bool = False
    because: str = ""


class FolderOptions(FileModel):
    """Which case is written, and how the image of its world gets simtrain."""

    case: int | None = Field(default=None, ge=0, description="The number of the case; all cases without it.")
    seed: int = Field(default=0, description="The seed of the episode.")
    served: bool = Field(
        default=False, description="Whether the world of a case about a repository is served too, as other worlds are."
    )
    install: str | None = Field(
        default=None,
        description="What pip installs there: a requirement, or the file of a wheel; simtrain in this version.",
    )


async def write_harbor_folder(
    scenario: Scenario,
    out: Path,
    *,
    case: int = 0,
    options: FolderOptions = FolderOptions(),  # noqa: B008
) -> HarborFolder:
    """Write a case of a scenario as a folder below `out`, which is replaced if it is there.

    Raises InputError for a case that no plan solves.
    """
    seed = options.seed
    found = episode(scenario, case=case, seed=seed)
    solved = await _solved(found)
    idle = await rollout(found, "nop")
    folder = out / _name(found)
    own = "" if options.served else _on_its_own(found, solved)
    with whole_folder(folder) as place:
        # Of a scenario's own system prompt, which may tell the form of the answer; others get what this page says.
        prompt = "\n\n".join(part.strip() for part in (scenario.spec.system or "", solved.prompt) if part.strip())
        if isinstance(own, RepositoryCase):
            own.write(place)
            (place / "instruction.md").write_text(own.instruction(prompt))
            (place / "task.toml").write_text(_task(found, solved, idle, seconds=own.seconds))
        else:
            served, source = _served(found, case, seed)
            _environment(found, place / "environment", served, options.install, source=source, out=out)
            _tests(place / "tests", served)
            _solution(place / "solution", found, solved)
            url = f"http://{SERVICE}:{PORT}/mcp"
            text = INSTRUCTION.format(prompt=prompt, service=SERVICE, url=url, answer_file=ANSWER_FILE)
            (place / "instruction.md").write_text(text)
            (place / "task.toml").write_text(_task(found, solved, idle, url=url))
    alone = isinstance(own, RepositoryCase)
    because = "" if isinstance(own, RepositoryCase) else own
    return HarborFolder(folder, solved.reward or 0.0, idle.reward or 0.0, len(solved.steps), alone, because)


def _on_its_own(found: Episode, solved: Trajectory) -> RepositoryCase | str:
    """Return a case about a repository that stands in a folder of its own, or why it does not; empty for any other case."""
    if not is_of_repository(found):
        return ""
    try:
        return repository_case(found, solved)
    except NeedsWorld as reason:
        return str(reason)


async def _solved(found: Episode) -> Trajectory:
    """Return the episode as the reference plan solves it. Raises InputError if neither the oracle nor a resilient agent does."""
    earned: list[str] = []
    for player in _PLAYERS:
        trajectory = await rollout(found, player)
        if trajectory.reward is not None and trajectory.reward >= SUCCESS:
            return trajectory
        earned.append(f"{player} {trajectory.reward if trajectory.reward is not None else trajectory.stop.detail}")
    raise InputError(
        f"the case {found.id} has no solution that earns 1 ({', '.join(earned)})",
        remedy="prove the family with `simtrain validate`, or export another case",
        file=found.scenario.document.path,
    )


def _name(found: Episode) -> str:
    plain = _REFUSED.sub("-", f"{found.scenario.name}-{found.id}".lower()).strip("-")
    return plain if found.seed == 0 else f"{plain}-s{found.seed}"


def _served(found: Episode, case: int, seed: int) -> tuple[SidecarEpisode, Path | None]:
    """Return the episode to serve, and the folder whose files it needs if the scenario does not ship with simtrain."""
    # Whoever can compute the token has the scenario, and with it the answer.
    token = blake2b(f"harbor\0{found.scenario.digest}\0{found.id}\0{seed}".encode(), digest_size=16).hexdigest()
    path = found.scenario.document.path.resolve()
    if path.is_relative_to(shipped_root().resolve() / "scenarios"):
        return SidecarEpisode(scenario=found.scenario.name, case=case, seed=seed, token=token), None
    roots = [folder.parent for folder in path.parents if folder.name == "scenarios"]
    if roots:
        return SidecarEpisode(scenario=found.scenario.name, case=case, seed=seed, token=token), roots[0]
    return SidecarEpisode(scenario=path.name, case=case, seed=seed, token=token), path.parent


def _extras(found: Episode) -> list[str]:
    """Return the extras that the world of an episode needs."""
    source = found.scenario.source
    if not isinstance(source, MachineSource):
        return []
    # Every machine has git.
    return ["git", "python"] if source.spec.python else ["git"]


def _environment(
    found: Episode, place: Path, served: SidecarEpisode, install: str | None, *, source: Path | None, out: Path
) -> None:
    world = place / "world"
    world.mkdir(parents=True)
    (place / "Dockerfile").write_text(DOCKERFILE)
    wanted = install or f"simtrain=={VERSION}"
    extras = _extras(found)
    named = f"[{','.join(extras)}]" if extras else ""
    if wanted.endswith(".whl"):
        wheel = Path(wanted)
        if not wheel.is_file():
            raise InputError("there is no such wheel", remedy="make it with `make wheel`", file=wheel)
        shutil.copy(wheel, world / wheel.name)
        wanted = f"./{wheel.name}{named}"
    elif wanted.startswith("simtrain=="):
        wanted = f"simtrain{named}{wanted.removeprefix('simtrain')}"
    sandbox = "RUN simtrain doctor --build\n" if "python" in extras else ""
    (world / "Dockerfile").write_text(WORLD_DOCKERFILE.format(install=wanted, sandbox=sandbox))
    if source is not None:
        _copy_files(source, world, without=out.resolve())
    ports = {"host": "0.0.0.0", "port": PORT, "control_port": CONTROL_PORT}
    services = {
        "main": {"depends_on": {SERVICE: {"condition": "service_healthy"}}},
        SERVICE: {
            "build": {"context": "./world"},
            "command": served.command(**ports),  # pyright: ignore[reportArgumentType]
            "environment": {TOKEN: served.token},
            "healthcheck": {
                "test": ["CMD", "python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {PORT}))"],
                "interval": "1s",
                "retries": 120,
            },
        },
    }
    compose = {"services": services, SERVED: served.model_dump()}
    (place / "docker-compose.yaml").write_text(yaml.safe_dump(compose, sort_keys=False))


def _copy_files(source: Path, world: Path, *, without: Path) -> None:
    """Copy a user's own scenarios, worlds and packs, but not what is written `without`. Raises InputError if that is too much."""
    parts = [source / name for name in ("scenarios", "worlds", "perturbations") if (source / "scenarios").is_dir()]
    found = [
        path
        for part in parts or [source]
        for path in sorted(part.rglob("*"))
        if path.is_file() and not path.resolve().is_relative_to(without)
    ]
    size = 0
    for path in found:
        inner = path.relative_to(source)
        if path.resolve().is_relative_to(without) or any(
            name.startswith(".") or name in ("__pycache__", "runs") for name in inner.parts
        ):
            continue
        size += path.stat().st_size
        if size > _MOST_BYTES:
            remedy = "put the scenario and what it needs into a folder of their own"
            raise InputError(
                f"the files beside the scenario are more than {_MOST_BYTES >> 20} MiB", remedy=remedy, file=source
            )
        goal = world / inner
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, goal)


def _tests(place: Path, served: SidecarEpisode) -> None:
    place.mkdir()
    shutil.copy(grade.__file__, place / "grade.py")
    facts = {"control": f"http://{SERVICE}:{CONTROL_PORT}", "token": served.token, "answer_file": ANSWER_FILE}
    (place / "episode.json").write_text(json.dumps(facts, indent=2) + "\n")
    _script(place / "test.sh", TEST)


def _solution(place: Path, found: Episode, solved: Trajectory) -> None:
    place.mkdir()
    shutil.copy(play.__file__, place / "play.py")
    environment = open_episode(found)
    world = environment.finished().initial
    names = wire_tools(environment.tools, world.descriptors).names
    calls = [
        {"name": names.get(step.action.tool, step.action.tool), "arguments": step.action.arguments}
        for step in solved.steps
    ]
    declined = solved.stop.reason == "abstained"
    answer = None if solved.answer is None else f"{'CANNOT' if declined else 'ANSWER'}: {solved.answer}\n"
    facts = {"url": f"http://{SERVICE}:{PORT}/mcp", "calls": calls, "answer": answer, "answer_file": ANSWER_FILE}
    (place / "calls.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    _script(place / "solve.sh", SOLVE)


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _task(found: Episode, solved: Trajectory, idle: Trajectory, *, url: str | None = None, seconds: int = 120) -> str:
    """Return the task.toml; `url` is that of the server of the world, `seconds` what the tests may take."""
    scenario = found.scenario
    description = scenario.spec.description.strip() or f"A case of {scenario.name}"
    turns = found.limits.turns
    lines = [
        'schema_version = "1.4"',
        "",
        "[task]",
        f"name = {json.dumps('simtrain/' + _name(found))}",
        f"description = {json.dumps(description.splitlines()[0])}",
        "",
        "[metadata.simtrain]",
        f"version = {json.dumps(VERSION)}",
        f"scenario = {json.dumps(scenario.name)}",
        f"digest = {json.dumps(scenario.digest)}",
        f"episode = {json.dumps(found.id)}",
        f"seed = {found.seed}",
        f"solution_calls = {len(solved.steps)}",
        f"turns = {turns}",
        f"nop_reward = {idle.reward or 0.0}",
        "",
        "[verifier]",
        f"timeout_sec = {seconds:.1f}",
        "",
        "[agent]",
        "timeout_sec = 1800.0",
        "",
        "[environment]",
        "build_timeout_sec = 600.0",
    ]
    if url is not None:
        lines += ["", "[[environment.mcp_servers]]", f"name = {json.dumps(SERVICE)}"]
        lines += ['transport = "streamable-http"', f"url = {json.dumps(url)}"]
    return "\n".join(lines) + "\n"

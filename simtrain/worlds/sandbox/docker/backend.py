"""The sandbox `docker`: a container of an image for each run, on any machine whose Docker answers."""

import re
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

from pydantic import Field

from simtrain.contracts.sandbox import OpenSandbox, SandboxBackend, SandboxProbe
from simtrain.contracts.sandbox_runs import Ending, Entry, File, Folder, SandboxCommand, SandboxOutcome
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.sandbox.docker.archive import check_paths, packed, unpacked
from simtrain.worlds.sandbox.docker.changes import compared
from simtrain.worlds.sandbox.docker.client import HELD, daemon_version, default_image, docker, found_in
from simtrain.worlds.sandbox.docker.container import ContainerShape, Leftovers, NotBegun, SandboxContainer
from simtrain.worlds.sandbox.docker.places import SEEDS, below, carried, mounts_of
from simtrain.worlds.sandbox.packages import search_path
from simtrain.worlds.sandbox.wording import steadied, steadied_time

_NOBODY = 65_534
_HEADER = 2_048
"""Bytes of an archive for each entry, long names aside."""
_SPARE = 4
_HOSTNAME = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class DockerSandbox(SandboxBackend):
    """Programs of an image in a container of Docker for each run, with threads and subprocess; by the real clock, as bubblewrap."""

    image: str = Field(
        default_factory=default_image, description="The image; SIMTRAIN_DOCKER_IMAGE names another default."
    )

    def probe(self) -> SandboxProbe:
        """Ask the daemon, and run a container of the image."""
        try:
            version = daemon_version()
            python = found_in(self.image)
        except (InputError, SimulatorFault) as error:
            problem, remedy = (error.problem, error.remedy) if isinstance(error, InputError) else (str(error), None)
            return SandboxProbe(False, f"{problem}; {remedy}" if remedy else problem)
        return SandboxProbe(True, f"Docker {version}, image {self.image} with {python}")

    @contextmanager
    def opened(self) -> Generator[OpenSandbox]:
        """Give out containers. Raises InputError if Docker does not answer, or has not the image."""
        daemon_version()
        found_in(self.image)
        containers = Containers(self.image)
        try:
            yield containers
        finally:
            containers.close()


class Containers:
    """Runs each command in a container of its own, which has begun before where the last commands were alike."""

    def __init__(self, image: str) -> None:
        self._image = image
        self._lock = threading.Lock()
        self._spare: dict[ContainerShape, SandboxContainer] = {}
        self._seen: set[ContainerShape] = set()
        self._ending: list[SandboxContainer] = []
        self._seed: dict[str, Entry] | None = None

    def run(self, command: SandboxCommand) -> SandboxOutcome:
        """Run a command to its end or to a limit. Raises SimulatorFault if Docker itself fails."""
        check_paths(command.files)
        try:
            return self._run(command)
        except NotBegun:
            # A busy daemon may lose a command on its way into a container.
            return self._run(command)

    def _run(self, command: SandboxCommand) -> SandboxOutcome:
        shape = self._shape(command)
        seeds = {path: entry for path, entry in self._seeds().items() if below(path, shape.mounts)}
        given = {**seeds, **carried(command.files, shape.mounts)}
        container = self._taken(shape)
        left: Leftovers | Ending = "crash"
        try:
            there = {**carried({command.cwd: Folder()}, shape.mounts), **given}
            fresh = container.put(packed(there, start=command.start, access=command.access))
            ran = container.run(
                command.argv,
                env={"PYTHONHASHSEED": str(command.seed % (1 << 32)), **command.env, **search_path(command)},
                directory=command.cwd,
                stdin=command.stdin,
                limits=command.limits,
            )
            left = container.take(shape.scratch + _HEADER * shape.files)
        finally:
            if isinstance(left, Leftovers):
                self._let_go(container)
            else:
                container.remove()
        self._make_spare(shape)
        passed = steadied_time(ran.seconds)
        after = compared(command, given, left, mounts=shape.mounts, now=command.start + passed, fresh=fresh)
        ended_by = ran.ended_by or after.ended_by or _ending(ran.code, left)
        return SandboxOutcome(
            exit_code=137 if ended_by else ran.code,
            output=steadied(ran.output),
            changes=after.changes,
            ended_by=ended_by,
            seconds=passed,
            exact=False,
        )

    def close(self) -> None:
        """End the containers that are waiting, and wait for those that are ending."""
        with self._lock:
            ending = [*self._ending, *self._spare.values()]
            self._spare, self._ending = {}, []
        for container in ending:
            container.close()
        for container in ending:
            container.wait()

    def _shape(self, command: SandboxCommand) -> ContainerShape:
        limits = command.limits
        name = command.files.get("/etc/hostname")
        hostname = name.content.decode(errors="replace").strip() if isinstance(name, File) else ""
        hostname = hostname if _HOSTNAME.fullmatch(hostname) else "localhost"
        return ContainerShape(
            image=self._image,
            mounts=mounts_of(command.files, command.cwd, command.access),
            user=command.uid or _NOBODY,
            group=command.gid or _NOBODY,
            hostname=hostname,
            memory=limits.memory,
            # Rounded up, so that commands whose files have grown a little are of one shape.
            scratch=1 << max(20, (limits.scratch - 1).bit_length()),
            files=1 << max(10, (limits.files - 1).bit_length()),
        )

    def _taken(self, shape: ContainerShape) -> SandboxContainer:
        with self._lock:
            container = self._spare.pop(shape, None)
        return container if container is not None and not container.ended else SandboxContainer(shape)

    def _let_go(self, container: SandboxContainer) -> None:
        container.close()
        with self._lock:
            self._ending = [one for one in self._ending if not one.ended]
            self._ending.append(container)

    def _make_spare(self, shape: ContainerShape) -> None:
        """Begin a container for the next command of a shape, while the caller thinks. One that came once may not come again."""
        with self._lock:
            if shape in self._seen and shape not in self._spare:
                self._spare[shape] = SandboxContainer(shape)
            self._seen.add(shape)
            aside = [self._spare.pop(one) for one in list(self._spare)[:-_SPARE]]
        for one in aside:
            self._let_go(one)

    def _seeds(self) -> dict[str, Entry]:
        """Return what anybody may read of the image where folders are mounted over it and programs still look for it."""
        with self._lock:
            if self._seed is None:
                ran = docker(
                    *("run", "--rm", *HELD, "--user", f"{_NOBODY}:{_NOBODY}", "--entrypoint", "/bin/sh", self._image),
                    *("-c", 'tar -cf - "$@" 2>/dev/null; true', "seeds", *SEEDS),
                )
                found = {path: left.entry for path, left in unpacked(ran.stdout, modes={})}
                self._seed = carried(found, ("/etc", "/var"))
            return self._seed


def _ending(code: int, left: Leftovers | Ending) -> Ending | None:
    if isinstance(left, Leftovers) and left.full and code:
        return "scratch"
    if code == 128 + signal.SIGKILL:
        return "memory" if isinstance(left, Leftovers) and left.out_of_memory else "work"
    return "work" if code == 128 + signal.SIGXCPU else None

"""Harbor's environment in bubblewrap, for machines without Docker: `harbor run --env simtrain.integrations.harbor:Environment`.

Harbor 0.26 (harbor/environments/base.py): an environment starts, stops, copies files in and out, and carries out command lines.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false, reportUntypedBaseClass=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false

import tarfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult, transfer_tar_filter
from harbor.environments.capabilities import EnvironmentCapabilities

from simtrain.integrations.harbor.container import Container
from simtrain.integrations.harbor.sidecar import Sidecar, read_sidecar, served_world
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.sandbox.dockerfile import ContainerImage, read_dockerfile

_MEMORY_MB, _STORAGE_MB = 4096, 2048


class HarborEnvironment(BaseEnvironment):
    """Plays a task in bubblewrap: the Dockerfile is interpreted as far as it can be, and a simulated world is served beside it.

    There is no network, and one user only, whoever is asked for. What needs Docker is refused before anything starts.
    """

    def __init__(self, *args: object, **knobs: object) -> None:
        self._stack = AsyncExitStack()
        self._container: Container | None = None
        self._image: ContainerImage | None = None
        self._sidecar: Sidecar | None = None
        super().__init__(*args, **knobs)

    @staticmethod
    def type() -> str:
        """Return its name."""
        return "simtrain"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Return what it can do: without network, and nothing beyond."""
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        dockerfile = self.environment_dir / "Dockerfile"
        if self.task_env_config.docker_image and not dockerfile.is_file():
            remedy = "add an environment/Dockerfile that begins with one of Python, or play it where Docker is"
            image = self.task_env_config.docker_image
            raise InputError(
                f"the image {image!r} needs Docker", remedy=remedy, file=self.environment_dir.parent / "task.toml"
            )
        if not dockerfile.is_file():
            raise InputError("there is no such file", remedy="add a Dockerfile", file=dockerfile)
        self._image = read_dockerfile(dockerfile)
        compose = self.environment_dir / "docker-compose.yaml"
        self._sidecar = read_sidecar(compose) if compose.is_file() else None

    async def start(self, force_build: bool) -> None:
        """Serve the world of the task if it has one, and start the container."""
        assert self._image is not None
        sidecar = self._sidecar
        reach = {} if sidecar is None else await self._stack.enter_async_context(served_world(sidecar))
        container = Container(
            self._image,
            memory=(self._effective_memory_mb or _MEMORY_MB) << 20,
            storage=(self._effective_storage_mb or _STORAGE_MB) << 20,
            reach=reach,
            names=() if sidecar is None else (sidecar.service,),
        )
        self._stack.push_async_callback(container.stop)
        await container.start()
        self._container = container
        await self.ensure_dirs(self._mount_targets(writable_only=True) or _LOGS)
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:
        """Stop both. Files are removed in any case."""
        self._container = None
        await self._stack.aclose()

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the container."""
        await self._running.put(Path(source_path), target_path)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy what is in a folder into one of the container."""
        await self._running.put(Path(source_dir), target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out of the container. Raises FileNotFoundError."""
        target = Path(target_path)
        made = await self._archived(source_path)
        try:
            with tarfile.open(made) as archive:
                member = archive.next()
                content = archive.extractfile(member) if member is not None and member.isreg() else None
                if content is None:
                    raise FileNotFoundError(f"{source_path} is no regular file")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
        finally:
            made.unlink()

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy what is in a folder out of the container."""
        made = await self._archived(source_dir)
        try:
            with tarfile.open(made) as archive:
                Path(target_dir).mkdir(parents=True, exist_ok=True)
                archive.extractall(target_dir, filter=transfer_tar_filter)
        finally:
            made.unlink()

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command line in a bash of its own."""
        directory = cwd or self.task_env_config.workdir
        argv = ["bash", "-c", command]
        done = await self._running.run(argv, cwd=directory, env=self._merge_env(env), timeout=timeout_sec)
        emit = self._output_callback()
        if emit is not None:
            if done.stdout:
                await emit(done.stdout, "stdout")
            if done.stderr:
                await emit(done.stderr, "stderr")
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.code)

    async def _archived(self, source: str) -> Path:
        try:
            return await self._running.archive(source)
        except SimulatorFault as fault:
            raise FileNotFoundError(str(fault)) from None

    @property
    def _running(self) -> Container:
        if self._container is None:
            raise RuntimeError("the environment has not been started")
        return self._container


_LOGS: Sequence[str] = ("/logs/agent", "/logs/verifier", "/logs/artifacts")

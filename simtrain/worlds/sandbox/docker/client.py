"""The command `docker`: what it says, and what its failures mean. Which daemon answers, it finds as it does everywhere."""

import json
import os
import subprocess
from collections.abc import Sequence
from functools import cache

from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject

IMAGE = "SIMTRAIN_DOCKER_IMAGE"
"""The environment variable that names the image where no world does."""
DEFAULT_IMAGE = "python:3.12-slim"
_PATIENCE = 60.0
HELD = ("--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none")
"""Options of every container: no network, no privileges, and nothing of what it says on the daemon's disk."""


def default_image() -> str:
    """Return the image that is taken where no world names one."""
    return os.environ.get(IMAGE) or DEFAULT_IMAGE


def docker(
    *arguments: str, stdin: bytes = b"", timeout: float = _PATIENCE, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run `docker` with arguments and return how it ended. Raises SimulatorFault if it cannot be run, or takes too long."""
    try:
        return subprocess.run(
            ["docker", *arguments], input=stdin, capture_output=True, timeout=timeout, env={**os.environ, **(env or {})}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SimulatorFault(f"docker {arguments[0]} cannot be run: {error}") from None


def answer(*arguments: str) -> str:
    """Return what `docker` printed. Raises SimulatorFault if it failed."""
    ran = docker(*arguments)
    if ran.returncode:
        raise SimulatorFault(f"docker {arguments[0]} failed: {complaint(ran.stderr)}")
    return ran.stdout.decode(errors="replace").strip()


def complaint(stderr: bytes) -> str:
    """Return why `docker` failed, in one line."""
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    said = next((line for line in lines if "rror" in line), lines[-1] if lines else "no reason given")
    return said.strip().removeprefix("docker: ").removesuffix(".")[:300]


def daemon_version() -> str:
    """Return the version of the daemon. Raises InputError, with the remedy, where none answers."""
    remedy = "install Docker, start its daemon, and set DOCKER_HOST where its socket is not the usual one"
    try:
        ran = docker("version", "--format", "{{.Server.Version}}", timeout=20)
    except SimulatorFault as fault:
        missing = "No such file" in str(fault)
        raise InputError("docker is not installed" if missing else str(fault), remedy=remedy) from None
    if ran.returncode:
        raise InputError(f"no daemon answers: {complaint(ran.stderr)}", remedy=remedy)
    return ran.stdout.decode().strip()


def inspected(image: str) -> JsonObject:
    """Return what the daemon knows of an image. Raises InputError, with the remedy, if it is not there."""
    ran = docker("image", "inspect", image)
    if ran.returncode:
        raise InputError(
            f"there is no image {image!r}",
            remedy=f"docker pull {image}, or name another: `docker:IMAGE`, or {IMAGE}",
        )
    found: JsonObject = json.loads(ran.stdout)[0]
    return found


@cache
def found_in(image: str) -> str:
    """Return which Python an image has, having run it. Raises InputError if it cannot hold a sandbox."""
    inspected(image)
    script = "command -v tar dd find stat >/dev/null || exit 3; python3 --version 2>/dev/null || echo no Python"
    ran = docker(
        "run", "--rm", *HELD, "--read-only", "--user", "65534:65534", "--entrypoint", "/bin/sh", image, "-c", script
    )
    if ran.returncode == 3:
        raise InputError(f"the image {image} lacks tar, dd, find or stat", remedy="take one that has them")
    if ran.returncode:
        raise InputError(
            f"the image {image} cannot be run: {complaint(ran.stderr)}", remedy="see whether it has a /bin/sh"
        )
    return ran.stdout.decode().strip()


def arguments_of(variables: Sequence[tuple[str, str]]) -> list[str]:
    """Return the options that set environment variables."""
    return [part for name, value in variables for part in ("--env", f"{name}={value}")]

"""Docker for tests: the daemon that answers, or the one of `.ci/install docker`; skips, with the reason, where there is none."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

IMAGE = "SIMTRAIN_DOCKER_IMAGE"
OURS = Path(os.environ.get("SIMTRAIN_CACHE") or Path.home() / ".cache/simtrain") / "docker"
"""Where `.ci/install docker` keeps its daemon."""
IMAGES = ("simtrain-tests:latest", "debian:bookworm-python", "python:3.12-slim")


@cache
def missing() -> str:
    """Why no container can be had here; nothing if one can. Chooses daemon and image for this process."""
    there = _images()
    if there is None and "DOCKER_HOST" not in os.environ and (OURS / "docker.sock").exists():
        os.environ["DOCKER_HOST"] = f"unix://{OURS / 'docker.sock'}"
        os.environ["PATH"] += f":{OURS / 'root/usr/bin'}"
        there = _images()
    if there is None:
        return "no Docker daemon answers; .ci/install docker starts one where it can"
    if IMAGE not in os.environ:
        fit = [image for image in IMAGES if image in there]
        if not fit:
            return f"the Docker daemon has none of the images {', '.join(IMAGES)}; {IMAGE} names another"
        os.environ[IMAGE] = fit[0]
    return ""


def _images() -> list[str] | None:
    if shutil.which("docker") is None:
        return None
    line = ["docker", "images", "--format", "{{.Repository}}:{{.Tag}}"]
    asked = subprocess.run(line, capture_output=True, text=True)
    return None if asked.returncode else asked.stdout.split()


def need_docker() -> str:
    """Return the image to use; skips where there is no daemon or no image."""
    if missing():
        pytest.skip(f"NOT TESTED WITH DOCKER: {missing()}")
    return os.environ[IMAGE]


def docker(*arguments: str) -> str:
    """Run `docker`, and return what it printed."""
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout


@contextmanager
def running_box() -> Generator[str]:
    """A container in which nothing runs; its name."""
    name = f"simtrain-box-{secrets.token_hex(4)}"
    docker("run", "--detach", "--init", "--network", "none", "--name", name, need_docker(), "sleep", "600")
    try:
        yield name
    finally:
        docker("rm", "--force", name)


def processes(box: str) -> list[str]:
    """The command lines of what runs in a container, beside its first process and the question itself."""
    script = "for one in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $one; echo; done 2>/dev/null"
    lines = {line.strip() for line in docker("exec", box, "sh", "-c", script).splitlines()}
    return sorted(line for line in lines if line and not line.startswith(("/sbin/docker-init", "sh -c", "tr ")))

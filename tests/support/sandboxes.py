"""Sandboxes for tests: those that run on this machine, opened once, and short ways to run a program in them."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from containers import need_docker

from simtrain.contracts.registry import resolve
from simtrain.contracts.sandbox import OpenSandbox, SandboxBackend
from simtrain.contracts.sandbox_runs import Entry, File, SandboxCommand, SandboxLimits, SandboxOutcome
from simtrain.values.errors import InputError
from simtrain.worlds.sandbox.bubblewrap import BubblewrapSandbox
from simtrain.worlds.sandbox.wasm.component import build_component, cache_folder, found_component


@contextmanager
def opened(name: str) -> Generator[OpenSandbox]:
    """The sandbox of this name, running; skips, with the reason, where it does not work. `wasm` is built if it has to be."""
    if name == "wasm":
        built()
    sandbox: SandboxBackend = resolve("sandboxes", name)()
    probe = sandbox.probe()
    if not probe.ok:
        pytest.skip(f"the sandbox {name} does not work here: {probe.found}")
    with sandbox.opened() as running:
        yield running


def real_clock_sandbox(kind: str) -> str:
    """The name by which a world asks for `bubblewrap` or `docker`; skips, with the reason, where it does not work."""
    if kind == "docker":
        return f"docker:{need_docker()}"
    probe = BubblewrapSandbox().probe()
    if not probe.ok:
        pytest.skip(f"the sandbox bubblewrap does not work here: {probe.found}")
    return kind


def built() -> None:
    """Build the sandbox `wasm` if it has to be; skips, with the reason, where that is not possible."""
    try:
        if found_component() is not None:
            return
    except InputError as error:
        pytest.skip(str(error))
    cache_folder().mkdir(parents=True, exist_ok=True)
    # The workers of one run of pytest wait for the one that builds.
    with (cache_folder() / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found_component() is None:
            build_component(on_step=lambda step: None)


def texts(files: dict[str, str]) -> dict[str, Entry]:
    """Texts as files of the folder /w."""
    return {f"/w/{name}": File(text.encode()) for name, text in files.items()}


def python(
    box: OpenSandbox,
    *argv: str,
    files: dict[str, str] | None = None,
    stdin: str = "",
    env: dict[str, str] | None = None,
    seed: int = 0,
    limits: SandboxLimits | None = None,
) -> SandboxOutcome:
    """Run `python3 ARGV` in /w."""
    return box.run(
        SandboxCommand(
            ("python3", *argv),
            files=texts(files or {}),
            stdin=stdin.encode(),
            env={"HOME": "/tmp", "LANG": "C.UTF-8", **(env or {})},
            cwd="/w",
            seed=seed,
            limits=limits or SandboxLimits(wall=60.0),
        )
    )


def said(outcome: SandboxOutcome) -> str:
    """What a run that went well wrote to standard output."""
    assert outcome.exit_code == 0, outcome
    return outcome.stdout.decode()

"""A session with the git stand-in, and git itself, for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simtrain.contracts.request import Request
from simtrain.contracts.world import World, WorldState
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.values.types import Observation
from simtrain.worlds.argument_styles.pydantic import pydantic

TIDE, NOTES = "/repos/tidewatch", "/repos/harbor-notes"
GIT = shutil.which("git")
with_git = pytest.mark.skipif(GIT is None, reason="git is not installed")
PLAIN = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}


def world() -> World:
    return load_world(find("worlds", "git")).build()


def git(*words: str, folder: Path, fine: tuple[int, ...] = (0,), **env: str) -> str:
    assert GIT is not None
    done = subprocess.run(
        [GIT, *words], cwd=folder, env={**os.environ, **PLAIN, **env}, capture_output=True, timeout=60
    )
    assert done.returncode in fine, done.stderr.decode()
    return done.stdout.decode(errors="replace")


class Server:
    """The stand-in in one episode."""

    def __init__(self, state: WorldState | None = None, repo: str = TIDE) -> None:
        self.state = world().open() if state is None else state
        self.repo = repo
        self._tools = {tool.name: tool for tool in world().tools}

    def call(self, tool: str, **arguments: Any) -> Observation:
        spec = self._tools[f"git_{tool}"]
        checked = pydantic(spec.name, spec.input_schema)({"repo_path": self.repo, **arguments})
        assert checked.problem is None, checked.problem
        self.state.clock.tick()
        return self.state.answer(Request(spec, checked.arguments, 0, 0))

    def says(self, tool: str, **arguments: Any) -> str:
        said = self.call(tool, **arguments)
        assert not said.is_error, said.text
        return said.text

    def refuses(self, tool: str, **arguments: Any) -> str:
        said = self.call(tool, **arguments)
        assert said.is_error, said.text
        start = f"Error executing tool git_{tool}: "
        assert said.text.startswith(start)
        return said.text.removeprefix(start)

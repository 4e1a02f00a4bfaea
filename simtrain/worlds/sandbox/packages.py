"""The packages that programs in a sandbox may import beside the standard library: pytest with what it needs, and those of the world."""

import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from simtrain.contracts.sandbox_runs import SandboxCommand
from simtrain.values.errors import InputError

SITE = "/usr/local/lib/python3.14/dist-packages"
"""Where root of a world installs packages."""
USER_SITE = ".local/lib/python3.14/site-packages"
"""Where all others do, below their home."""
PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


def search_path(command: SandboxCommand, *further: str) -> dict[str, str]:
    """Return the variable by which a Python of another version finds the packages that a command brings, and further folders."""
    home = command.env.get("HOME")
    sites = [f"{home}/{USER_SITE}", SITE] if home else [SITE]
    brought = [site for site in sites if site in command.files]
    folders = [part for part in (command.env.get("PYTHONPATH"), *brought, *further) if part]
    return {"PYTHONPATH": ":".join(folders)} if folders else {}


def copy_packages(into: Path) -> None:
    """Copy them, as they are installed here, into a folder. Raises InputError where one is not installed."""
    into.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        try:
            files = distribution(name).files
        except PackageNotFoundError:
            remedy = "pip install 'simtrain[python]'"
            raise InputError(f"a sandbox needs {name}, which is not installed here", remedy=remedy) from None
        for file in files or ():
            # Scripts lie outside, byte code belongs to another interpreter.
            if file.suffix in (".pyc", ".exe") or file.parts[0] in ("..", "/"):
                continue
            goal = into / file
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), goal)

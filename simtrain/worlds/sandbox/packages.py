"""The packages that programs in a sandbox may import beside the standard library: pytest and what it needs."""

import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from simtrain.values.errors import InputError

PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


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

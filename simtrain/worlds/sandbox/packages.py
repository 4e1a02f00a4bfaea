"""The packages that programs in a sandbox may import beside the standard library: pytest and what it needs."""

import shutil
from importlib.metadata import distribution
from pathlib import Path

PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")


def copy_packages(into: Path) -> None:
    """Copy them, as they are installed here, into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        for file in distribution(name).files or ():
            # Scripts lie outside, byte code belongs to another interpreter.
            if file.suffix in (".pyc", ".exe") or file.parts[0] in ("..", "/"):
                continue
            goal = into / file
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(file.locate()), goal)

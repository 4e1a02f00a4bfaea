"""The component: CPython with its library and pytest in memory, built once into the user's cache and found there by digest."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from simtrain.files.whole_folder import whole_folder
from simtrain.values.errors import InputError
from simtrain.values.extras import require
from simtrain.worlds.sandbox.packages import PACKAGES, copy_packages
from simtrain.worlds.sandbox.wasm.engine import SETTINGS, compiled, new_engine

CACHE = "SIMTRAIN_CACHE"
REMEDY = "simtrain doctor --build"
_GUEST = Path(__file__).parents[1] / "guest"
_MARK = "component.json"
# CPython 3.14.0, on 7 October 2025.
_RELEASED = 1_759_795_200


@dataclass(frozen=True, slots=True)
class Component:
    """A built component: its folder, and the digest of what runs."""

    folder: Path
    digest: str

    @property
    def compiled(self) -> Path:
        """Return the file that is loaded."""
        return self.folder / "python.cwasm"

    @property
    def library(self) -> Path:
        """Return the sources of the standard library."""
        return self.folder / "library"

    @property
    def packages(self) -> Path:
        """Return the packages beside it."""
        return self.folder / "packages"

    @property
    def zones(self) -> Path:
        """Return the data of time zones."""
        return self.folder / "zoneinfo"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of built components: below SIMTRAIN_CACHE, else below the user's cache."""
    if environment.get(CACHE):
        return Path(environment[CACHE]) / "python"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simtrain" / "python"


def found_component() -> Component | None:
    """Return the component for the installed versions, if it is built and whole. Raises InputError without the extra."""
    require("python", "wasmtime", by="the sandbox `wasm`")
    folder = cache_folder() / _key()
    try:
        told = json.loads((folder / _MARK).read_text("utf-8"))
        if told["compiled"] == _size_and_time(folder / "python.cwasm"):
            return Component(folder, str(told["digest"]))
        # Copied or touched since: the bytes decide.
        if told["compiled_digest"] == _digest_of(folder / "python.cwasm"):
            return Component(folder, str(told["digest"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None


def build_component(*, on_step: Callable[[str], None]) -> Component:
    """Build the component into the cache, and return it; takes about 30 seconds of CPU and 100 MB of disk.

    `on_step` is told what begins. Raises InputError with the reason when it cannot be built.
    """
    require("python", "wasmtime", "componentize_py", *PACKAGES, by="building Python")
    folder = cache_folder() / _key()
    with whole_folder(folder) as out, tempfile.TemporaryDirectory(prefix="simtrain-python-") as place:
        stage = Path(place)
        for file in sorted(_GUEST.iterdir()):
            if file.suffix in (".py", ".wit"):
                shutil.copy(file, stage / file.name)
        copy_packages(stage / "packages")
        on_step("importing the standard library and pytest")
        _componentize(stage)
        on_step("compiling for this processor")
        component = stage / "python.wasm"
        (out / "python.cwasm").write_bytes(compiled(new_engine(), component))
        for name in ("library", "packages"):
            shutil.copytree(stage / name, out / name, ignore=shutil.ignore_patterns("__pycache__", "*.exe"))
        _copy_zones(out / "zoneinfo")
        for folder in ("library", "packages", "zoneinfo"):
            _set_times(out / folder)
        facts = {
            "digest": _digest_of(component),
            "compiled_digest": _digest_of(out / "python.cwasm"),
            "compiled": _size_and_time(out / "python.cwasm"),
            "made_with": _versions(),
        }
        (out / _MARK).write_text(json.dumps(facts, indent=1), "utf-8")
    found = found_component()
    if found is None:
        raise InputError(
            f"the component in {folder} is not whole", remedy="another process may be building it: try again"
        )
    return found


def _componentize(stage: Path) -> None:
    # A process of its own: it uses a second and more of memory that would otherwise stay.
    code = "import componentize_py, sys; sys.argv[0] = 'componentize-py'; componentize_py.script()"
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            *["-q", "-d", "world.wit", "-w", "python", "componentize", "app", "-p", ".", "-o", "python.wasm"],
        ],
        cwd=stage,
        # Without it the site-packages of the environment would come along.
        env={name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=1200,
    )
    if ran.returncode or not (stage / "python.wasm").is_file():
        lines = [line.strip() for line in ran.stdout.splitlines() if "Error" in line or "error" in line]
        raise InputError(
            f"componentize-py failed: {lines[-1] if lines else ran.stdout.strip()[-300:]}",
            remedy="install the versions of constraints.txt: pip install 'simtrain[python]'",
        )


def _copy_zones(out: Path) -> None:
    import tzdata

    source = Path(tzdata.__file__).parent / "zoneinfo"
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("*.py", "*.pyc", "__pycache__"))


def _set_times(folder: Path) -> None:
    """Give all that a program can look at the same time on every machine."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (_RELEASED, _RELEASED))


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("componentize-py", "wasmtime", "tzdata", *PACKAGES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    return found


def _key() -> str:
    """Return the name of the folder for what is installed: guest, versions, settings, and the machine it is compiled for."""
    import platform

    digest = sha256(json.dumps([_versions(), SETTINGS, platform.machine(), sys.platform]).encode())
    for file in sorted(_GUEST.iterdir()):
        if file.suffix in (".py", ".wit"):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _digest_of(file: Path) -> str:
    with file.open("rb") as opened:
        digest = sha256()
        while part := opened.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _size_and_time(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]

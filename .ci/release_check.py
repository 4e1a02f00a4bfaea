"""What can be checked of a release by machine: build wheel and sdist, install the wheel elsewhere, and play with it.

The wheel is installed with the tested versions into a fresh environment outside of the checkout, so that nothing of the checkout can be
imported by mistake.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
# Files of the checkout that have to be in the wheel under another name.
SHIPPED = {
    "scenarios": "simtrain/shipped/scenarios",
    "worlds": "simtrain/shipped/worlds",
    "perturbations": "simtrain/shipped/perturbations",
}


def main() -> None:
    """Build, compare, install, play. Exit code 1 with one line where something is wrong."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with tempfile.TemporaryDirectory(prefix="simtrain-release-") as folder:
        outside = Path(folder)
        wheel, sdist = build(outside, version)
        check_wheel(wheel)
        check_sdist(sdist)
        python = install(outside, wheel)
        play(outside, python, version)
    print(f"simtrain {version}: {wheel.name} and {sdist.name} are in {DIST.relative_to(ROOT)}/")


def build(outside: Path, version: str) -> tuple[Path, Path]:
    """The wheel and the sdist of this version, made by `build` in an environment of its own."""
    tools = outside / "tools"
    say("building")
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "build")
    run(tools / "bin" / "python", "-m", "build", "--outdir", DIST, ROOT, quiet=True)
    return only(f"simtrain-{version}-*.whl"), only(f"simtrain-{version}.tar.gz")


def only(pattern: str) -> Path:
    """The one file of dist/ that is called so."""
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"dist/ holds {len(found)} files {pattern}; there should be one")
    return found[0]


def tracked(*folders: str) -> set[str]:
    """The files of these folders that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def check_wheel(wheel: Path) -> None:
    """Every file of the package and of what ships with it is in the wheel, with the licence."""
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = tracked("simtrain")
    for folder, place in SHIPPED.items():
        wanted |= {place + name.removeprefix(folder) for name in tracked(folder)}
    absent(wheel, wanted - names)
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        absent(wheel, {"LICENSE"})


def check_sdist(sdist: Path) -> None:
    """Every file that the checkout needs to be tested is in the sdist."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    wanted = tracked("simtrain", "scenarios", "worlds", "perturbations", "docs", "examples", "tests", "benchmarks")
    absent(sdist, {*wanted, "Makefile", "CHANGELOG.md", "LICENSE", "NOTICE"} - names)


def absent(archive: Path, names: set[str]) -> None:
    """Refuse an archive that lacks these files."""
    if names:
        raise SystemExit(f"{archive.name} lacks {len(names)} files, such as {min(names)}")


def install(outside: Path, wheel: Path) -> Path:
    """The interpreter of a fresh environment with the wheel in it, at the tested versions."""
    say("installing the wheel into a fresh environment")
    fresh = outside / "fresh"
    run(sys.executable, "-m", "venv", fresh)
    pip = [fresh / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, wheel, "-c", ROOT / "constraints.txt")
    return fresh / "bin" / "python"


def play(outside: Path, python: Path, version: str) -> None:
    """Play what ships, from a folder of its own, with the installed command."""
    command = python.with_name("simtrain")
    say("playing")
    told = run(
        python, "-I", "-c", "import simtrain; print(simtrain.__version__, simtrain.__file__)", cwd=outside
    ).split()
    if told[0] != version or not Path(told[1]).is_relative_to(outside.resolve()):
        raise SystemExit(f"the fresh environment imports simtrain {' from '.join(told)}")
    run(command, "--help", cwd=outside)
    print(run(command, "run", "helpdesk", "--episodes", "20", cwd=outside))


def run(*command: str | Path, cwd: Path | None = None, quiet: bool = False) -> str:
    """What a command prints; one that fails ends the check with what it said."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE if quiet else None, text=True
    )
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr or ''}")
    return done.stdout


def say(what: str) -> None:
    """Tell what is done now."""
    print(f"release-check: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

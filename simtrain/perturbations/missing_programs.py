"""Programs that a machine lacks until somebody installs their package."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from simtrain.perturbations.shell_replies import programs

PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        name: name
        for name in (
            "bc",
            "bzip2",
            "curl",
            "git",
            "jq",
            "less",
            "make",
            "patch",
            "rsync",
            "sqlite3",
            "tree",
            "unzip",
            "wget",
            "zip",
        )
    }
    | {
        "awk": "gawk",
        "xz": "xz-utils",
        "ssh": "openssh-client",
        "crontab": "cron",
        "pip": "python3-pip",
        "diff": "diffutils",
        "find": "findutils",
    }
    | dict.fromkeys(("ps", "pgrep", "pkill", "top"), "procps")
)
"""Program -> the Debian package that has it. The shell's own commands and those that every Debian has are never missing."""


def missing_in(command: str, wanted: str | None) -> str | None:
    """Return the program of a command line that is to be missing: the one wanted, or the first that has a package."""
    return next(
        (name for name in programs(command) if name in PACKAGES and wanted in (None, name, PACKAGES[name])), None
    )


def without(program: str, package: str, command: str) -> tuple[str, bool]:
    """Return a command line as a machine without a program takes it, and whether it installs the program.

    The program becomes a function that is not found; where root installs its package, apt tells so, and the function goes.
    """
    install = re.compile(r"sudo\s+(?:-\S+\s+|\w+=\S+\s+)*(?:apt-get|apt)\s+(?:-\S+\s+)*install\s+(?P<rest>[^;&|\n]*)")
    for found in install.finditer(command):
        words = found["rest"].split()
        if package not in words:
            continue
        others = [word for word in words if not word.startswith("-") and word != package and ">" not in word]
        told = (
            "Reading package lists...", "Building dependency tree...", "Reading state information...",
            "The following NEW packages will be installed:", f"  {package}",
            "0 upgraded, 1 newly installed, 0 to remove and 0 not upgraded.", f"Unpacking {package} ...", f"Setting up {package} ...",
        )  # fmt: skip
        lines = " ".join(f"'{line}'" for line in told)
        say = f"{{ unset -f {program}; printf '%s\\n' {lines}; }} "
        more = f"&& {found[0].replace(package, '', 1)}" if others else ""
        return f"{_absent(program)} {command[: found.start()]}{say}{more}{command[found.end() :]}", True
    command = re.sub(rf"\b(?:which|command -v)\s+{re.escape(program)}\b", "(exit 1)", command)
    plain = re.sub(rf"\bsudo\s+(?={re.escape(program)}\s)", "", command)
    return f"{_absent(program)} {plain}", False


def _absent(program: str) -> str:
    # On the first line of the script, so that the lines which errors name stay the same.
    return f"{program}() {{ echo 'bash: line 1: {program}: command not found' >&2; return 127; }};"

"""pip: Python packages over an index that the world states."""

import re
from collections.abc import Sequence

from simtrain.worlds.machine.commands.package_table import (
    installed_packages,
    offered_versions,
    python_installed,
    record_package,
)
from simtrain.worlds.machine.commands.pip_files import lies_elsewhere, put_package, site_packages, take_package
from simtrain.worlds.machine.commands.versions import compare_versions
from simtrain.worlds.machine.invocation import Invocation, Result

_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?\s*((?:(?:==|>=|<=|~=|!=|<|>)\s*[\w.*]+\s*,?\s*)*)"
)


_CLAUSE = re.compile(r"(==|>=|<=|~=|!=|<|>)\s*([\w.*]+)")

_WITH_VALUE = frozenset({"i", "index-url", "extra-index-url", "t", "target", "timeout", "retries"})
"""Options that the next word belongs to."""


def pip(call: Invocation) -> Result:
    """Install, list, show and remove Python packages."""
    words = [
        word for word in call.arguments if word not in ("--no-input", "--disable-pip-version-check", "-q", "--quiet")
    ]
    quiet = len(words) < len(call.arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        return Result("\nUsage:   \n  pip <command> [options]\n")
    if words[0] in ("-V", "--version"):
        series = "3.14" if python_installed(call) else "3.11"
        return Result(f"pip 23.0.1 from /usr/lib/python3/dist-packages/pip (python {series})\n")
    action, *rest = words
    if action == "install":
        return _pip_install(call, rest, quiet=quiet)
    installed = installed_packages(call, "pip")
    if action == "freeze":
        return Result("".join(f"{name}=={version}\n" for name, version in installed.items()))
    if action == "list":
        if any(word.startswith("--format") for word in rest):
            return Result("".join(f"{name}=={version}\n" for name, version in installed.items()))
        wide = max([7, *(len(name) for name in installed)])
        deep = max([7, *(len(version) for version in installed.values())])
        head = f"{'Package'.ljust(wide)} Version\n{'-' * wide} {'-' * deep}\n"
        return Result(head + "".join(f"{name.ljust(wide)} {version}\n" for name, version in installed.items()))
    names = [word for word in rest if not word.startswith("-")]
    if action == "show":
        found = [name for name in names if _named(installed, name)]
        missing = [name for name in names if name not in found]
        text = "---\n".join(_pip_shown(call, _named(installed, name) or name, installed) for name in found)
        warning = f"WARNING: Package(s) not found: {', '.join(missing)}\n" if missing else ""
        return Result(text, warning, 0 if found else 1)
    if action == "uninstall":
        output, errors = "", ""
        for name in names:
            known = _named(installed, name)
            if known is None:
                errors += f"WARNING: Skipping {name} as it is not installed.\n"
                continue
            if "-y" not in rest and "--yes" not in rest:
                return Result(
                    f"Found existing installation: {known} {installed[known]}\nProceed (Y/n)? ",
                    "ERROR: Operation cancelled by user\n",
                    1,
                )
            try:
                take_package(call, known, installed[known])
            except OSError as error:
                return Result(output, errors + _refused(error), 1)
            record_package(call, "pip", known, None)
            output += (
                f"Found existing installation: {known} {installed[known]}\nUninstalling {known}-{installed[known]}:\n"
                f"  Successfully uninstalled {known}-{installed[known]}\n"
            )
        return Result(output, errors)
    if action == "check":
        broken = _pip_broken(call, installed)
        return Result(
            "".join(f"{line}\n" for line in broken) or "No broken requirements found.\n", "", 1 if broken else 0
        )
    return Result(stderr=f'ERROR: unknown command "{action}"\n', exit_code=1)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _named(installed: dict[str, str], name: str) -> str | None:
    return next((known for known in installed if _normal(known) == _normal(name)), None)


def _pip_shown(call: Invocation, name: str, installed: dict[str, str]) -> str:
    rows = [row for row in offered_versions(call, "pip", name) if row["version"] == installed[name]]
    summary, requires = (rows[0]["summary"], rows[0]["requires"]) if rows else ("", "")
    needed = ", ".join(match[0] for match in _REQUIREMENT.findall(requires) if match[0])
    return (
        f"Name: {name}\nVersion: {installed[name]}\nSummary: {summary}\n"
        f"Location: {_site(call)}\nRequires: {needed}\nRequired-by: \n"
    )


def _pip_broken(call: Invocation, installed: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for name, version in installed.items():
        for row in offered_versions(call, "pip", name):
            if row["version"] != version:
                continue
            for needed, clauses in _parts(row["requires"]):
                known = _named(installed, needed)
                if known is None:
                    lines.append(f"{name} {version} requires {needed}, which is not installed.")
                elif not _fits(installed[known], clauses):
                    lines.append(
                        f"{name} {version} has requirement {needed}{clauses}, but you have {known} {installed[known]}."
                    )
    return lines


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the requirements in a list with commas: a comma before an operator goes on with the same one."""
    found: list[tuple[str, str]] = []
    for match in _REQUIREMENT.finditer(text):
        if match[1]:
            found.append((match[1], match[2].strip().rstrip(",").replace(" ", "")))
    return found


def _fits(version: str, clauses: str) -> bool:
    for operator, wanted in _CLAUSE.findall(clauses):
        order = compare_versions(version, wanted)
        prefix = wanted.removesuffix(".*")
        same = version == prefix or version.startswith(f"{prefix}.") if wanted.endswith(".*") else order == 0
        near = order >= 0 and version.startswith(wanted.rpartition(".")[0])
        fine = {
            "==": same,
            "!=": not same,
            ">=": order >= 0,
            "<=": order <= 0,
            ">": order > 0,
            "<": order < 0,
            "~=": near,
        }[operator]
        if not fine:
            return False
    return True


def _pip_install(call: Invocation, words: Sequence[str], *, quiet: bool) -> Result:
    wanted: list[tuple[str, str]] = []
    rest, upgrade, folder = list(words), False, None
    while rest:
        word = rest.pop(0)
        if word in ("-r", "--requirement") and rest:
            name = rest.pop(0)
            path = call.path(name)
            if not call.files.exists(path):
                text = f"ERROR: Could not open requirements file: [Errno 2] No such file or directory: '{name}'\n"
                return Result(stderr=text, exit_code=1)
            for line in call.files.read(path).decode(errors="replace").splitlines():
                wanted += _parts(line.partition("#")[0])[:1]
        elif word in ("-U", "--upgrade"):
            upgrade = True
        elif word in ("-t", "--target") and rest:
            folder = call.path(rest.pop(0))
        elif word.startswith("-") and word.lstrip("-") in _WITH_VALUE and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            wanted += _parts(word)[:1]
    if not wanted:
        return Result(
            stderr='ERROR: You must give at least one requirement to install (see "pip help install")\n', exit_code=1
        )
    lines: list[str] = []
    planned: dict[str, str] = {}
    installed = installed_packages(call, "pip")
    if python_installed(call) and call.user.uid != 0 and folder is None and "--user" not in words:
        lines.append("Defaulting to user installation because normal site-packages is not writeable")
    problem = _plan(call, wanted, installed, planned, lines, upgrade=upgrade, by=None)
    if problem is not None:
        return Result("".join(f"{line}\n" for line in lines), problem, 1)
    for name, version in planned.items():
        known = _named(installed, name)
        if known and not lies_elsewhere(call, known, installed[known]):
            lines += [
                "Attempting uninstall: " + name,
                f"  Found existing installation: {known} {installed[known]}",
                f"  Uninstalling {known}-{installed[known]}:",
                f"    Successfully uninstalled {known}-{installed[known]}",
            ]
            take_package(call, known, installed[known])
            record_package(call, "pip", known, None)
        try:
            put_package(call, name, version, folder)
        except OSError as error:
            return Result("".join(f"{line}\n" for line in lines), _refused(error), 1)
        record_package(call, "pip", name, version)
    if planned:
        lines.append("Installing collected packages: " + ", ".join(reversed(planned)))
        lines.append(
            "Successfully installed " + " ".join(f"{name}-{planned[name]}" for name in sorted(planned, key=str.lower))
        )
    return Result("" if quiet else "".join(f"{line}\n" for line in lines))


def _plan(
    call: Invocation,
    wanted: Sequence[tuple[str, str]],
    installed: dict[str, str],
    planned: dict[str, str],
    lines: list[str],
    *,
    upgrade: bool,
    by: str | None,
) -> str | None:
    """Choose a version of everything that is needed, and return what goes wrong."""
    for name, clauses in wanted:
        known = _named(installed, name)
        if known and _fits(installed[known], clauses) and not (upgrade and by is None):
            source = f" (from {by})" if by else ""
            lines.append(
                f"Requirement already satisfied: {name}{clauses} in {_site(call)}{source} ({installed[known]})"
            )
            continue
        rows = offered_versions(call, "pip", _normal(name)) or offered_versions(call, "pip", name)
        fitting = [row for row in rows if _fits(row["version"], clauses)]
        if not fitting:
            listed = ", ".join(row["version"] for row in rows) or "none"
            return (
                f"ERROR: Could not find a version that satisfies the requirement {name}{clauses} (from versions: {listed})\n"
                f"ERROR: No matching distribution found for {name}{clauses}\n"
            )
        row = fitting[-1]
        if row["name"] in planned or (known and installed[known] == row["version"]):
            continue
        lines.append(f"Collecting {name}{clauses}")
        lines.append(
            f"  Downloading {row['name'].replace('-', '_')}-{row['version']}-py3-none-any.whl ({_size(int(row['size']))})"
        )
        planned[row["name"]] = row["version"]
        problem = _plan(
            call, _parts(row["requires"]), installed, planned, lines, upgrade=upgrade, by=f"{name}{clauses}"
        )
        if problem is not None:
            return problem
    return None


def _refused(error: OSError) -> str:
    told = f"[Errno {error.errno}] {error.strerror}: {error.filename!r}"
    return f"ERROR: Could not install packages due to an OSError: {told}\n"


def _site(call: Invocation) -> str:
    return site_packages(call) if python_installed(call) else "/usr/local/lib/python3.11/dist-packages"


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"

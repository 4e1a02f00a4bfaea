"""pip, apt and dpkg: packages over an index that the world states (tables `packages` and `package_index`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simtrain.values.types import JsonObject
from simtrain.worlds.machine.commands.versions import compare_versions
from simtrain.worlds.machine.invocation import Invocation, Result

_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?\s*((?:(?:==|>=|<=|~=|!=|<|>)\s*[\w.*]+\s*,?\s*)*)"
)
_CLAUSE = re.compile(r"(==|>=|<=|~=|!=|<|>)\s*([\w.*]+)")


def _installed(call: Invocation, manager: str) -> dict[str, str]:
    sql = "select name, version from packages where host = :host and manager = :manager order by name"
    rows = call.read(sql, {"host": call.machine.name, "manager": manager})
    return {row["name"]: row["version"] for row in rows}


def _offered(call: Invocation, manager: str, name: str) -> list[JsonObject]:
    """Return the versions of a package that the index has, the newest last."""
    rows = call.read(
        "select * from package_index where manager = :manager and name = :name", {"manager": manager, "name": name}
    )
    from functools import cmp_to_key

    return sorted(rows, key=cmp_to_key(lambda one, other: compare_versions(one["version"], other["version"])))


def _record(call: Invocation, manager: str, name: str, version: str | None) -> None:
    key: JsonObject = {"host": call.machine.name, "manager": manager, "name": name}
    call.write("delete from packages where host = :host and manager = :manager and name = :name", key)
    if version is not None:
        sql = "insert into packages (host, manager, name, version) values (:host, :manager, :name, :version)"
        call.write(sql, {**key, "version": version})


def pip(call: Invocation) -> Result:
    """Install, list, show and remove Python packages."""
    words = [
        word for word in call.arguments if word not in ("--no-input", "--disable-pip-version-check", "-q", "--quiet")
    ]
    quiet = len(words) < len(call.arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        return Result("\nUsage:   \n  pip <command> [options]\n")
    if words[0] in ("-V", "--version"):
        return Result("pip 23.0.1 from /usr/lib/python3/dist-packages/pip (python 3.11)\n")
    action, *rest = words
    if action == "install":
        return _pip_install(call, rest, quiet=quiet)
    installed = _installed(call, "pip")
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
            _record(call, "pip", known, None)
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
    rows = [row for row in _offered(call, "pip", name) if row["version"] == installed[name]]
    summary, requires = (rows[0]["summary"], rows[0]["requires"]) if rows else ("", "")
    needed = ", ".join(match[0] for match in _REQUIREMENT.findall(requires) if match[0])
    return (
        f"Name: {name}\nVersion: {installed[name]}\nSummary: {summary}\n"
        f"Location: /usr/local/lib/python3.11/dist-packages\nRequires: {needed}\nRequired-by: \n"
    )


def _pip_broken(call: Invocation, installed: dict[str, str]) -> list[str]:
    lines: list[str] = []
    for name, version in installed.items():
        for row in _offered(call, "pip", name):
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
    rest, upgrade = list(words), False
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
        elif word in ("-i", "--index-url", "--extra-index-url", "-t", "--target", "--timeout", "--retries") and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            wanted += _parts(word)[:1]
    if not wanted:
        return Result(
            stderr='ERROR: You must give at least one requirement to install (see "pip help install")\n', exit_code=1
        )
    lines: list[str] = []
    planned: dict[str, str] = {}
    installed = _installed(call, "pip")
    problem = _plan(call, wanted, installed, planned, lines, upgrade=upgrade, by=None)
    if problem is not None:
        return Result("".join(f"{line}\n" for line in lines), problem, 1)
    for name, version in planned.items():
        known = _named(installed, name)
        if known:
            lines += ["Attempting uninstall: " + name, f"  Found existing installation: {known} {installed[known]}", f"  Uninstalling {known}-{installed[known]}:", f"    Successfully uninstalled {known}-{installed[known]}"]  # fmt: skip
            _record(call, "pip", known, None)
        _record(call, "pip", name, version)
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
                f"Requirement already satisfied: {name}{clauses} in /usr/local/lib/python3.11/dist-packages{source} ({installed[known]})"
            )
            continue
        rows = _offered(call, "pip", _normal(name)) or _offered(call, "pip", name)
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


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def apt(call: Invocation) -> Result:
    """Install, remove and search Debian packages (apt and apt-get)."""
    words = [word for word in call.arguments if not word.startswith("-")]
    flags = {word for word in call.arguments if word.startswith("-")}
    quiet = bool(flags & {"-q", "-qq", "--quiet"})
    action, names = (words[0], words[1:]) if words else ("help", [])
    warning = (
        "\nWARNING: apt does not have a stable CLI interface. Use with caution in scripts.\n\n"
        if call.name == "apt"
        else ""
    )
    known = {"install", "remove", "purge", "update", "upgrade", "list", "search", "show", "autoremove", "clean", "policy", "dist-upgrade", "full-upgrade", "autoclean", "help"}  # fmt: skip
    if action not in known:
        return Result(stderr=f"{warning}E: Invalid operation {action}\n", exit_code=100)
    installed = _installed(call, "apt")
    if action == "list":
        return _apt_list(call, names, installed, warning, only="--installed" in flags)
    if action in ("search", "show", "policy"):
        return _apt_about(call, action, names, installed, warning)
    if action == "help":
        return Result("apt 2.6.1 (amd64)\nUsage: apt [options] command\n")
    if call.user.uid != 0:
        lock = "/var/lib/apt/lists/lock" if action == "update" else "/var/lib/dpkg/lock-frontend"
        text = f"{warning}E: Could not open lock file {lock} - open (13: Permission denied)\n"
        tail = (
            "E: Unable to lock directory /var/lib/apt/lists/\n"
            if action == "update"
            else "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n"
        )
        return Result("Reading package lists...\n" if action == "update" else "", text + tail, 100)
    start = "" if quiet else "Reading package lists...\nBuilding dependency tree...\nReading state information...\n"
    if action == "update":
        return Result(start + ("" if quiet else "All packages are up to date.\n"), warning)
    if action in ("clean", "autoclean", "autoremove", "upgrade", "dist-upgrade", "full-upgrade"):
        return Result(
            start + "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"
            if action not in ("clean", "autoclean")
            else "",
            warning,
        )
    if action == "install":
        return _apt_install(call, names, installed, start, warning, quiet=quiet)
    gone = [name for name in names if name in installed]
    unknown = [name for name in names if name not in installed and not _offered(call, "apt", name)]
    if unknown:
        return Result(start, warning + "".join(f"E: Unable to locate package {name}\n" for name in unknown), 100)
    for name in gone:
        _record(call, "apt", name, None)
    text = start + "".join(f"Package '{name}' is not installed, so not removed\n" for name in names if name not in gone)
    if gone:
        text += (
            "The following packages will be REMOVED:\n  "
            + " ".join(f"{name}{'*' if action == 'purge' else ''}" for name in gone)
            + "\n"
        )
    text += f"0 upgraded, 0 newly installed, {len(gone)} to remove and 0 not upgraded.\n"
    return Result(text + "".join(f"Removing {name} ({installed[name]}) ...\n" for name in gone), warning)


def _apt_install(
    call: Invocation, names: Sequence[str], installed: dict[str, str], start: str, warning: str, *, quiet: bool
) -> Result:
    planned: dict[str, str] = {}
    errors: list[str] = []
    notes: list[str] = []
    extra: list[str] = []

    def plan(name: str, version: str, *, by: str | None) -> None:
        rows = [row for row in _offered(call, "apt", name) if not version or row["version"] == version]
        if name in installed and (not rows or rows[-1]["version"] == installed[name]):
            if by is None:
                notes.append(f"{name} is already the newest version ({installed[name]}).\n")
            return
        if not rows:
            if by is not None:
                errors.append(f" {by} : Depends: {name} but it is not installable\n")
            else:
                errors.append(
                    f"E: Version '{version}' for '{name}' was not found\n"
                    if version and _offered(call, "apt", name)
                    else f"E: Unable to locate package {name}\n"
                )
            return
        if name in planned:
            return
        planned[name] = rows[-1]["version"]
        if by is not None:
            extra.append(name)
        for needed in (one.strip() for one in rows[-1]["requires"].split(",")):
            if needed:
                plan(needed.partition(" ")[0], "", by=name)

    for word in names:
        name, _, version = word.partition("=")
        plan(name, version, by=None)
    if errors:
        return Result(start, warning + "".join(errors), 100)
    upgraded = [name for name in planned if name in installed]
    fresh = [name for name in planned if name not in installed]
    text = start + "".join(notes)
    if extra:
        text += "The following additional packages will be installed:\n  " + " ".join(sorted(extra)) + "\n"
    if fresh:
        text += "The following NEW packages will be installed:\n  " + " ".join(sorted(fresh)) + "\n"
    if upgraded:
        text += "The following packages will be upgraded:\n  " + " ".join(sorted(upgraded)) + "\n"
    text += f"{len(upgraded)} upgraded, {len(fresh)} newly installed, 0 to remove and 0 not upgraded.\n"
    for name in reversed(planned):
        if not quiet:
            text += f"Unpacking {name} ({planned[name]}) ...\n"
    for name in reversed(planned):
        text += f"Setting up {name} ({planned[name]}) ...\n"
        _record(call, "apt", name, planned[name])
    return Result(text, warning)


def _apt_list(call: Invocation, names: Sequence[str], installed: dict[str, str], warning: str, *, only: bool) -> Result:
    from fnmatch import fnmatchcase

    found = dict(installed)
    if not only:
        rows = call.read("select name, version from package_index where manager = 'apt' order by name, version")
        found |= {row["name"]: row["version"] for row in rows if row["name"] not in installed}
    lines = ["Listing..."]
    for name in sorted(found):
        if not names or any(fnmatchcase(name, pattern) for pattern in names):
            lines.append(
                f"{name}/stable{',now' if name in installed else ''} {found[name]} amd64{' [installed]' if name in installed else ''}"
            )
    return Result("\n".join(lines) + "\n", warning)


def _apt_about(call: Invocation, action: str, names: Sequence[str], installed: dict[str, str], warning: str) -> Result:
    if action == "search":
        rows = call.read(
            "select name, version, summary from package_index where manager = 'apt' order by name, version"
        )
        found = [row for row in rows if any(re.search(name, f"{row['name']} {row['summary']}") for name in names)]
        text = "".join(f"{row['name']}/stable {row['version']} amd64\n  {row['summary']}\n\n" for row in found)
        return Result("Sorting...\nFull Text Search...\n" + text, warning)
    output, errors = "", ""
    for name in names:
        rows = _offered(call, "apt", name)
        if not rows and name not in installed:
            errors += f"N: Unable to locate package {name}\n"
            continue
        row: JsonObject = rows[-1] if rows else {"version": installed[name], "requires": "", "summary": ""}
        if action == "policy":
            output += f"{name}:\n  Installed: {installed.get(name, '(none)')}\n  Candidate: {row['version']}\n"
        else:
            depends = f"Depends: {row['requires'].replace(',', ', ')}\n" if row["requires"] else ""
            output += f"Package: {name}\nVersion: {row['version']}\n{depends}Description: {row['summary']}\n\n"
    return Result(output, warning + errors, 100 if errors and not output else 0)


def dpkg(call: Invocation) -> Result:
    """List installed Debian packages (-l, -s)."""
    words = list(call.arguments)
    installed = _installed(call, "apt")
    if words[:1] in (["-l"], ["--list"]):
        names = [name for name in installed if not words[1:] or name in words[1:]]
        missing = [name for name in words[1:] if name not in installed]
        head = (
            "Desired=Unknown/Install/Remove/Purge/Hold\n"
            "| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend\n"
            "|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)\n"
        )
        wide = max([4, *(len(name) for name in names)])
        deep = max([7, *(len(installed[name]) for name in names)])
        head += (
            f"||/ {'Name'.ljust(wide)} {'Version'.ljust(deep)} Architecture Description\n"
            f"+++-{'=' * wide}-{'=' * deep}-============-===========\n"
        )
        lines = "".join(f"ii  {name.ljust(wide)} {installed[name].ljust(deep)} amd64        {name}\n" for name in names)
        errors = "".join(f"dpkg-query: no packages found matching {name}\n" for name in missing)
        return Result(head + lines if names else "", errors, 1 if errors else 0)
    if words[:1] in (["-s"], ["--status"]) and len(words) > 1:
        name = words[1]
        if name not in installed:
            return Result(
                stderr=f"dpkg-query: package '{name}' is not installed and no information is available\n"
                "Use dpkg --info (= dpkg-deb --info) to examine archive files.\n",
                exit_code=1,
            )
        return Result(
            f"Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: {installed[name]}\n"
        )
    return Result(stderr=f"dpkg: error: unknown option {words[0] if words else ''}\n", exit_code=2)

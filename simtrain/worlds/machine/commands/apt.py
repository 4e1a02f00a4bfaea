"""apt and dpkg: Debian packages over an index that the world states."""

from collections.abc import Sequence

from simtrain.values.types import JsonObject
from simtrain.worlds.machine.commands.package_table import installed_packages, offered_versions, record_package
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.invocation import Invocation, Result

_NOT_YET = (
    "E: Release file for http://deb.debian.org/debian/dists/bookworm/InRelease is not valid yet (invalid for another {}). "
    "Updates for this repository will not be applied.\n"
)


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
    known = {
        "install", "remove", "purge", "update", "upgrade", "list", "search", "show", "autoremove", "clean", "policy",
        "dist-upgrade", "full-upgrade", "autoclean", "help",
    }  # fmt: skip
    if action not in known:
        return Result(stderr=f"{warning}E: Invalid operation {action}\n", exit_code=100)
    installed = installed_packages(call, "apt")
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
    if action == "update" and call.machine.ahead < 0:
        return Result(start, warning + _not_yet(-call.machine.ahead), 100)
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
    unknown = [name for name in names if name not in installed and not offered_versions(call, "apt", name)]
    if unknown:
        return Result(start, warning + "".join(f"E: Unable to locate package {name}\n" for name in unknown), 100)
    for name in gone:
        record_package(call, "apt", name, None)
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
        rows = [row for row in offered_versions(call, "apt", name) if not version or row["version"] == version]
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
                    if version and offered_versions(call, "apt", name)
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
        record_package(call, "apt", name, planned[name])
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
        try:
            wanted = [expression(name, syntax="extended", ignore_case=True) for name in names]
        except ExpressionProblem:
            return Result(stderr=f"{warning}E: Regex compilation error - Invalid regular expression\n", exit_code=100)
        found = [row for row in rows if any(one.finds(f"{row['name']} {row['summary']}") for one in wanted)]
        text = "".join(f"{row['name']}/stable {row['version']} amd64\n  {row['summary']}\n\n" for row in found)
        return Result("Sorting...\nFull Text Search...\n" + text, warning)
    output, errors = "", ""
    for name in names:
        rows = offered_versions(call, "apt", name)
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
    installed = installed_packages(call, "apt")
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


def _not_yet(behind: float) -> str:
    """Return what apt says of an index that comes from the future, as a clock that is behind sees it."""
    days, rest = divmod(int(behind), 86_400)
    parts = ((days, "d"), (rest // 3600, "h"), (rest // 60 % 60, "min"), (rest % 60, "s"))
    first = next((place for place, (number, _) in enumerate(parts) if number), 3)
    return _NOT_YET.format(" ".join(f"{number}{unit}" for number, unit in parts[first:]))

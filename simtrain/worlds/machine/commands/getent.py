"""getent: entries of /etc/passwd, /etc/group and /etc/hosts, as GNU libc prints them."""

from simtrain.worlds.machine.invocation import Invocation, Result

_DATABASES = {"passwd": "/etc/passwd", "group": "/etc/group", "hosts": "/etc/hosts"}
_HINT = "Try `getent --help' or `getent --usage' for more information.\n"
_MISSING = 2


def getent(call: Invocation) -> Result:
    """Print all entries of a database, or those with a name, number or address; the exit code is 2 if one of them is not there."""
    words = [word for word in call.arguments if not word.startswith("-")]
    if not words:
        return Result(stderr=f"getent: wrong number of arguments\n{_HINT}", exit_code=1)
    database, *keys = words
    if database not in _DATABASES:
        return Result(stderr=f"Unknown database: {database}\n{_HINT}", exit_code=1)
    text = call.files.read(_DATABASES[database]).decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
    if database == "hosts":
        lines = [_as_printed(line) for line in lines]
    if not keys:
        return Result("".join(f"{line}\n" for line in lines))
    found = [next((line for line in lines if key in _names(database, line)), None) for key in keys]
    return Result(
        "".join(f"{line}\n" for line in found if line is not None), exit_code=_MISSING if None in found else 0
    )


def _as_printed(line: str) -> str:
    address, *names = line.partition("#")[0].split()
    return f"{address:<15} {' '.join(names)}"


def _names(database: str, line: str) -> list[str]:
    """Return what an entry is found by: name and number, or address and names."""
    if database == "hosts":
        return line.split()
    fields = line.split(":")
    return [fields[0], *fields[2:3]]

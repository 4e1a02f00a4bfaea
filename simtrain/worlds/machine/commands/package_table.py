"""The packages of a machine, and the index of those that can be installed."""

from simtrain.values.types import JsonObject
from simtrain.worlds.machine.commands.versions import compare_versions
from simtrain.worlds.machine.invocation import Invocation
from simtrain.worlds.machine.programs import python_programs


def installed_packages(call: Invocation, manager: str) -> dict[str, str]:
    """Return the packages of a manager on the machine, name -> version."""
    sql = "select name, version from packages where host = :host and manager = :manager order by name"
    rows = call.read(sql, {"host": call.machine.name, "manager": manager})
    return {row["name"]: row["version"] for row in rows}


def offered_versions(call: Invocation, manager: str, name: str) -> list[JsonObject]:
    """Return the versions of a package that the index has, the newest last."""
    rows = call.read(
        "select * from package_index where manager = :manager and name = :name", {"manager": manager, "name": name}
    )
    from functools import cmp_to_key

    return sorted(rows, key=cmp_to_key(lambda one, other: compare_versions(one["version"], other["version"])))


def record_package(call: Invocation, manager: str, name: str, version: str | None) -> None:
    """Note that a package is installed in a version; None takes it away."""
    key: JsonObject = {"host": call.machine.name, "manager": manager, "name": name}
    call.write("delete from packages where host = :host and manager = :manager and name = :name", key)
    if version is not None:
        sql = "insert into packages (host, manager, name, version) values (:host, :manager, :name, :version)"
        call.write(sql, {**key, "version": version})
    if (manager, name) == ("apt", "python3"):
        _record_python(call, there=version is not None)


def _record_python(call: Invocation, *, there: bool) -> None:
    for path, content in python_programs():
        if there:
            call.files.write(path, content)
            call.files.change_mode(path, 0o755)
        elif call.files.exists(path):
            call.files.remove(path)


def python_installed(call: Invocation) -> bool:
    """True if the machine has Python: if it has Debian's package of it, in a world that can run it."""
    return call.machine.python is not None and "python3" in installed_packages(call, "apt")

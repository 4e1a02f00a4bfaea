"""What pip puts on a machine and takes away again: the files of a package, below its site-packages."""

from posixpath import dirname, join

from simtrain.worlds.machine.commands.package_table import python_installed
from simtrain.worlds.machine.invocation import Invocation
from simtrain.worlds.machine.python_packages import FILES_OF, content_of
from simtrain.worlds.sandbox.packages import SITE, USER_SITE


def site_packages(call: Invocation) -> str:
    """Return where the user of a call installs packages."""
    if call.user.uid == 0:
        return SITE
    return join(call.environment.get("HOME") or call.user.home, USER_SITE)


def put_package(call: Invocation, name: str, version: str, folder: str | None) -> None:
    """Write the files of a package into a folder, or into site-packages. Raises OSError. Without Python there are none."""
    if not python_installed(call):
        return
    site = folder or site_packages(call)
    for row in call.read(FILES_OF, {"name": name, "version": version}):
        path = f"{site}/{row['path']}"
        call.files.make_directory(dirname(path), parents=True)
        call.files.write(path, content_of(row))


def lies_elsewhere(call: Invocation, name: str, version: str) -> bool:
    """True if a package lies where the user of a call does not install: pip leaves it there, and the user's own comes first."""
    if not python_installed(call):
        return False
    rows = call.read(FILES_OF, {"name": name, "version": version})
    return bool(rows) and not any(call.files.exists(f"{site_packages(call)}/{row['path']}") for row in rows)


def take_package(call: Invocation, name: str, version: str) -> None:
    """Remove the files of a package, where they are. Raises OSError."""
    for row in call.read(FILES_OF, {"name": name, "version": version}):
        for site in (site_packages(call), SITE):
            path = f"{site}/{row['path']}"
            if call.files.exists(path):
                call.files.remove(path)
                _remove_empty(call, dirname(path), site)


def _remove_empty(call: Invocation, folder: str, site: str) -> None:
    cache = f"{folder}/__pycache__"
    if call.files.exists(cache):
        call.files.remove(cache, recursive=True)
    while folder != site and not call.files.names(folder):
        call.files.remove(folder)
        folder = dirname(folder)

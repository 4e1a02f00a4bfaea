"""Where the files of a command lie in a container: in folders of memory, mounted over those of the image."""

from collections.abc import Iterable, Mapping
from posixpath import dirname

from simtrain.contracts.sandbox_runs import Entry, Files, Folder
from simtrain.worlds.sandbox.packages import SITE

ALWAYS = ("/tmp", "/var", "/run", "/home", "/root")
SEEDS = ("/etc", "/var/lib/dpkg/status")
"""What programs look for in the image, although a folder may be mounted over it."""
# Where programs are as well: a mount goes one step below.
_SHARED = ("/", "/usr", "/opt")
_OF_THE_IMAGE = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot", "/dev", "/proc", "/sys"),
    *("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local", "/usr/share"),
    *("/usr/include", "/usr/games"),
)
# Mounted over whatever is mounted at /etc.
_DOCKERS = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab")


def carried(files: Files, mounts: Iterable[str]) -> dict[str, Entry]:
    """Return the files that have a place in a container: what lies in a mounted folder and is not Docker's."""
    return {path: entry for path, entry in files.items() if below(path, mounts) and not below(path, _DOCKERS)}


def mounts_of(files: Files, directory: str, access: Mapping[str, int]) -> tuple[str, ...]:
    """Return the folders that have to be writable for files and for the folder in which a command begins.

    Each costs some milliseconds: none is for an empty folder in which the command may write nothing.
    """
    closed = {path for path, bits in access.items() if not bits & 2 and isinstance(files.get(path), Folder)}
    wanted = {_folder(path, entry) for path, entry in files.items() if path not in closed}
    return tuple(sorted({*ALWAYS, *filter(None, map(_mount, (*wanted, directory)))}))


def below(path: str, mounts: Iterable[str]) -> bool:
    """Return whether a path is one of some folders, or lies below one."""
    return any(path == mount or path.startswith(f"{mount}/") for mount in mounts)


def _mount(path: str) -> str | None:
    if below(path, (SITE,)):
        return SITE
    if path in _SHARED or below(path, _OF_THE_IMAGE):
        return None
    parts = path.split("/")
    return next(top for end in range(2, len(parts) + 1) if (top := "/".join(parts[:end])) not in _SHARED)


def _folder(path: str, entry: Entry) -> str:
    return path if isinstance(entry, Folder) else dirname(path)

"""Images of Harbor folders: built from a Dockerfile by Docker, or there by name; what they hold becomes the files of a world."""

from hashlib import blake2b
from pathlib import Path
from typing import cast

from simtrain.contracts.sandbox_runs import Entry, File
from simtrain.files.file_bytes import file_bytes
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, as_object
from simtrain.worlds.sandbox.docker.archive import unpacked
from simtrain.worlds.sandbox.docker.client import HELD, complaint, daemon_version, docker, inspected
from simtrain.worlds.sandbox.dockerfile import ContainerImage
from simtrain.worlds.sandbox.host_folder import MOST_BYTES, MOST_FILES

_BUILDING = 1_800.0
_MOST = 3 * MOST_BYTES
# What stays in the image, read-only: programs, their data, and what the kernel shows.
_FILES = r"""
cd / || exit
set -- "$1"
for top in * .[!.]*; do
    case $top in
    bin|sbin|lib|lib32|lib64|libx32|usr|opt|etc|boot|dev|proc|sys|run|.dockerenv|'*'|'.[!.]*') ;;
    var) if [ -d var/www ]; then set -- "$@" var/www; fi ;;
    *) set -- "$@" "$top" ;;
    esac
done
place=${1#/}
shift
case $place in usr/?*|opt/?*|var/?*) set -- "$@" "$place" ;; esac
tar -cf - "$@" 2>/dev/null | head -c MOST
""".replace("MOST", str(_MOST))


def docker_answers() -> bool:
    """Return whether there is a daemon."""
    try:
        daemon_version()
    except InputError:
        return False
    return True


def built_image(dockerfile: Path) -> ContainerImage:
    """Have Docker build what a Dockerfile says, in the folder that it lies in. Raises InputError with what Docker said."""
    daemon_version()
    found = blake2b(digest_size=12)
    for path in sorted(dockerfile.parent.rglob("*")):
        found.update(f"\0{path.relative_to(dockerfile.parent)}\0{path.lstat().st_mode}\0".encode())
        found.update(file_bytes(path) if path.is_file() else b"")
    # The same folder has the same name everywhere, so that a world's digest does not depend on who built it.
    name = f"simtrain-task:{found.hexdigest()}"
    built = docker("build", "--force-rm", "--tag", name, str(dockerfile.parent), timeout=_BUILDING)
    if built.returncode:
        raise InputError(f"docker build fails: {complaint(built.stderr)}", remedy="see docker build", file=dockerfile)
    return image_of(name, told_by=dockerfile)


def image_of(name: str, *, told_by: Path) -> ContainerImage:
    """Return what an image holds beside its programs. Raises InputError if it is not there, or is too much for a world."""
    daemon_version()
    settings = as_object(inspected(name).get("Config"))
    parts = [one.partition("=") for one in _texts(settings, "Env")]
    environment = {name: value for name, _, value in parts}
    directory = str(settings.get("WorkingDir") or "/")
    as_root = ("--cap-add", "DAC_READ_SEARCH", "--user", "0:0", "--entrypoint", "/bin/sh")
    ran = docker("run", "--rm", *HELD, *as_root, name, "-c", _FILES, "files", directory, timeout=_BUILDING)
    if ran.returncode:
        raise InputError(f"the image {name} cannot be run: {complaint(ran.stderr)}", file=told_by)
    if len(ran.stdout) >= _MOST:
        raise _too_much(told_by)
    files: dict[str, Entry] = {path: left.entry for path, left in unpacked(ran.stdout, modes={})}
    size = sum(len(entry.content) for entry in files.values() if isinstance(entry, File))
    if size > MOST_BYTES or len(files) > MOST_FILES:
        raise _too_much(told_by)
    user = str(settings.get("User") or "").partition(":")[0] or None
    return ContainerImage(name, files, environment, directory, user, built=True)


def _texts(settings: JsonObject, key: str) -> list[str]:
    return cast("list[str]", settings.get(key) or [])


def _too_much(file: Path) -> InputError:
    return InputError(
        f"beside its programs the image holds more than {MOST_BYTES >> 20} MiB or {MOST_FILES:,} files",
        remedy="put what does not change below /usr or /opt, which stay in the image",
        file=file,
    )

"""mount and umount: the disks of the machine, as rows of the table `mounts`."""

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.invocation import Invocation, Result

_LONG = {"all": "a", "types=": "t", "options=": "o", "read-only": "r", "rw": "w", "verbose": "v"}
_REFUSED = 32


def mount(call: Invocation) -> Result:
    """List what is mounted, or mount it anew for reading only or for writing (-o remount,ro and remount,rw)."""
    options = parsed(call, "at:o:rwv", _LONG)
    if isinstance(options, Result):
        return options
    rows = call.read("select path, read_only from mounts where host = :host order by path", {"host": call.machine.name})
    if not options.operands:
        return Result("".join(f"{_line(str(row['path']), bool(row['read_only']))}\n" for row in rows))
    path = call.plain_path(options.operands[-1])
    if call.user.uid != 0:
        return call.fail(f"{path}: must be superuser to use mount.", exit_code=1)
    if path not in [row["path"] for row in rows]:
        return call.fail(f"{path}: can't find in /etc/fstab.", exit_code=1)
    wanted = set((options.value("o") or "").split(","))
    if "remount" not in wanted:
        return call.fail(f"{path}: {device_of(path)} already mounted on {path}.", exit_code=_REFUSED)
    read_only = options.has("r") or "ro" in wanted
    call.write(
        "update mounts set read_only = :ro where host = :host and path = :path",
        {"ro": int(read_only), "host": call.machine.name, "path": path},
    )
    others = tuple(mounted for mounted in call.files.disk.read_only if mounted != path)
    call.files.disk.read_only = (*others, path) if read_only else others
    return Result()


def umount(call: Invocation) -> Result:
    """Refuse: what a machine of a world has mounted is in use."""
    options = parsed(call, "afl", {"all": "a", "force": "f", "lazy": "l"})
    if isinstance(options, Result):
        return options
    if not options.operands:
        return call.fail("bad usage\nTry 'umount --help' for more information.")
    path = call.plain_path(options.operands[0])
    known = call.read(
        "select 1 as found from mounts where host = :host and path = :path", {"host": call.machine.name, "path": path}
    )
    if not known:
        return call.fail(f"{path}: not mounted.", exit_code=_REFUSED)
    return call.fail(f"{path}: target is busy.", exit_code=_REFUSED)


def device_of(path: str) -> str:
    """Return the disk that is mounted at a path."""
    return "/dev/vda1" if path == "/" else "/dev/vdb1"


def _line(path: str, read_only: bool) -> str:
    return f"{device_of(path)} on {path} type ext4 ({'ro' if read_only else 'rw'},relatime)"

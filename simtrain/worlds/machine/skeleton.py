"""What lies on every machine before its author writes a file: the directories of a Debian, its devices, and a few files in /etc."""

from collections.abc import Iterator, Mapping, Sequence

from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.nodes import TreeNode

_DIRECTORIES = (
    "/", "/boot", "/dev", "/etc", "/etc/cron.d", "/etc/systemd", "/etc/systemd/system", "/home", "/media", "/mnt", "/opt",
    "/run", "/srv", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/sbin", "/usr/share", "/var",
    "/var/backups", "/var/cache", "/var/cache/apt", "/var/cache/apt/archives", "/var/lib", "/var/log", "/var/spool",
    "/var/spool/cron", "/var/www",
)  # fmt: skip
_OTHERS = {"/tmp": 0o1777, "/var/tmp": 0o1777, "/root": 0o700, "/proc": 0o555}
_LINKS = {"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib"}
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_RELEASE = """\
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
"""
_SETTINGS = {
    "/etc/fstab": (
        "# <file system> <mount point>   <type>  <options>       <dump>  <pass>\n"
        "/dev/vda1       /               ext4    errors=remount-ro 0       1\n"
    ),
    "/etc/issue": "Debian GNU/Linux 12 \\n \\l\n\n",
    "/etc/nsswitch.conf": "passwd:         files\ngroup:          files\nshadow:         files\nhosts:          files dns\n",
    "/etc/resolv.conf": "nameserver 10.0.0.1\n",
    "/etc/shells": "/bin/sh\n/usr/bin/sh\n/bin/bash\n/usr/bin/bash\n",
    "/etc/timezone": "Etc/UTC\n",
}
NOWHERE = "/nonexistent"
"""The home of users who have none; it is not there."""
_BASHRC = "# ~/.bashrc: executed by bash(1) for non-login shells.\n"


def skeleton(
    host: str,
    users: Mapping[str, User],
    groups: Mapping[str, int],
    members: Mapping[str, Sequence[str]],
    hosts: Sequence[str],
    moment: float,
) -> Iterator[tuple[str, TreeNode]]:
    """Yield the paths and nodes of a machine, a directory before what is in it. `hosts` are the machines of its world."""
    for path in _DIRECTORIES:
        yield path, _directory(0o755, moment)
    for path, mode in _OTHERS.items():
        yield path, _directory(mode, moment)
    for path, target in _LINKS.items():
        yield path, TreeNode("link", 0o777, "root", "root", moment, target=target)
    for path in _DEVICES:
        yield path, TreeNode("device", 0o666, "root", "root", moment)
    for user in users.values():
        if user.uid >= 1000 and user.home != NOWHERE:
            yield user.home, TreeNode("directory", 0o755, user.name, user.group, moment)
            yield f"{user.home}/.bashrc", TreeNode("file", 0o644, user.name, user.group, moment, _BASHRC.encode())
    passwd = "".join(
        f"{user.name}:x:{user.uid}:{groups[user.group]}::{user.home}:{user.shell}\n" for user in users.values()
    )
    listed = "".join(f"{name}:x:{number}:{','.join(members.get(name, ()))}\n" for name, number in groups.items())
    addresses = "".join(f"10.0.0.{number} {name}\n" for number, name in enumerate(hosts, start=10))
    for path, text in {
        "/etc/hostname": f"{host}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n{addresses}",
        "/etc/passwd": passwd,
        "/etc/group": listed,
        "/etc/os-release": _RELEASE,
        "/etc/debian_version": "12.9\n",
        **_SETTINGS,
    }.items():
        yield path, TreeNode("file", 0o644, "root", "root", moment, text.encode())
    if "shadow" in groups:
        # Nobody has a password: logins are by key.
        secret = "".join(f"{user.name}:!:19000:0:99999:7:::\n" for user in users.values())
        yield "/etc/shadow", TreeNode("file", 0o640, "root", "shadow", moment, secret.encode())


def _directory(mode: int, moment: float) -> TreeNode:
    return TreeNode("directory", mode, "root", "root", moment)

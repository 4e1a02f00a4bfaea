"""What a login shell begins with: its environment and its prompt."""

from collections.abc import Mapping

from simtrain.worlds.machine.accounts import User

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment_of(user: User, further: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a login shell."""
    return {
        "HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": user.shell, "PATH": PATH, "LANG": "C.UTF-8",
        "TERM": "xterm-256color", **further,
    }  # fmt: skip


def prompt_of(shape: str, host: str, user: User, directory: str) -> str:
    """Return a prompt: `\\u` is the user, `\\h` the machine, `\\w` the directory, and `\\$` says whether it is root's."""
    home = user.home
    short = "~" + directory[len(home) :] if directory == home or directory.startswith(f"{home}/") else directory
    parts = {r"\u": user.name, r"\h": host.partition(".")[0], r"\w": short, r"\$": "#" if user.uid == 0 else "$"}
    for sign, text in parts.items():
        shape = shape.replace(sign, text)
    return shape

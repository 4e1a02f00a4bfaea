"""sudo: runs a command as root, or as another user, if the machine lets the caller."""

from simtrain.worlds.machine.invocation import Invocation, Result, quoted

_USAGE = "usage: sudo [-u user] [command [arg ...]]\n"
_NO_TERMINAL = (
    "sudo: a terminal is required to read the password; either use the -S option to read from standard input or configure"
    " an askpass helper\nsudo: a password is required\n"
)
_FLAGS = {"-n", "-E", "-H", "-S", "-k", "--non-interactive", "--preserve-env"}


def sudo(call: Invocation) -> Result:
    """Run a command as root, or as the user after -u; -i and -s run it in a login shell."""
    rest, target, login = list(call.arguments), "root", False
    assigned: dict[str, str] = {}
    while rest and (rest[0].startswith("-") or "=" in rest[0]):
        word = rest.pop(0)
        if word == "--":
            break
        if word in ("-u", "--user") and rest:
            target = rest.pop(0)
        elif word.startswith(("-u", "--user=")):
            target = word.removeprefix("--user=").removeprefix("-u")
        elif word in ("-i", "-s", "--login", "--shell"):
            login = True
        elif word in ("-l", "--list"):
            return _list(call)
        elif word in ("-v", "--validate"):
            return Result() if _allowed(call) else _refused(call)
        elif "=" in word and not word.startswith("-"):
            name, _, value = word.partition("=")
            assigned[name] = value
        elif word not in _FLAGS:
            return Result(stderr=f"sudo: invalid option -- '{word[1:2]}'\n{_USAGE}", exit_code=1)
    user = call.machine.users.get(target)
    if user is None:
        return Result(
            stderr=f"sudo: unknown user {target}\nsudo: error initializing audit plugin sudoers_audit\n", exit_code=1
        )
    if not _allowed(call):
        return _refused(call)
    if not rest and not login:
        return Result(stderr=_USAGE, exit_code=1)
    environment = {
        "PATH": call.environment.get("PATH", ""), "HOME": user.home, "USER": user.name, "LOGNAME": user.name,
        "SHELL": user.shell, "LANG": call.environment.get("LANG", "C.UTF-8"), "SUDO_USER": call.user.name,
        "SUDO_UID": str(call.user.uid), "SUDO_COMMAND": quoted(rest), **assigned,
    }  # fmt: skip
    directory = user.home if login and "-i" in call.arguments else call.directory
    script = quoted(rest) if rest else call.stdin or ""
    return call.run(script, stdin=call.stdin if rest else None, user=user, environment=environment, directory=directory)


def _allowed(call: Invocation) -> bool:
    return call.user.uid == 0 or call.user.sudo


def _refused(call: Invocation) -> Result:
    if "sudo" in call.user.groups:
        return Result(stderr=_NO_TERMINAL, exit_code=1)
    return Result(stderr=f"{call.user.name} is not in the sudoers file.\n", exit_code=1)


def _list(call: Invocation) -> Result:
    if not _allowed(call):
        return Result(stderr=f"Sorry, user {call.user.name} may not run sudo on {call.machine.name}.\n", exit_code=1)
    return Result(
        f"User {call.user.name} may run the following commands on {call.machine.name}:\n    (ALL : ALL) NOPASSWD: ALL\n"
    )

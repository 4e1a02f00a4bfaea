"""whoami, id and groups: who the shell's user is."""

from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.invocation import Invocation, Result


def whoami(call: Invocation) -> Result:
    """Print the name of the user."""
    return Result(f"{call.user.name}\n")


def groups(call: Invocation) -> Result:
    """Print the groups of the user, or of the users named."""
    if not call.arguments:
        return Result(" ".join(call.user.groups) + "\n")
    lines, errors = "", ""
    for name in call.arguments:
        user = call.machine.users.get(name)
        if user is None:
            errors += f"groups: '{name}': no such user\n"
        else:
            lines += f"{name} : {' '.join(user.groups)}\n"
    return Result(lines, errors, 1 if errors else 0)


def identity(call: Invocation) -> Result:
    """Print numbers and names of user and groups; -u, -g, -G one of them, -n the name instead of the number."""
    options = "".join(word[1:] for word in call.arguments if word.startswith("-"))
    named = [word for word in call.arguments if not word.startswith("-")]
    user = call.user if not named else call.machine.users.get(named[0])
    if user is None:
        return call.fail(f"'{named[0]}': no such user")
    numbers = {group: call.machine.group_number(group) for group in user.groups}
    if "u" in options:
        return Result(f"{user.name if 'n' in options else user.uid}\n")
    if "g" in options:
        return Result(f"{user.group if 'n' in options else numbers[user.group]}\n")
    if "G" in options:
        return Result(" ".join(group if "n" in options else str(number) for group, number in numbers.items()) + "\n")
    return Result(_whole(user, numbers))


def _whole(user: User, numbers: dict[str, int]) -> str:
    listed = ",".join(f"{number}({group})" for group, number in numbers.items())
    return f"uid={user.uid}({user.name}) gid={numbers[user.group]}({user.group}) groups={listed}\n"

"""touch: makes files, and sets the time of their last change."""

from datetime import UTC, datetime

from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt


def touch(call: Invocation) -> Result:
    """Set the times of files to now, or as -d, -t and -r say; -c makes none."""
    moment, names, makes, follow = call.now, list[str](), True, True
    rest = list(call.arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            names += rest
            break
        option, _, value = word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])
        if not word.startswith("-") or word == "-":
            names.append(word)
        elif option in ("-d", "-t", "-r", "--date", "--reference"):
            value = value or (rest.pop(0) if rest else "")
            found = _moment(call, option, value)
            if found is None:
                return call.fail(f"invalid date format '{value}'")
            moment = found
        elif word in ("--no-create", "--no-dereference") or set(word[1:]) <= set("camfh"):
            makes = makes and "c" not in word[1:2] and word != "--no-create" and "c" not in word[1:].replace("-", "")
            follow = follow and word != "--no-dereference" and not (word[1] != "-" and "h" in word[1:])
        else:
            return Result(
                stderr=f"touch: invalid option -- '{word[1:2]}'\nTry 'touch --help' for more information.\n",
                exit_code=1,
            )
    if not names:
        return Result(stderr="touch: missing file operand\nTry 'touch --help' for more information.\n", exit_code=1)
    errors = ""
    for name in names:
        done = attempt(lambda name=name: _touch_one(call, call.path(name), moment, makes=makes, follow=follow))
        if isinstance(done, OSError):
            errors += f"touch: cannot touch '{name}': {done.strerror}\n"
    return Result(stderr=errors, exit_code=1 if errors else 0)


def _touch_one(call: Invocation, path: str, moment: float, *, makes: bool, follow: bool) -> None:
    if not call.files.exists(path, follow=follow):
        if not makes:
            return
        call.files.write(path, b"")
    call.files.set_time(path, moment, follow=follow)


def _moment(call: Invocation, option: str, value: str) -> float | None:
    if option in ("-r", "--reference"):
        return call.files.node(call.path(value)).modified
    if option == "-t":
        whole, _, second = value.partition(".")
        shape = {12: "%Y%m%d%H%M", 10: "%y%m%d%H%M", 8: "%m%d%H%M"}.get(len(whole))
        try:
            found = datetime.strptime(whole, shape or "").replace(second=int(second or 0), tzinfo=UTC)
        except ValueError:
            return None
        year = datetime.fromtimestamp(call.now, UTC).year
        return (found.replace(year=year) if len(whole) == 8 else found).timestamp()
    try:
        return instant(value)
    except InputError:
        pass
    # Whatever `date` understands.
    found = call.run(f"date -d '{value}' +%s" if "'" not in value else "false")
    return float(found.stdout) if found.exit_code == 0 and found.stdout.strip().isdigit() else None

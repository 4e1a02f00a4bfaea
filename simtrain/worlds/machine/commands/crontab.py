"""crontab: the jobs of a user, as rows of the table `crontab`."""

import re

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.invocation import Invocation, Result

_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_NAMES = {name: number for names, first in ((("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1),
          (("sun", "mon", "tue", "wed", "thu", "fri", "sat"), 0)) for number, name in enumerate(names, first)}  # fmt: skip
_FIELDS = ("minute", "hour", "day-of-month", "month", "day-of-week")
_WORDS = {"@reboot", "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}


def crontab(call: Invocation) -> Result:
    """List (-l), remove (-r) or install the jobs of a user."""
    options = parsed(
        call, "u:lreis", hint="usage:\tcrontab [-u user] file\n\tcrontab [ -u user ] [ -i ] { -e | -l | -r }"
    )
    if isinstance(options, Result):
        return options
    owner = options.value("u") or call.user.name
    if options.has("u") and call.user.uid != 0 and owner != call.user.name:
        return Result(stderr="must be privileged to use -u\n", exit_code=1)
    if owner not in call.machine.users:
        return Result(stderr=f"crontab:  user `{owner}' unknown\n", exit_code=1)
    key = {"host": call.machine.name, "user": owner}
    rows = call.read(
        "select schedule, command from crontab where host = :host and user = :user order by rowid", {**key}
    )
    if options.has("l"):
        if not rows:
            return Result(stderr=f"no crontab for {owner}\n", exit_code=1)
        return Result("".join(f"{row['schedule']} {row['command']}\n" for row in rows))
    if options.has("r"):
        if not rows:
            return Result(stderr=f"no crontab for {owner}\n", exit_code=1)
        call.write("delete from crontab where host = :host and user = :user", {**key})
        return Result()
    if options.has("e"):
        return Result(stderr="crontab: no terminal: install a file, or pipe one to `crontab -`\n", exit_code=1)
    name = options.operands[0] if options.operands else "-"
    text = (call.stdin or "") if name == "-" else call.files.read(call.path(name)).decode(errors="replace")
    jobs: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if not plain or plain.startswith("#") or re.match(r"[A-Za-z_]\w*\s*=", plain):
            continue
        found = split_job(plain)
        if isinstance(found, str):
            shown = name if name != "-" else "-"
            return Result(
                stderr=f'"{shown}":{number - 1}: {found}\nerrors in crontab file, can\'t install.\n', exit_code=1
            )
        jobs.append(found)
    call.write("delete from crontab where host = :host and user = :user", {**key})
    for schedule, command in jobs:
        sql = "insert into crontab (host, user, schedule, command) values (:host, :user, :schedule, :command)"
        call.write(sql, {**key, "schedule": schedule, "command": command})
    return Result()


def split_job(line: str) -> tuple[str, str] | str:
    """Return schedule and command of a job, or the field that is wrong."""
    if line.startswith("@"):
        word, _, command = line.partition(" ")
        return (word, command.strip()) if word in _WORDS and command.strip() else "bad time specifier"
    parts = line.split(None, 5)
    for field, (low, high), text in zip(_FIELDS, _LIMITS, parts, strict=False):
        if not all(_fits(one, low, high) for one in text.split(",")):
            return f"bad {field}"
    if len(parts) < 6:
        return "bad command" if len(parts) == 5 else f"bad {_FIELDS[len(parts)]}"
    return " ".join(parts[:5]), parts[5]


def _fits(text: str, low: int, high: int) -> bool:
    found = re.fullmatch(r"(\*|[a-z]{3}|\d+)(?:-([a-z]{3}|\d+))?(?:/(\d+))?", text.lower())
    if found is None or (found[3] is not None and int(found[3]) == 0):
        return False
    ends = [_NAMES.get(one, int(one) if one.isdigit() else -1) for one in found.groups()[:2] if one not in (None, "*")]
    return all(low <= one <= high for one in ends) and ends == sorted(ends)

"""crontab: the jobs of a user, as rows of the table `crontab`."""

import re

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.cron_times import FIELDS, WORDS, numbers
from simtrain.worlds.machine.invocation import Invocation, Result


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
        known = word in WORDS or word == "@reboot"
        return (word, command.strip()) if known and command.strip() else "bad time specifier"
    parts = line.split(None, 5)
    for place, text in enumerate(parts[:5]):
        if numbers(text, place) is None:
            return f"bad {FIELDS[place]}"
    if len(parts) < 6:
        return "bad command" if len(parts) == 5 else f"bad {FIELDS[len(parts)]}"
    return " ".join(parts[:5]), parts[5]

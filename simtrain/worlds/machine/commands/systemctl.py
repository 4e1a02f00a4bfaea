"""systemctl and service: the services of the machine, as rows of the table `services`."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from simtrain.values.clock import instant, stamp
from simtrain.values.types import JsonObject
from simtrain.worlds.machine.commands.journal import journal_lines, note, plain_unit
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.process_table import begin, end, processes
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result

_LONG = {"no-pager": "no-pager", "full": "l", "lines=": "n", "type=": "t", "state=": "state", "all": "a", "now": "now", "quiet": "q",
         "no-legend": "no-legend", "plain": "plain", "failed": "failed", "property=": "p", "value": "value", "user": "user", "output=": "o",
         "system": "system", "no-block": "no-block"}  # fmt: skip


_READING = {"status", "is-active", "is-enabled", "is-failed", "list-units", "list-unit-files", "show", "cat", "list-timers",
            "is-system-running", "get-default"}  # fmt: skip


_CHANGING = {"start", "stop", "restart", "reload", "enable", "disable", "try-restart", "reload-or-restart", "daemon-reload", "reset-failed",
             "mask", "unmask", "kill", "reenable"}  # fmt: skip


def systemctl(call: Invocation) -> Result:
    """Show services, start and stop them, and say which start with the machine."""
    options = parsed(call, "aln:o:p:qt:", _LONG)
    if isinstance(options, Result):
        return options
    words = options.operands or ["list-units"]
    action, names = words[0], [plain_unit(name) for name in words[1:]]
    if action not in _READING | _CHANGING:
        return Result(stderr=f"Unknown command verb {action}.\n", exit_code=1)
    if action in _CHANGING and call.user.uid != 0:
        what = names[0] + ".service" if names else "systemd"
        text = {
            "enable": "Failed to enable unit",
            "disable": "Failed to disable unit",
            "daemon-reload": "Failed to reload daemon",
        }
        prefix = text.get(action, f"Failed to {action} {what}")
        return Result(
            stderr=f"{prefix}: Interactive authentication required.\n"
            + ("" if action in text else f"See system logs and 'systemctl status {what}' for details.\n"),
            exit_code=1 if action in text else 4,
        )
    if action == "daemon-reload":
        return Result()
    if action in ("is-system-running", "get-default"):
        bad = any(row["state"] == "failed" for row in services(call))
        if action == "get-default":
            return Result("multi-user.target\n")
        return Result("degraded\n" if bad else "running\n", "", int(bad))
    if action in ("list-units", "list-unit-files", "list-timers"):
        failed = options.has("failed") or options.value("state") == "failed"
        return _list(call, action, failed=failed, everything=options.has("a"), legend=not options.has("no-legend"))
    if not names and action not in ("status", "reset-failed"):
        return Result(stderr="Too few arguments.\n", exit_code=1)
    if not names:
        return Result(f"* {call.machine.name}\n    State: running\n") if action == "status" else Result()
    return _each(
        call,
        action,
        names,
        quiet=options.has("q"),
        now=options.has("now"),
        wanted=options.values("p"),
        bare=options.has("value"),
    )


def services(call: Invocation) -> list[JsonObject]:
    """Return the services of the machine by name."""
    return call.read("select * from services where host = :host order by name", {"host": call.machine.name})


def _service(call: Invocation, name: str) -> JsonObject | None:
    return next((row for row in services(call) if row["name"] == name), None)


def _each(
    call: Invocation, action: str, names: Sequence[str], *, quiet: bool, now: bool, wanted: Sequence[str], bare: bool
) -> Result:
    output, errors, code = "", "", 0
    for place, name in enumerate(names):
        row = _service(call, name)
        done: Result
        if row is None:
            done = _unknown(action, name)
        elif action == "status":
            done = Result(("\n" if place else "") + _status(call, row), "", 0 if row["state"] == "active" else 3)
        elif action == "is-active":
            done = Result(f"{row['state']}\n", "", 0 if row["state"] == "active" else 3)
        elif action == "is-failed":
            done = Result(f"{row['state']}\n", "", 0 if row["state"] == "failed" else 1)
        elif action == "is-enabled":
            done = Result("enabled\n" if row["enabled"] else "disabled\n", "", 0 if row["enabled"] else 1)
        elif action == "show":
            done = Result(_shown(call, row, wanted, bare=bare))
        elif action == "cat":
            done = Result(_unit_file(row))
        else:
            done = _changed(call, action, row, now=now)
        output += done.stdout
        errors += done.stderr
        code = (
            max(code, done.exit_code)
            if action != "is-active"
            else (done.exit_code if not place else min(code, done.exit_code))
        )
    return Result("" if quiet and action.startswith("is-") else output, errors, code)


def _unknown(action: str, name: str) -> Result:
    unit = f"{name}.service"
    if action == "status":
        return Result(stderr=f"Unit {unit} could not be found.\n", exit_code=4)
    if action in ("is-active", "is-failed"):
        return Result("inactive\n", "", 3 if action == "is-active" else 1)
    if action == "is-enabled":
        return Result(stderr=f"Failed to get unit file state for {unit}: No such file or directory\n", exit_code=1)
    if action in ("enable", "disable", "mask", "unmask", "reenable"):
        return Result(stderr=f"Failed to {action} unit: Unit file {unit} does not exist.\n", exit_code=1)
    if action == "cat":
        return Result(stderr=f"No files found for {unit}.\n", exit_code=1)
    if action == "show":
        return Result("LoadState=not-found\nActiveState=inactive\nSubState=dead\n")
    if action == "reload":
        return Result(stderr=f"Failed to reload {unit}: Unit {unit} not found.\n", exit_code=5)
    return Result(stderr=f"Failed to {action} {unit}: Unit {unit} not found.\n", exit_code=5)


def _set(call: Invocation, name: str, state: str) -> None:
    sql = "update services set state = :state, changed = :now where host = :host and name = :name"
    call.write(sql, {"host": call.machine.name, "name": name, "state": state, "now": stamp(call.now)})


def _changed(call: Invocation, action: str, row: JsonObject, *, now: bool) -> Result:
    name = row["name"]
    if action in ("enable", "disable", "reenable"):
        call.write("update services set enabled = :on where host = :host and name = :name",
                   {"on": int(action != "disable"), "host": call.machine.name, "name": name})  # fmt: skip
        link = f"/etc/systemd/system/multi-user.target.wants/{name}.service"
        said = ""
        if action == "enable" and not row["enabled"]:
            said = f"Created symlink {link} → /lib/systemd/system/{name}.service.\n"
        if action == "disable" and row["enabled"]:
            said = f'Removed "{link}".\n'
        if now:
            done = _start(call, name) if action == "enable" else _stop(call, name)
            return Result(stderr=said + done.stderr, exit_code=done.exit_code)
        return Result(stderr=said)
    if action in ("mask", "unmask"):
        return Result(
            stderr=f"Failed to {action} unit: File /etc/systemd/system/{name}.service already exists.\n", exit_code=1
        )
    if action == "reset-failed":
        if row["state"] == "failed":
            _set(call, name, "inactive")
        return Result()
    if action == "kill":
        return _stop(call, name)
    if action == "stop":
        return _stop(call, name)
    if action == "reload":
        if row["state"] != "active":
            return Result(stderr=f"{name}.service is not active, cannot reload.\n", exit_code=1)
        note(call, name, f"Reloaded {name}.service - {row['description'] or name}.")
        return Result()
    if action == "try-restart" and row["state"] != "active":
        return Result()
    if action == "start" and row["state"] == "active":
        return Result()
    _stop(call, name)
    return _start(call, name)


def _stop(call: Invocation, name: str) -> Result:
    row = _service(call, name)
    if row is None or row["state"] == "inactive":
        return Result()
    for one in processes(call):
        if one.service == name:
            end(call, one, service_state="inactive")
    _set(call, name, "inactive")
    note(call, name, f"Stopped {name}.service - {row['description'] or name}.")
    return Result()


def _start(call: Invocation, name: str, *, waiting: tuple[str, ...] = ()) -> Result:
    """Start a service after those that it requires. It fails where its port is taken, and where the world's tables refuse it."""
    row = _service(call, name)
    if row is None:
        return _unknown("start", name)
    if row["state"] == "active":
        return Result()
    title = f"{name}.service - {row['description'] or name}"
    for required in (row["requires"] or "").split(","):
        other = plain_unit(required.strip())
        if not other or other in waiting:
            continue
        if _start(call, other, waiting=(*waiting, name)).exit_code:
            note(call, name, f"Dependency failed for {title}.")
            text = f"A dependency job for {name}.service failed. See 'journalctl -xe' for details.\n"
            return Result(stderr=text, exit_code=1)
    note(call, name, f"Starting {title}...")
    taken = (
        []
        if row["port"] is None
        else call.read(
            "select pid from processes where host = :host and port = :port",
            {"host": call.machine.name, "port": row["port"]},
        )
    )
    try:
        if taken:
            raise _Failed(f"bind() to 0.0.0.0:{row['port']} failed (98: Address already in use)")
        _set(call, name, "active")
        if row["command"]:
            begin(call, row)
    except (_Failed, sqlite3.Error) as error:
        # A trigger of the world refuses with the words that the program would write.
        note(call, name, str(error))
        note(call, name, f"{name}.service: Main process exited, code=exited, status=1/FAILURE")
        note(call, name, f"{name}.service: Failed with result 'exit-code'.")
        note(call, name, f"Failed to start {title}.")
        _set(call, name, "failed")
        text = (
            f"Job for {name}.service failed because the control process exited with error code.\n"
            f'See "systemctl status {name}.service" and "journalctl -xeu {name}.service" for details.\n'
        )
        return Result(stderr=text, exit_code=1)
    note(call, name, f"Started {title}.")
    return Result()


class _Failed(Exception):
    """Raised where a service cannot start."""


def _status(call: Invocation, row: JsonObject) -> str:
    name, state = row["name"], row["state"]
    since = local(instant(row["changed"] or stamp(call.now)), call.environment)
    mark = {"active": "●", "failed": "×"}.get(state, "○")
    enabled = "enabled" if row["enabled"] else "disabled"
    words = {"active": "active (running)", "failed": "failed (Result: exit-code)", "inactive": "inactive (dead)"}[state]
    ago = _ago(call.now - since.timestamp())
    lines = [
        f"{mark} {name}.service - {row['description'] or name}",
        f"     Loaded: loaded (/lib/systemd/system/{name}.service; {enabled}; preset: enabled)",
        f"     Active: {words} since {since:%a %Y-%m-%d %H:%M:%S %Z}; {ago}"
        if state != "inactive" or row["changed"]
        else f"     Active: {words}",
    ]
    running = [one for one in processes(call) if one.service == name]
    if running and state == "active":
        main = running[0]
        lines += [
            f"   Main PID: {main.pid} ({main.name})",
            f"      Tasks: {len(running)} (limit: 4654)",
            f"     Memory: {sum(one.memory for one in running) / 1024:.1f}M",
            f"     CGroup: /system.slice/{name}.service",
        ]
        lines += [f"             {'└─' if one is running[-1] else '├─'}{one.pid} {one.command}" for one in running]
    elif state == "failed":
        lines.append("    Process: ExecStart=" + (row["command"] or "") + " (code=exited, status=1/FAILURE)")
    journal = journal_lines(call, name)[-10:]
    return "\n".join([*lines, *([""] if journal else []), *journal]) + "\n"


def _ago(seconds: float) -> str:
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "day"), (3600, "h"), (60, "min"), (1, "s")):
        if whole >= size:
            count = whole // size
            return (
                f"{count} days ago"
                if unit == "day" and count > 1
                else f"{count} day ago"
                if unit == "day"
                else f"{count}{unit} ago"
            )
    return "0s ago"


def _shown(call: Invocation, row: JsonObject, wanted: Sequence[str], *, bare: bool) -> str:
    running = [one for one in processes(call) if one.service == row["name"]]
    values = {
        "Type": "simple", "MainPID": str(running[0].pid if running else 0), "ExecStart": row["command"], "Id": f"{row['name']}.service",
        "Description": row["description"] or row["name"], "LoadState": "loaded", "ActiveState": row["state"],
        "SubState": {"active": "running", "failed": "failed", "inactive": "dead"}[row["state"]],
        "UnitFileState": "enabled" if row["enabled"] else "disabled", "User": row["user"],
    }  # fmt: skip
    names = [name for text in wanted for name in text.split(",")] or list(values)
    return "".join(f"{values[name]}\n" if bare else f"{name}={values[name]}\n" for name in names if name in values)


def _unit_file(row: JsonObject) -> str:
    requires = (
        f"Requires={' '.join(f'{plain_unit(one)}.service' for one in row['requires'].split(','))}\n"
        if row["requires"]
        else ""
    )
    return (
        f"# /lib/systemd/system/{row['name']}.service\n[Unit]\nDescription={row['description'] or row['name']}\n{requires}\n"
        f"[Service]\nExecStart={row['command']}\nUser={row['user']}\n\n[Install]\nWantedBy=multi-user.target\n"
    )


def _list(call: Invocation, action: str, *, failed: bool, everything: bool, legend: bool) -> Result:
    rows = [row for row in services(call) if not failed or row["state"] == "failed"]
    if action == "list-timers":
        return Result("0 timers listed.\n")
    if action == "list-unit-files":
        wide = max([9, *(len(row["name"]) + 8 for row in rows)])
        lines = [f"{'UNIT FILE'.ljust(wide)} STATE    PRESET"] if legend else []
        lines += [
            f"{(row['name'] + '.service').ljust(wide)} {'enabled ' if row['enabled'] else 'disabled'} enabled"
            for row in rows
        ]
        return Result("\n".join([*lines, *(["", f"{len(rows)} unit files listed."] if legend else [])]) + "\n")
    if not everything and not failed:
        rows = [row for row in rows if row["state"] != "inactive"]
    wide = max([4, *(len(row["name"]) + 8 for row in rows)])
    lines = [f"  {'UNIT'.ljust(wide)} LOAD   ACTIVE   SUB     DESCRIPTION"] if legend and rows else []
    for row in rows:
        sub = {"active": "running", "failed": "failed ", "inactive": "dead   "}[row["state"]]
        mark = "●" if row["state"] == "failed" else " "
        lines.append(
            f"{mark} {(row['name'] + '.service').ljust(wide)} loaded {row['state'].ljust(8)} {sub} {row['description'] or row['name']}"
        )
    if legend:
        lines += (
            [
                "",
                "LOAD   = Reflects whether the unit definition was properly loaded.",
                "ACTIVE = The high-level unit activation state, i.e. generalization of SUB.",
                "SUB    = The low-level unit activation state, values depend on unit type.",
            ]
            if rows
            else []
        ) + [f"{len(rows)} loaded units listed."]
    return Result("\n".join(lines) + "\n")


def service(call: Invocation) -> Result:
    """Start, stop and show services in the old way: `service NAME ACTION`."""
    words = list(call.arguments)
    if words[:1] == ["--status-all"]:
        return Result(
            "".join(f" [ {'+' if row['state'] == 'active' else '-'} ]  {row['name']}\n" for row in services(call))
        )
    if len(words) < 2:
        return Result(
            stderr="Usage: service < option > | --status-all | [ service_name [ command | --full-restart ] ]\n",
            exit_code=1,
        )
    name, action = words[0], words[1]
    if _service(call, plain_unit(name)) is None:
        return Result(stderr=f"{name}: unrecognized service\n", exit_code=1)
    return systemctl(replace(call, name="systemctl", arguments=(action, name)))

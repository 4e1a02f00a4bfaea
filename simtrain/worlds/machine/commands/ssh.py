"""ssh and scp: to another machine of the same world."""

from posixpath import basename

from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.problems import attempt


def _reached(call: Invocation, target: str, login: str | None, port: str) -> tuple[Machine, User] | Result:
    """Return the machine and the user that a target names; a refusal where there is none, or no ssh server runs."""
    name, at, host = target.rpartition("@")
    user_name = name if at else login or call.user.name
    machine = call.machine if host in ("localhost", "127.0.0.1") else call.machine.peers.get(host)
    if machine is None:
        text = f"ssh: Could not resolve hostname {host}: Name or service not known\n"
        return Result(stderr=text, exit_code=255)
    sql = "select 1 as found from processes where host = :host and port = :port and service = 'sshd'"
    if not call.read(sql, {"host": machine.name, "port": int(port)}):
        return Result(stderr=f"ssh: connect to host {host} port {port}: Connection refused\n", exit_code=255)
    user = machine.users.get(user_name)
    if user is None:
        return Result(stderr=f"{user_name}@{host}: Permission denied (publickey).\n", exit_code=255)
    return machine, user


def _environment(call: Invocation, user: User) -> dict[str, str]:
    path = call.environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {"HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": user.shell, "PATH": path,
            "LANG": call.environment.get("LANG", "C.UTF-8")}  # fmt: skip


def ssh(call: Invocation) -> Result:
    """Run a command, or what is piped in, on another machine of the world."""
    options = parsed(
        call, "46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:", permuted=False, code=255, hint=""
    )
    if isinstance(options, Result):
        return options
    if options.has("V"):
        return Result(stderr="OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.15 3 Sep 2024\n")
    if not options.operands:
        return Result(
            stderr="usage: ssh [-46AaCfGgKkMNnqsTtVvXxYy] destination [command [argument ...]]\n", exit_code=255
        )
    target, *words = options.operands
    port = options.value("p") or "22"
    if not port.isdigit():
        return Result(stderr=f"Bad port '{port}'\n", exit_code=255)
    found = _reached(call, target.removeprefix("ssh://"), options.value("l"), port)
    if isinstance(found, Result):
        return found
    machine, user = found
    script = " ".join(words) if words else call.stdin or ""
    stdin = call.stdin if words and not options.has("n") else None
    return call.run(
        script, stdin=stdin, user=user, machine=machine, environment=_environment(call, user), directory=user.home
    )


def scp(call: Invocation) -> Result:
    """Copy files between machines of the world: `NAME@HOST:PATH` on either side."""
    options = parsed(call, "346ABCOpqRrsTvc:D:F:i:J:l:o:P:S:X:", code=1, hint="")
    if isinstance(options, Result):
        return options
    if len(options.operands) < 2:
        return Result(stderr="usage: scp [-346ABCOpqRrsTv] source ... target\n", exit_code=1)
    *sources, target = options.operands
    port = options.value("P") or "22"
    into = _place(call, target, port)
    if isinstance(into, Result):
        return into
    errors = ""
    for source in sources:
        origin = _place(call, source, port)
        if isinstance(origin, Result):
            return origin
        problem = _copied(origin, into, source, recursive=options.has("r"))
        errors += f"scp: {problem}\n" if problem else ""
    return Result(stderr=errors, exit_code=1 if errors else 0)


def _place(call: Invocation, text: str, port: str) -> tuple[Files, str] | Result:
    host, colon, path = text.partition(":")
    if not colon or "/" in host:
        return call.files, call.path(text)
    found = _reached(call, host, None, port)
    if isinstance(found, Result):
        return Result(stderr=found.stderr + "scp: Connection closed\n", exit_code=255)
    machine, user = found
    plain = path.removeprefix("~/")
    return machine.files(user), plain if plain.startswith("/") else f"{user.home}/{plain}".rstrip("/")


def _copied(origin: tuple[Files, str], into: tuple[Files, str], shown: str, *, recursive: bool) -> str | None:
    files, path = origin
    there, place = into
    name = shown.partition(":")[2] or shown
    node = attempt(lambda: files.node(path))
    if isinstance(node, OSError):
        return f"{name}: {node.strerror}"
    if node.kind == "directory" and not recursive:
        return f"{name}: not a regular file"
    if there.is_directory(place):
        place = f"{place.rstrip('/')}/{basename(path.rstrip('/'))}"

    def put() -> None:
        # The whole list first: a directory may be copied into itself.
        for each in [*files.walk(path.rstrip("/"))]:
            target = place + each[len(path.rstrip("/")) :]
            if files.is_directory(each):
                there.make_directory(target, parents=True)
            else:
                there.write(target, files.read(each), mode=files.node(each).mode)

    done = attempt(put)
    return f"{place}: {done.strerror}" if isinstance(done, OSError) else None

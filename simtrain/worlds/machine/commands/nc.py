"""nc: whether a port of a machine is open (-z), and a request typed by hand, as netcat of OpenBSD 1.219 words them."""

from simtrain.worlds.machine.binary import as_text
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.ports import NAMES
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import listener, machine_at, resolved
from simtrain.worlds.machine.sites import HttpRequest

_USAGE = (
    "usage: nc [-46CDdFhklNnrStUuvZz] [-I length] [-i interval] [-M ttl]\n"
    "\t  [-m minttl] [-O length] [-P proxy_username] [-p source_port]\n"
    "\t  [-q seconds] [-s sourceaddr] [-T keyword] [-V rtable] [-W recvlimit]\n"
    "\t  [-w timeout] [-X proxy_protocol] [-x proxy_address[:port]]\n"
    "\t  [destination] [port]\n"
)
_MOST_PORTS = 65_536
_CONNECT = 130.0
"""Seconds after which the kernel gives up on a machine that does not answer."""


def nc(call: Invocation) -> Result:
    """Connect to ports, one after the other; with -z only to see whether they are open."""
    options = parsed(call, "46CDdFhklNnrStUuvZzI:i:M:m:O:P:p:q:s:T:V:W:w:X:x:", hint=_USAGE.rstrip("\n"))
    if isinstance(options, Result):
        return options
    if options.has("l"):
        # Nobody else connects: it waits until it is stopped.
        call.sleep(float("1e9"))
        return Result(exit_code=1)
    if len(options.operands) != 2:
        return Result(stderr=_USAGE, exit_code=1)
    name, asked = options.operands
    first, _, last = asked.partition("-")
    low, high = _port(first), _port(last or first)
    if low is None or high is None or not 0 < low <= high < _MOST_PORTS:
        return call.fail(f"port number invalid: {asked}")
    address = resolved(call, name)
    if address is None:
        return call.fail(f'getaddrinfo for host "{name}" port {asked}: Name or service not known')
    wait = options.value("w")
    patience = float(wait) if wait and wait.isdigit() else _CONNECT
    output, errors, code = "", "", 1
    for port in range(low, high + 1):
        if options.has("u"):
            # Nothing is sent back, so nobody says that a port is closed.
            code = 0
            continue
        done = _one(call, name, address, port, patience, verbose=options.has("v"), only=options.has("z"))
        output, errors, code = output + done.stdout, errors + done.stderr, min(code, done.exit_code)
        if done.exit_code == 0 and not options.has("z"):
            break
    return Result(output, errors, code)


def _port(text: str) -> int | None:
    return int(text) if text.isdigit() else next((port for port, name in NAMES.items() if name == text), None)


def _one(call: Invocation, name: str, address: str, port: int, patience: float, *, verbose: bool, only: bool) -> Result:
    whom = f"{name} ({address})" if name != address else address
    machine = machine_at(call, address)
    if machine is None:
        call.sleep(patience)
        return Result(
            stderr=f"nc: connect to {whom} port {port} (tcp) timed out: Operation now in progress\n" if verbose else "",
            exit_code=1,
        )
    found = listener(call, machine, port)
    if found is None:
        return Result(
            stderr=f"nc: connect to {whom} port {port} (tcp) failed: Connection refused\n" if verbose else "",
            exit_code=1,
        )
    errors = f"Connection to {whom} {port} port [tcp/{NAMES.get(port, '*')}] succeeded!\n" if verbose else ""
    head, _, body = (call.stdin or "").replace("\r\n", "\n").partition("\n\n")
    words, *rest = head.split("\n")
    parts = words.split()
    if only or len(parts) < 2:
        return Result(stderr=errors)
    pairs = (line.partition(":") for line in rest if ":" in line)
    headers = {key.strip(): value.strip() for key, _, value in pairs}
    response = found.answered(HttpRequest(parts[0], parts[1], headers, body))
    if response is None:
        return Result(stderr=errors)
    call.sleep(response.takes)
    return Result(response.head + ("" if parts[0] == "HEAD" else as_text(response.body)), errors)

"""ping: packets to a machine, one each second, as iputils 20221126 prints their answers.

A function of the shell stands before a script that pings (`FUNCTION`): each packet is a command, so that its line comes when its time
has come, and a ping without a count goes on until it is stopped.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.sleep import STOPPED
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import GATEWAY, NETWORK, address_of, machine_at, resolved

FUNCTION = (
    'ping() { local _sent=1; _ping_head "$@" || return; while _ping_next $_sent "$@"; do _sent=$((_sent + 1)); done; '
    f'case $? in {STOPPED}) exit {STOPPED};; esac; _ping_end $_sent "$@"; }}; '
)
"""For the beginning of the first line of a script that pings."""
_PINGS = re.compile(r"(?:^|[;&|({\n]|\b(?:do|then|else|if|while|until|time|!))\s*ping\s")
MOST = 3600
"""Most packets of a ping without a count that no call stops."""
_LARGEST = 100_000
"""Most packets of a ping with a count."""
_LAST = 1
"""Exit code of a packet after which no other is sent."""
_UNREACHABLE, _PATIENCE = 3.0, 10.0
"""Seconds until nobody on the own network has said that an address is theirs, and until an answer from elsewhere is waited for."""


def pings(script: str) -> bool:
    """True if a script may call ping."""
    return "ping" in script and _PINGS.search(script) is not None


@dataclass(frozen=True, slots=True)
class _Ping:
    """A ping: whom it is sent to, how many packets, at what interval. `count` is None where there is no end."""

    name: str
    address: str
    count: int | None
    interval: float
    longest: float | None
    quiet: bool
    own: bool
    answered: bool

    @property
    def near(self) -> bool:
        """Whether the address is in the machine's own network, and nobody has it."""
        return not self.answered and self.address.startswith(NETWORK)

    def time(self, number: int) -> float:
        """Return the milliseconds until a packet is answered: the same each time."""
        some = int(sha256(f"{self.address} {number}".encode()).hexdigest()[:2], 16)
        return 0.02 + some / 8000 if self.own else 0.3 + some / 1000

    def times(self, sent: int) -> list[float]:
        """Return those of all packets that were answered."""
        return [self.time(number) for number in range(1, sent + 1)] if self.answered else []


def _asked(call: Invocation, arguments: tuple[str, ...]) -> _Ping | Result:
    options = parsed(
        _with(call, arguments), "46bc:i:I:nqs:t:vW:w:Q:OD", {"count=": "c", "interval=": "i"}, code=2, hint=""
    )
    if isinstance(options, Result):
        return options
    if not options.operands:
        return Result(stderr="ping: usage error: Destination address required\n", exit_code=1)
    numbers: dict[str, float | None] = {}
    for letter in "ciw":
        numbers[letter] = _number(options, letter)
        if numbers[letter] is None and options.has(letter):
            return Result(stderr=f"ping: invalid argument: '{options.value(letter)}'\n", exit_code=1)
    name = options.operands[-1]
    address = resolved(call, name)
    if address is None:
        return Result(stderr=f"ping: {name}: Name or service not known\n", exit_code=2)
    machine = machine_at(call, address)
    return _Ping(
        name,
        address,
        min(int(numbers["c"] or 0), _LARGEST) or None,
        max(0.002, 1.0 if numbers["i"] is None else numbers["i"]),
        numbers["w"] or None,
        options.has("q"),
        machine is call.machine,
        machine is not None or address == GATEWAY,
    )


def _with(call: Invocation, arguments: tuple[str, ...]) -> Invocation:
    return Invocation("ping", arguments, call.stdin, call.environment, call.directory, call.files, call.machine)


def _number(options: Options, letter: str) -> float | None:
    text = options.value(letter) or ""
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None


def ping_head(call: Invocation) -> Result:
    """Print the first line."""
    asked = _asked(call, call.arguments)
    if isinstance(asked, Result):
        return asked
    return Result(f"PING {asked.name} ({asked.address}) 56(84) bytes of data.\n")


def _begun(call: Invocation) -> tuple[_Ping, int]:
    """Return a ping of which the first line was printed, and the number of the packet. Raises ValueError for another call."""
    asked, number = _asked(call, call.arguments[1:]), int(call.arguments[0])
    if isinstance(asked, Result) or not 0 < number <= max(MOST, asked.count or 0) <= _LARGEST:
        raise ValueError(f"no packet {number}")
    return asked, number


def ping_next(call: Invocation) -> Result:
    """Send a packet, whose number comes first, and print its answer. Another exit code than 0 says that it was the last."""
    asked, number = _begun(call)
    if number > 1:
        call.sleep(asked.interval)
        if call.machine.jobs.cut:
            return Result(exit_code=STOPPED)
    limits = [asked.count or MOST, *([int(asked.longest / asked.interval)] if asked.longest else [])]
    line = ""
    if asked.answered and not asked.quiet:
        whom = asked.address if asked.name == asked.address else f"{asked.name} ({asked.address})"
        line = f"64 bytes from {whom}: icmp_seq={number} ttl=64 time={asked.time(number):.3f} ms\n"
    return Result(line, exit_code=_LAST if number >= min(limits) else 0)


def ping_end(call: Invocation) -> Result:
    """Print how many of so many packets were answered, and how fast."""
    asked, sent = _begun(call)
    output, took = "", (sent - 1) * asked.interval
    if not asked.answered:
        call.sleep(_UNREACHABLE if asked.near else _PATIENCE)
    if asked.near and not asked.quiet:
        own = address_of(call.machine)
        output += "".join(
            f"From {own} icmp_seq={number} Destination Host Unreachable\n" for number in range(1, sent + 1)
        )
    times = asked.times(sent)
    errors = f"+{sent} errors, " if asked.near else ""
    output += f"\n--- {asked.name} ping statistics ---\n{sent} packets transmitted, {len(times)} received, {errors}"
    output += f"{0 if times else 100}% packet loss, time {int(took * 1000)}ms\n"
    if times:
        mean = sum(times) / len(times)
        spread = (sum((one - mean) ** 2 for one in times) / len(times)) ** 0.5
        output += f"rtt min/avg/max/mdev = {min(times):.3f}/{mean:.3f}/{max(times):.3f}/{spread:.3f} ms\n"
    return Result(output, exit_code=0 if times else 1)


def ping(call: Invocation) -> Result:
    """Do all of it at once: for what calls ping by its path, or from another program."""
    done = ping_head(call)
    if done.exit_code:
        return done
    output, number = done.stdout, 0
    while True:
        number += 1
        packet = ping_next(_numbered(call, number))
        output += packet.stdout
        if packet.exit_code == STOPPED or (call.machine.deadline is not None and call.moment >= call.machine.deadline):
            return Result(output, exit_code=STOPPED)
        if packet.exit_code:
            end = ping_end(_numbered(call, number))
            return Result(output + end.stdout, exit_code=end.exit_code)


def _numbered(call: Invocation, number: int) -> Invocation:
    return _with(call, (str(number), *call.arguments))

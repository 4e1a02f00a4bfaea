"""ip, ifconfig and ping: the network card of the machine, and who answers in its network, 10.0.0.0/24.

The layouts are those of iproute2 6.1, net-tools 2.10 and iputils 20221126.
"""

from hashlib import sha256

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import GATEWAY, address_of, machine_at, resolved

_LINK = (
    "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN{mode} group default qlen 1000\n"
    "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n",
    "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP{mode} group default qlen 1000\n"
    "    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n",
)
_FOREVER = "       valid_lft forever preferred_lft forever\n"
_INET = (
    f"    inet 127.0.0.1/8 scope host lo\n{_FOREVER}",
    f"    inet {{address}}/24 brd 10.0.0.255 scope global eth0\n{_FOREVER}",
)
_NAMES = ("lo", "eth0")
_OBJECTS = {"address": "address", "link": "link", "route": "route", "neighbour": "neighbour"}
_IP_USAGE = (
    "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }\n"
    "where  OBJECT := { address | link | neighbour | route }\n"
    "       OPTIONS := { -4 | -br[ief] | -o[neline] }\n"
)
_REFUSED, _UNKNOWN = 2, 255
MOST_PINGS = 3600
"""Most packets of a ping without a count: an hour of virtual time, before whoever waits for it has stopped it."""


def _mac(call: Invocation) -> str:
    made = sha256(f"{call.machine.name}/eth0".encode()).hexdigest()
    return ":".join(["52", "54", "00", made[0:2], made[2:4], made[4:6]])


def ip(call: Invocation) -> Result:
    """Print addresses, links, routes or neighbours. What would change them is refused."""
    flags = [word.lstrip("-") for word in call.arguments if word.startswith("-")]
    words = [word for word in call.arguments if not word.startswith("-")]
    if not words or words[0] == "help":
        return Result(stderr=_IP_USAGE, exit_code=_UNKNOWN)
    asked = next((name for name in _OBJECTS if name.startswith(words[0])), None)
    if asked is None:
        return Result(stderr=f'Object "{words[0]}" is unknown, try "ip help".\n', exit_code=1)
    rest = [word for word in words[1:] if word not in ("show", "list", "ls", "s", "sh", "dev")]
    if rest and rest[0] in ("add", "del", "delete", "set", "flush", "replace", "change"):
        return Result(stderr="RTNETLINK answers: Operation not permitted\n", exit_code=_REFUSED)
    brief = any(flag.startswith("br") for flag in flags)
    if asked == "route":
        return _route(call, rest)
    if asked == "neighbour":
        return Result(f"{GATEWAY} dev eth0 lladdr 52:54:00:00:00:01 REACHABLE\n")
    wrong = next((word for word in rest if word not in _NAMES), None)
    if wrong is not None:
        return Result(stderr=f'Device "{wrong}" does not exist.\n', exit_code=1)
    shown = [place for place, name in enumerate(_NAMES) if not rest or name in rest]
    values = {
        "mac": _mac(call),
        "address": address_of(call.machine),
        "mode": " mode DEFAULT" if asked == "link" else "",
    }
    if brief:
        if asked == "address":
            last = ("127.0.0.1/8", f"{values['address']}/24")
        else:
            last = (f"{'00:' * 5}00 <LOOPBACK,UP,LOWER_UP>", f"{values['mac']} <BROADCAST,MULTICAST,UP,LOWER_UP>")
        state = ("UNKNOWN", "UP")
        return Result("".join(f"{_NAMES[place]:<16} {state[place]:<14} {last[place]} \n" for place in shown))
    return Result(
        "".join((_LINK[place] + (_INET[place] if asked == "address" else "")).format(**values) for place in shown)
    )


def _route(call: Invocation, words: list[str]) -> Result:
    own = address_of(call.machine)
    if words[:1] == ["get"] and len(words) > 1:
        via = "" if words[1].startswith("10.0.0.") else f"via {GATEWAY} "
        return Result(f"{words[1]} {via}dev eth0 src {own} uid {call.user.uid} \n    cache \n")
    lines = [f"default via {GATEWAY} dev eth0 ", f"10.0.0.0/24 dev eth0 proto kernel scope link src {own} "]
    return Result("".join(f"{line}\n" for line in (lines[:1] if words[:1] == ["default"] else lines)))


def ifconfig(call: Invocation) -> Result:
    """Print the cards of the network."""
    names = [word for word in call.arguments if not word.startswith("-")]
    wrong = next((name for name in names if name not in _NAMES), None)
    if wrong is not None:
        return Result(stderr=f"{wrong}: error fetching interface information: Device not found\n", exit_code=1)
    if len(names) > 1:
        return Result(stderr="SIOCSIFADDR: Operation not permitted\n", exit_code=1)
    text = {
        "eth0": (
            "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n"
            f"        inet {address_of(call.machine)}  netmask 255.255.255.0  broadcast 10.0.0.255\n"
            f"        ether {_mac(call)}  txqueuelen 1000  (Ethernet)\n"
        ),
        "lo": (
            "lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536\n"
            "        inet 127.0.0.1  netmask 255.0.0.0\n"
            "        loop  txqueuelen 1000  (Local Loopback)\n"
        ),
    }
    return Result("".join(f"{block}\n" for name, block in text.items() if not names or name in names))


def ping(call: Invocation) -> Result:
    """Send a packet each second to a machine, and print when it answered. Machines of the world do; others do not."""
    options = parsed(call, "46bc:i:I:nqs:t:vW:w:Q:O", {"count=": "c", "interval=": "i"}, code=2, hint="")
    if isinstance(options, Result):
        return options
    if not options.operands:
        return Result(stderr="ping: usage error: Destination address required\n", exit_code=1)
    name = options.operands[-1]
    try:
        count = int(options.value("c") or 0) or None
        interval = float(options.value("i") or 1.0)
        longest = float(options.value("w") or 0) or None
    except ValueError:
        return Result(stderr="ping: invalid argument\n", exit_code=1)
    address = resolved(call, name)
    if address is None:
        return Result(stderr=f"ping: {name}: Name or service not known\n", exit_code=2)
    answers = address == GATEWAY or machine_at(call, address) is not None
    own = address.startswith("127.") or address == address_of(call.machine)
    source = f"{address}" if name == address else f"{name} ({address})"
    output = f"PING {name} ({address}) 56(84) bytes of data.\n"
    begun, sent, times = call.moment, 0, list[float]()
    while sent < (count or MOST_PINGS):
        if sent:
            call.sleep(interval)
            if call.machine.deadline is not None and call.moment >= call.machine.deadline:
                break
        if longest is not None and call.moment - begun >= longest:
            break
        sent += 1
        if answers:
            times.append(
                (0.02 if own else 0.3)
                + int(sha256(f"{address} {sent}".encode()).hexdigest()[:2], 16) / (8000 if own else 1000)
            )
            if not options.has("q"):
                output += f"64 bytes from {source}: icmp_seq={sent} ttl=64 time={times[-1]:.3f} ms\n"
    near = address.startswith("10.0.0.") and not answers
    if near:
        # Nobody on the card's own network says that the address is theirs.
        call.sleep(3.0)
        for number in range(1, sent + 1) if not options.has("q") else ():
            output += f"From {address_of(call.machine)} icmp_seq={number} Destination Host Unreachable\n"
    elif not answers:
        # The last packet is waited for.
        call.sleep(10.0)
    share = f"{f'+{sent} errors, ' if near else ''}{round(100 * (sent - len(times)) / max(1, sent))}% packet loss"
    took = int((call.moment - begun) * 1000)
    output += f"\n--- {name} ping statistics ---\n"
    output += f"{sent} packets transmitted, {len(times)} received, {share}, time {took}ms\n"
    if times:
        mean = sum(times) / len(times)
        spread = (sum((one - mean) ** 2 for one in times) / len(times)) ** 0.5
        output += f"rtt min/avg/max/mdev = {min(times):.3f}/{mean:.3f}/{max(times):.3f}/{spread:.3f} ms\n"
    return Result(output, exit_code=0 if times else 1)

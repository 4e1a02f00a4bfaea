"""ip and ifconfig: the network card of the machine, in 10.0.0.0/24, as iproute2 6.1 and net-tools 2.10 print it."""

from hashlib import sha256

from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import GATEWAY, NETWORK, address_of

_LINK = (
    "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN{mode} group default qlen 1000\n"
    "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n",
    "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP{mode} group default qlen 1000\n"
    "    link/ether {mac} brd ff:ff:ff:ff:ff:ff\n",
)
_FOREVER = "       valid_lft forever preferred_lft forever\n"
_INET = (
    f"    inet 127.0.0.1/8 scope host lo\n{_FOREVER}",
    f"    inet {{address}}/24 brd {NETWORK}255 scope global eth0\n{_FOREVER}",
)
_NAMES = ("lo", "eth0")
_OBJECTS = ("address", "link", "route", "neighbour")
_IP_USAGE = (
    "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }\n"
    "where  OBJECT := { address | link | neighbour | route }\n"
    "       OPTIONS := { -4 | -br[ief] | -o[neline] }\n"
)
_REFUSED, _UNKNOWN = 2, 255


def _mac(call: Invocation) -> str:
    made = sha256(f"{call.machine.name}/eth0".encode()).hexdigest()
    return ":".join(["52", "54", "00", made[0:2], made[2:4], made[4:6]])


def ip(call: Invocation) -> Result:
    """Print addresses, links, routes or neighbours. What would change them is refused."""
    flags = [word.lstrip("-") for word in call.arguments if word.startswith("-")]
    words = [word for word in call.arguments if not word.startswith("-")]
    if {"V", "Version"} & set(flags):
        return Result("ip utility, iproute2-6.1.0, libbpf 1.1.2\n")
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
        via = "" if words[1].startswith(NETWORK) else f"via {GATEWAY} "
        return Result(f"{words[1]} {via}dev eth0 src {own} uid {call.user.uid} \n    cache \n")
    lines = [f"default via {GATEWAY} dev eth0 ", f"{NETWORK}0/24 dev eth0 proto kernel scope link src {own} "]
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
            f"        inet {address_of(call.machine)}  netmask 255.255.255.0  broadcast {NETWORK}255\n"
            f"        ether {_mac(call)}  txqueuelen 1000  (Ethernet)\n"
        ),
        "lo": (
            "lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536\n"
            "        inet 127.0.0.1  netmask 255.0.0.0\n"
            "        loop  txqueuelen 1000  (Local Loopback)\n"
        ),
    }
    return Result("".join(f"{block}\n" for name, block in text.items() if not names or name in names))

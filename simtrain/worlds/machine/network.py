"""The network of a world: names of its machines, what listens on them, and requests to it."""

from dataclasses import dataclass

from simtrain.worlds.machine.invocation import Invocation
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.sites import HttpRequest, HttpResponse, answer

NETWORK = "10.0.0."
FIRST_ADDRESS = 10
GATEWAY = f"{NETWORK}1"
"""The router of the network, from where people log in."""
_LISTENS = "select user, service from processes where host = :host and port = :port order by pid limit 1"


@dataclass(frozen=True, slots=True)
class Listener:
    """A process that listens on a port of a machine."""

    machine: Machine
    user: str
    service: str | None

    def answered(self, request: HttpRequest) -> HttpResponse | None:
        """Return what it answers over HTTP; None if it speaks none."""
        answers = self.machine.answers.get(self.service or "")
        if answers is None:
            return None
        machine = self.machine
        user = machine.users.get(self.user) or machine.users["root"]
        return answer(answers, request, machine.files(user), machine.records)


def resolved(call: Invocation, host: str) -> str | None:
    """Return the address of a name, as the machine's own /etc/hosts has it; None if it does not know it."""
    if host.replace(".", "").isdigit() and host.count(".") == 3:
        return host
    node = call.machine.tree.get("/etc/hosts")
    for line in node.content.decode(errors="replace").splitlines() if node is not None else ():
        address, *names = line.partition("#")[0].split() or [""]
        if host.lower() in (name.lower() for name in names):
            return address
    return "127.0.0.1" if host == "localhost" else None


def address_of(machine: Machine) -> str:
    """Return the address of a machine in the network of its world, 10.0.0.0/24."""
    return f"{NETWORK}{FIRST_ADDRESS + list(machine.peers or {machine.name: machine}).index(machine.name)}"


def machine_at(call: Invocation, address: str) -> Machine | None:
    """Return the machine of the world at an address; None if there is none."""
    if address.startswith("127.") or address == "0.0.0.0":
        return call.machine
    for number, machine in enumerate(call.machine.peers.values(), start=FIRST_ADDRESS):
        if address == f"{NETWORK}{number}":
            return machine
    return None


def listener(call: Invocation, machine: Machine, port: int) -> Listener | None:
    """Return what listens on a port of a machine; None if nothing does."""
    rows = call.read(_LISTENS, {"host": machine.name, "port": port})
    return Listener(machine, str(rows[0]["user"]), rows[0]["service"]) if rows else None

"""A disk of a machine that fills up while a command line writes."""

from dataclasses import replace

from simtrain.contracts.request import Request
from simtrain.contracts.world import WorldState
from simtrain.values.types import Observation

_ASK = "hostname; id -un; df -B1 / | tail -n 1"
PLACE = "/var/tmp/vmcore.partial"
_FILE = """
insert into files (host, path, kind, mode, owner, "group", size, modified, content)
select :host, :path, 'file', '0644', u.name, u.name, :size, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), 'partial' || char(10)
from users u where u.host = :host and u.name = :owner on conflict do nothing"""


def fill(world: WorldState, request: Request, *, share: float) -> bool:
    """Fill the agent's disk so that this share of what a command line will write still fits; False if it writes nothing.

    The file that fills it belongs to the agent's user and lies among temporary files, whose deletion is no change of the world.
    """

    def ask(command: str) -> Observation:
        return world.answer(replace(request, arguments={"command": command}))

    # Tried and undone: what a script will write cannot be read off it.
    with world.savepoint():
        host, owner, available = _told(ask(_ASK))
        world.answer(request)
        growth = available - _told(ask(_ASK))[2]
    if growth <= 0:
        return False
    size = available - int(growth * share)
    return bool(world.execute(_FILE, {"host": host, "path": PLACE, "size": size, "owner": owner}))


def _told(reply: Observation) -> tuple[str, str, int]:
    host, owner, disk = str((reply.content or {})["stdout"]).splitlines()
    return host, owner, int(disk.split()[3])

"""Another process listens on the port of a service."""

import re
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.shell_replies import in_bent_world, is_shell, typed
from simtrain.values.types import JsonObject, Observation, ToolSpec

_START = re.compile(
    r"\bsystemctl\s+(?:-\S+\s+)*(?:start|restart|try-restart|enable --now)\s+(?P<units>[^;&|\n]+)|\bservice\s+(?P<unit>\S+)\s+(?:re)?start"
)
_SERVICES = "select host, name, port, state from services where port is not null order by host, name"
_TAKE = """
insert into processes (host, pid, user, command, cpu, memory, started, port)
select :host, max(pid) + 1, 'root', 'python3 -m http.server ' || :port, 0.1, 18400, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-2 hours'), :port
from processes where host = :host"""


class PortTaken(Catalogued):
    """A service cannot be started, since a process that somebody left behind listens on its port.

    Source: AgentDisruptBench, SRE incident reports. An agent should read why the service failed, find the process that has the port,
    end it, and start the service again. It fires on a command line that starts a service with a port.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", recoverable_by=("switch", "retry"), needs_world=True, shell=True
    )

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell."""
        return is_shell(tool)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Let a process take the port of the service that a command line starts, and pass it on."""
        command = typed(call)
        service = None if command is None else self._started(call, command)
        if command is None or service is None or call.world is None:
            return await proceed(call.request)
        call.memory["taken"] = service["name"]
        call.world.execute(_TAKE, {"host": service["host"], "port": service["port"]})
        return await proceed(in_bent_world(call, command))

    def _started(self, call: Call, command: str) -> JsonObject | None:
        """Return the service that a command line starts and that is still without a rival; None for any other line."""
        found = _START.search(command)
        if found is None or call.world is None or not call.in_world or call.memory.get("taken"):
            return None
        units = {word.removesuffix(".service") for word in (found["units"] or found["unit"]).split()}
        rows = [row for row in call.world.query(_SERVICES) if row["name"] in units]
        # One that runs and is only told to start again stays as it is.
        return next((row for row in rows if row["state"] != "active" or "restart" in found[0]), None)

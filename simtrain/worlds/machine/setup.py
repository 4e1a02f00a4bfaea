"""A machine world as it is built: its tables, the files and machines that episodes begin with, its tools and commands."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import Self

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import Document
from simtrain.worlds.machine.actions import offered
from simtrain.worlds.machine.bashkit_shell import BashkitShell
from simtrain.worlds.machine.building import build
from simtrain.worlds.machine.hosts import Host, host_of, placed_hosts
from simtrain.worlds.machine.invocation import Command
from simtrain.worlds.machine.own_commands import own_command
from simtrain.worlds.machine.sandbox_shell import SandboxShell
from simtrain.worlds.machine.sites import answers_of
from simtrain.worlds.machine.spec import HostSource, MachineSpec, MachineView
from simtrain.worlds.machine.spec_values import SIMULATED
from simtrain.worlds.machine.statements import check_statements
from simtrain.worlds.machine.tables import TABLES
from simtrain.worlds.service.change_log import forget
from simtrain.worlds.service.database import Database
from simtrain.worlds.service.world import ServiceWorld


class MachineSetup(ServiceWorld):
    """What all episodes of a machine world share: a service world whose tables hold machines, and how shells are opened over them."""

    kind = "machine"
    sandbox: str | None
    left_to_models: tuple[str, ...]

    def __init__(self, spec: MachineSpec, document: Document, digest: str, variant: Variant) -> None:
        """Build the world, without a view. Raises InputError with the place in the file."""
        super().__init__(spec.model_copy(update={"tables": TABLES + spec.tables}), document, digest, variant)
        self.spec = spec
        self.document = document
        build(self.base, spec, document)
        forget(self.base)
        self.content = self.base.serialize()
        own: dict[str, Command] = {}
        for name, source in spec.commands.items():
            with document.at(("commands", name)):
                own[name] = own_command(source)
        self.open_shell = (
            partial(BashkitShell, own=own) if spec.shell == SIMULATED else partial(SandboxShell, sandbox=spec.shell)
        )
        self.answers = {name: answers_of(host, document, place) for name, host, place in placed_hosts(spec)}
        check_statements(self.base, spec, document)
        self._hosts: Mapping[str, Host] | None = None
        _ = self.hosts

    def viewed(self, view: MachineView, digest: str) -> Self:
        """Return the world as a scenario meets it, over the same tables."""
        other = copy(self)
        other.digest = digest
        other.tools = (*offered(self.spec, view), *self.tools)
        other.domain = "swe" if view.actions == "coding" else "terminal"
        made_up = self.spec.python and view.execution == "chat"
        other.sandbox = self.spec.sandbox if self.spec.python and not made_up else None
        other.left_to_models = ("python3", "pytest") if made_up else ()
        return other

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Return what the machines begin with, by name; the agent's first."""
        if self._hosts is None:
            self._hosts = self.hosts_in(self.base)
        return self._hosts

    def hosts_in(self, database: Database) -> Mapping[str, Host]:
        """Return the machines as some tables hold them."""
        sources: dict[str, HostSource] = {self.spec.hostname: self.spec, **self.spec.machines}
        return {name: host_of(database, name, source, self.base) for name, source in sources.items()}

    def over(self, base: Database) -> MachineSetup:
        """Return the same world over other tables."""
        return self._over(base)

    def _over(self, base: Database) -> MachineSetup:
        other = copy(self)
        other.base, other.content = base, base.serialize()
        # The files of the copy are those of its own tables.
        other._hosts = None
        return other

"""A parsed machine world file, and the worlds built from it."""

from __future__ import annotations

from copy import copy
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from simtrain.contracts.world import Variant, World
from simtrain.files.file_bytes import file_bytes
from simtrain.files.yaml_files import Document, Place
from simtrain.values.extras import require
from simtrain.values.types import JsonObject, canonical
from simtrain.worlds.machine.actions import OWN_TOOLS
from simtrain.worlds.machine.python_sandbox import require_sandbox
from simtrain.worlds.machine.spec import MachineSpec, MachineView
from simtrain.worlds.machine.spec_values import SIMULATED
from simtrain.worlds.machine.wheels import wheels
from simtrain.worlds.repositories.folder import own_files
from simtrain.worlds.repositories.history import history_file
from simtrain.worlds.service.source import described

if TYPE_CHECKING:
    from simtrain.worlds.machine.world import MachineWorld


class MachineSource:
    """A parsed and checked machine world file. Worlds are built from it on demand."""

    kind = "machine"
    file_model: ClassVar[type[MachineSpec]] = MachineSpec

    def __init__(self, document: Document, spec: MachineSpec) -> None:
        self.document = document
        self.spec = spec
        self.view = MachineView()
        self.name = spec.name
        self.digest = self._digest()
        self._built: dict[Variant, World] = {}
        # What the knobs of scenarios do not change, shared by all that are configured.
        self._shared: dict[Variant, MachineWorld] = {}

    @classmethod
    def load(cls, document: Document) -> MachineSource:
        """Return the source of a world, checked as far as possible without building it. Raises InputError."""
        spec = described(document, document.parse(MachineSpec))
        for index, tool in enumerate(spec.tools):
            if tool.name in OWN_TOOLS:
                raise document.error(
                    ("tools", index, "name"), f"{tool.name!r} is a tool of the machine itself", "name it otherwise"
                )
        assert isinstance(spec, MachineSpec)
        if spec.git:
            with document.at(("repositories",)):
                require("git", "pygit2", by="a world with repositories")
        if spec.shell != SIMULATED:
            if spec.commands or spec.machines:
                key = "commands" if spec.commands else "machines"
                raise document.error(
                    (key,), f"`{key}` are there in the simulated shell alone", "remove them, or `shell`"
                )
            with document.at(("shell",)):
                require_sandbox(spec.shell, what="command lines run")
        return cls(document, spec)

    def _digest(self) -> str:
        """Return a digest of the file's content and of the folders that it takes files from."""
        found = blake2b(canonical(self.document.data), digest_size=16)
        for wheel in wheels(self.spec):
            path = self.document.path.parent / wheel
            # One that is missing is told when the world is built.
            found.update(file_bytes(path) if path.is_file() else b"")
        hosts = (self.spec, *self.spec.machines.values())
        made = [one.folder for host in hosts for one in (*host.files, *host.repositories) if one.folder]
        for folder in sorted(set(made)):
            top: Path = self.document.path.parent / folder
            history = history_file(top)
            found.update(file_bytes(history) if history.is_file() else b"")
            for path in filter(Path.is_file, own_files(top)):
                found.update(f"{folder}/{path.relative_to(top).as_posix()}\0".encode())
                found.update(file_bytes(path))
        return found.hexdigest()

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> MachineSource:
        """Return the same world, configured by the knobs of a scenario. Raises InputError with their place in the scenario."""
        other = copy(self)
        other.view = document.parse(MachineView, {**self.view.model_dump(), **knobs}, place)
        if other.view.actions == "keystrokes" and self.spec.shell != SIMULATED:
            raise document.error(
                (*place, "actions"), "a terminal is there in the simulated shell alone", "take `bash` or `coding`"
            )
        other.digest = blake2b(canonical([self.digest, other.view.model_dump()]), digest_size=16).hexdigest()
        other._built = {}
        return other

    def build(self, variant: Variant = Variant()) -> World:  # noqa: B008
        """Return the world in a variant, built once. Raises InputError with the place in the file."""
        if variant not in self._built:
            if self.spec.python and self.spec.shell == SIMULATED and self.view.execution == "sandbox":
                with self.document.at(("sandbox",)):
                    require_sandbox(self.spec.sandbox)
            # The shell's engine is a large library, which only machine worlds need.
            from simtrain.worlds.machine.world import MachineWorld

            if variant not in self._shared:
                self._shared[variant] = MachineWorld(self.spec, self.document, self.digest, variant)
            self._built[variant] = self._shared[variant].viewed(self.view, self.digest)
        return self._built[variant]

"""The built-in subjects, by the name of the stand-in's world; any other server is verified from its schemas alone."""

from importlib import import_module

from simtrain.contracts.world import World
from simtrain.mcp.verify.subject import Subject
from simtrain.mcp.verify.subjects.generic import Generic, Recorded
from simtrain.mcp_wire.manifest import read_manifest

SUBJECTS: dict[str, str] = {
    "filesystem": "simtrain.mcp.verify.subjects.filesystem:Filesystem",
    "memory": "simtrain.mcp.verify.subjects.memory:MemorySubject",
    "fetch": "simtrain.mcp.verify.subjects.fetch:Fetch",
    "git": "simtrain.mcp.verify.subjects.git:Git",
    "sqlite": "simtrain.mcp.verify.subjects.sqlite:Sqlite",
    "time": "simtrain.mcp.verify.subjects.time:Time",
    "sequential_thinking": "simtrain.mcp.verify.subjects.sequential_thinking:SequentialThinking",
}
"""World name -> `module:class`. A new subject is one file and one line here."""


def subject_of(name: str, *, world: World | None = None, captured: bool = False, server: str | None = None) -> Subject:
    """Return the subject registered for a world's name; for another `world`, or a `captured` server, one that knows
    only schemas.

    A world that names a manifest, or was captured as one, also gets the recorded calls (of `server`). Raises InputError.
    """
    place = None if captured else SUBJECTS.get(name)
    if place is not None:
        module, _, attribute = place.partition(":")
        subject: Subject = getattr(import_module(module), attribute)()
        if world is None or subject.suits(world):
            return subject
    manifest = world.manifest if world is not None else None
    return Generic() if manifest is None else Recorded(read_manifest(manifest), server)

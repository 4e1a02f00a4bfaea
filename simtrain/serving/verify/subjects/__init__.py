"""The subjects that ship, by the name of the stand-in's world; any other server is verified from its schemas alone."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from simtrain.manifest import read_manifest
from simtrain.serving.verify.subject import Subject
from simtrain.serving.verify.subjects.generic import Generic
from simtrain.serving.verify.subjects.recorded import Recorded

SUBJECTS: dict[str, str] = {
    "filesystem": "simtrain.serving.verify.subjects.filesystem:Filesystem",
    "memory": "simtrain.serving.verify.subjects.memory:Memory",
    "fetch": "simtrain.serving.verify.subjects.fetch:Fetch",
    "git": "simtrain.serving.verify.subjects.git:Git",
    "sqlite": "simtrain.serving.verify.subjects.sqlite:Sqlite",
    "time": "simtrain.serving.verify.subjects.time:Time",
    "sequential_thinking": "simtrain.serving.verify.subjects.sequential_thinking:SequentialThinking",
}
"""World name -> `module:class`. Adding one is one file and one line here."""


def subject_of(name: str, *, manifest: Path | None = None, server: str | None = None) -> Subject:
    """The subject registered under the name of a world; for any other world one that knows its schemas.

    With the `manifest` that the world was made from, it also knows the calls that were recorded (of `server`). Raises InputError.
    """
    place = SUBJECTS.get(name)
    if place is None:
        return Generic() if manifest is None else Recorded(read_manifest(manifest), server)
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)()

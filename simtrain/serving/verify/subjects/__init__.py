"""The subjects that ship, by the name of the stand-in's world; any other server is verified from its schemas alone."""

from __future__ import annotations

from importlib import import_module

from simtrain.serving.verify.subject import Subject
from simtrain.serving.verify.subjects.generic import Generic

SUBJECTS: dict[str, str] = {
    "memory": "simtrain.serving.verify.subjects.memory:Memory",
}
"""World name -> `module:class`. Adding one is one file and one line here."""


def subject_of(name: str) -> Subject:
    """The subject registered under a name; the generic one for any other."""
    place = SUBJECTS.get(name)
    if place is None:
        return Generic()
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)()

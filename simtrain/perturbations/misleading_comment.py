"""A comment in the code that is not true."""

import re
from posixpath import basename
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.world import WorldState
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.code_files import code, host_of, is_of_code, on_a_machine, shows, write_code
from simtrain.perturbations.pools import texts
from simtrain.perturbations.shell_replies import in_bent_world, typed
from simtrain.values.types import Observation, ToolSpec

_FUNCTION = re.compile(r"^([ \t]*)(?:async )?def \w+", re.MULTILINE)
_DECORATED = re.compile(r"^[ \t]*@.*\n\Z", re.MULTILINE)
_TRIED = 3
"""Functions of a file that are tried until one is shown: each costs two trials of the call."""


class MisleadingComment(Catalogued):
    """A comment above a function says what is not so: that it is generated, unused, replaced, or proven right.

    Source: SWE agents' trajectories, studies of outdated comments. An agent should hold what comments say against the code, the tests
    and the files that they name, and repair what is wrong. It fires when a function of a module is read, and changes that file:
    scenarios with a grader that lets no code change refuse it, and drills leave it out there.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", recoverable_by=("cross-check",), needs_world=True, shell=True, rewrites_code=True,
    )  # fmt: skip

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell and for the tool of coding agents that reads files."""
        return is_of_code(tool) and tool.name not in ("edit", "write")

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Put the comment in a module that is read, and pass the call on."""
        world = on_a_machine(call)
        if world is None or call.memory.get("commented"):
            return await proceed(call.request)
        host, words = host_of(call, world), str(call.request.arguments)
        for path, text in code(world, host).items():
            if basename(path) in words and not basename(path).startswith(("test_", "conftest")):
                planted = self._planted(call, world, host, path, text)
                if planted is not None:
                    call.memory["commented"] = path
                    write_code(world, host, path, planted)
                    break
        command = typed(call)
        if command is None:
            return await proceed(call.request)
        return await proceed(in_bent_world(call, command))

    def _planted(self, call: Call, world: WorldState, host: str, path: str, text: str) -> str | None:
        """Return the module with the comment above a function that the call shows; None if it shows none."""
        functions = list(_FUNCTION.finditer(text))
        claim = call.rng.choose(texts(self.source, "claims")).format(stem=basename(path).removesuffix(".py"))
        first = int(call.rng.once() * len(functions))
        for found in (*functions[first:], *functions[:first])[:_TRIED]:
            place = found.start()
            while decorated := _DECORATED.search(text[:place]):
                place = decorated.start()
            planted = f"{text[:place]}{found[1]}# {claim}\n{text[place:]}"
            if shows(call, world, lambda planted=planted: write_code(world, host, path, planted)):
                return planted
        return None

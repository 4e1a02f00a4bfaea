"""The engine answers, and a chat model writes what programs print that the engine lacks: state lives in code, words come from a model.

A command line is tried, and undone, until it meets no program whose words are missing; between two tries the model is asked for them.
Time and chance belong to the episode, so each try repeats the last and goes on. The line is then carried out for good.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.world import WorldState
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, Observation, Provenance, ToolSpec, Usage, arguments_of
from simtrain.world_models.chat import Chat
from simtrain.world_models.domains.predictions import HEADER
from simtrain.world_models.domains.terminal import TerminalDomain

if TYPE_CHECKING:
    from simtrain.worlds.machine.invocation import Invocation, Result

MOST_ASKED = 20
"""Most programs of one command line whose words are asked for."""
LARGEST = 4_000
"""Most characters of a file, or of standard input, that the model is shown."""

MOST_SHOWN = 60_000
"""Most characters of all files that the model is shown with a call."""
_OF_PYTHON = ("python", "pytest")

_TASK = f"""\
You are some programs on a Linux machine: {{programs}}. A real shell carries out command lines there, with real files, processes and
pipes. When a line runs one of your programs you are asked for what it prints, and you write that and nothing else.

How to answer:
- Begin with the line {HEADER} and put the program's output below it: stdout and stderr as a terminal shows them. No prompt, no
  repeated command, no comment, no code fence. A program that prints nothing gets an empty text.
- An exit code other than 0 is told in a last line of its own: [exit code 1]. An option that does not exist, or a thing that is not
  there, is refused in the program's own words.
- What your programs have said or done stays so: a thing that was made is listed afterwards, with the same names, numbers and dates.
- They do not touch the machine's files, processes and services. Those are as described below, and as the files that are shown with a
  call; say nothing that contradicts them, and never that a file was written.
- Write only what this one program prints: pipes and redirections behind it are not yours.
Never mention that the machine is simulated."""

_TOOL = ToolSpec("bash", "A program is run.", arguments_of(("command",), command={"type": "string"}), writes=True)


class Grounded(Chat):
    """The world's own engine answers; on a machine, a chat model writes what the named programs print, which the machine lacks.

    Files, processes and pipes are the engine's: what the model writes goes where the shell sends it, and changes nothing else.
    """

    example: ClassVar[JsonObject] = {"with": {"model": "small", "programs": ["kubectl"]}}

    programs: list[str] = Field(
        min_length=1, description="Names of programs that the machine lacks; all others are the engine's."
    )

    def speaks_for(self) -> frozenset[str]:
        return frozenset(self.programs)

    @asynccontextmanager
    async def session(
        self, *, domain: Domain, world: WorldState, tools: tuple[ToolSpec, ...]
    ) -> AsyncGenerator[Answer, None]:
        """Open one episode. In a world without machines the engine answers alone."""
        from simtrain.worlds.machine.world import MachineState

        if not isinstance(world, MachineState):

            async def plainly(request: Request) -> Observation:
                return world.answer(request)

            yield plainly
            return
        programs = _ProgramDomain(self.programs)
        async with super().session(domain=programs, world=world, tools=(_TOOL,)) as speak:
            words = _Words()
            for machine in world.machines.values():
                machine.further = dict.fromkeys(self.programs, words.of)
            yield _Session(self, world, words, speak).answer


class _Session:
    """One episode: the machine, and what the model has said so far."""

    def __init__(self, knobs: Grounded, world: WorldState, words: _Words, speak: Answer) -> None:
        self._knobs = knobs
        self._world = world
        self._words = words
        self._speak = speak

    async def answer(self, request: Request) -> Observation:
        """Return the engine's answer, with the model's words in it. Raises SimulatorFault if the model gives none."""
        usage, attempts = Usage(), 0
        for _ in range(MOST_ASKED):
            missing = self._missing(request)
            if missing is None:
                break
            said = await self._speak(Request(_TOOL, missing.arguments, request.index, request.turn))
            self._words.keep(missing, said)
            if said.provenance is not None:
                usage, attempts = (
                    usage + (said.provenance.usage or Usage()),
                    attempts + (said.provenance.attempts or 0),
                )
        else:
            raise SimulatorFault(f"a call runs more than {MOST_ASKED} programs that the model speaks for")
        if self._world.takes_time(request):
            observation = await self._world.answer_aside(request)
        else:
            observation = self._world.answer(request)
        if self._words.missing is not None:
            raise SimulatorFault(f"the words of {self._words.missing.line!r} were not there when it ran for good")
        if attempts:
            return replace(observation, provenance=Provenance("grounded", self._knobs.model, usage, attempts))
        return observation

    def _missing(self, request: Request) -> Called | None:
        """Carry out a call and undo it; return the first program in it whose words are missing."""
        clock = self._world.clock
        present, self._words.missing = clock.moment, None
        with self._world.savepoint():
            self._world.answer(request)
        # A savepoint undoes what was written, and time is not.
        clock.moment = present
        missing, self._words.missing = self._words.missing, None
        return missing


@dataclass(frozen=True, slots=True)
class Called:
    """A program as it was called: equal ones are the same call, met again in the next try."""

    host: str
    user: str
    directory: str
    line: str
    stdin: str
    moment: float
    shown: str

    @property
    def arguments(self) -> JsonObject:
        """Return the call as the domain of programs writes it."""
        return {
            "command": self.line,
            "host": self.host,
            "user": self.user,
            "directory": self.directory,
            "shown": self.shown,
        }


class _Words:
    """What programs print: the command behind each of them, and the first call that met nothing."""

    def __init__(self) -> None:
        self._kept: dict[Called, Result] = {}
        self.missing: Called | None = None

    def keep(self, called: Called, said: Observation) -> None:
        """Keep what the model has said of a call."""
        from simtrain.worlds.machine.invocation import Result

        content = said.structured or {}
        text, code = str(content.get("stdout", said.text)), int(content.get("exit_code", 0))
        ended = text if not text or text.endswith("\n") else f"{text}\n"
        # What a program says when it fails is told on the stream of errors.
        self._kept[called] = Result("", ended, code) if code else Result(ended)

    def of(self, call: Invocation) -> Result:
        """Print what is kept of a call; if nothing is, note the call and stop the script, which is undone."""
        from simtrain.worlds.machine.invocation import Result, quoted

        line = quoted([call.name, *call.arguments])
        stdin = call.stdin or ""
        called = Called(call.machine.name, call.user.name, call.directory, line, stdin, call.now, _files_of(call))
        found = self._kept.get(called)
        if found is not None:
            return found
        self.missing = self.missing or called
        call.machine.running[-1].stop()
        return Result(exit_code=127)


def _files_of(call: Invocation) -> str:
    """Return standard input and the files that concern a call, as far as its user may read them.

    Those are the files that it names, and for Python all modules below the working directory, as far as there is room.
    """
    parts = [f"--- standard input\n{call.stdin[:LARGEST]}"] if call.stdin else []
    paths = [call.path(word.rpartition("=")[2].removeprefix("@")) for word in call.arguments]
    if call.name.startswith(_OF_PYTHON):
        paths += [path for path in call.files.walk(call.directory) if path.endswith(".py")]
    room = MOST_SHOWN
    for path in dict.fromkeys(paths):
        text = _shown(call, path)
        if text is not None and (room := room - len(text)) >= 0:
            parts.append(f"--- {path}\n{text}")
    return "\n".join(part.rstrip("\n") for part in parts)


def _shown(call: Invocation, path: str) -> str | None:
    from simtrain.worlds.machine.accounts import READ

    if not call.files.exists(path) or call.files.is_directory(path) or not call.files.may(READ, path):
        return None
    return call.files.read(path)[:LARGEST].decode(errors="replace")


class _ProgramDomain(TerminalDomain):
    """Command lines of single programs, and what they print."""

    programs: Sequence[str] = ()

    def __init__(self, programs: Sequence[str]) -> None:
        super().__init__()
        self._task = _TASK.format(programs=", ".join(programs))

    def task_with(self, tools: Sequence[ToolSpec]) -> str:
        return self._task

    def write_action(self, request: Request, *, turn: int) -> str:
        asked = request.arguments
        place = f"{asked['user']}@{asked['host']}:{asked['directory']}"
        shown = f"\n\n**What it is given:**\n```\n{asked['shown']}\n```" if asked["shown"] else ""
        return f"### Turn {turn}\n\n**Action:** {place}\n```bash\n{asked['command']}\n```{shown}"

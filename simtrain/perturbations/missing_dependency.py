"""Something that a tool needs is not installed."""

from collections.abc import Iterable
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Refusing
from simtrain.perturbations.missing_programs import PACKAGES, missing_in, without
from simtrain.perturbations.shell_replies import is_shell, retyped, typed
from simtrain.values.seeding import Stream
from simtrain.values.tool_words import tool_words
from simtrain.values.types import Observation, ToolSpec, arguments_of

_NAMES = (("modules.list", "modules.install"), ("extensions.list", "extensions.install"))
_PLAIN_NAMES = (("list_modules", "install_module"), ("list_extensions", "install_extension"))


class MissingDependency(Refusing):
    """The tools of a server need a module that is not installed, and return only that error until it is.

    Source: AgentDisruptBench, ToolMaze. An agent should install what is named, and go on. This is the tool call version
    of a command that fails without a package. Two tools are added, to list the modules and to install one, and they
    agree with the errors of the other tools. On a shell, a program of the command line is `command not found` until its
    package is installed with apt.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="H", recoverable_by=("switch", "retry"), follows="fired", shell=True
    )

    module: str | None = Field(
        default=None,
        min_length=1,
        description="What is missing; unset, named after the server or what the tool is about.",
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, and two more for modules."""
        # In a shell it is `apt` that lists and installs.
        if any(is_shell(tool) for tool in tools):
            return tools
        listing, installing = _names(tools)
        return (
            *tools,
            ToolSpec(listing, "The modules that the tools need, and whether they are installed.", arguments_of()),
            ToolSpec(installing, "Install a module.", arguments_of(("module",), module={"type": "string"}), None, True),
        )

    def begin(self, call: Call) -> None:
        """Remove the module of the tool, unless it was installed in this episode."""
        command = typed(call)
        if command is not None:
            found = missing_in(command, self.module)
            if found is not None:
                call.memory.setdefault(found, False)
        elif _given(call):
            # setdefault: a module that was installed stays installed, however often this fires.
            call.memory.setdefault(self._module(call.request.tool), False)

    def refused(self, call: Call) -> Observation | None:
        """Refuse every tool whose module is missing."""
        if typed(call) is not None:
            return None
        module = self._module(call.request.tool)
        if call.memory.get(module, True) or not _given(call):
            return None
        text = f"The module '{module}' is required by {call.request.tool.name} and is not installed."
        return self.reply(text, is_error=True)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Refuse a call, or pass it on; a command line is passed on without the program that is missing."""
        command = typed(call)
        if command is None:
            return await super().follow(call, proceed)
        for program in [name for name, done in call.memory.items() if not done]:
            command, installed = without(program, PACKAGES[program], command)
            call.memory[program] = installed
        return await proceed(retyped(call, command))

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Answer the two tools for modules."""
        listing, _ = _names(call.given)
        modules = dict.fromkeys((self._module(tool) for tool in call.given), "installed")
        modules |= {name: "installed" if done else "not installed" for name, done in call.memory.items()}
        if call.request.tool.name == listing:
            return self.reply("\n".join(f"{name}: {state}" for name, state in modules.items()))
        wanted = str(call.request.arguments["module"])
        if wanted not in modules:
            return self.reply(f"There is no module '{wanted}'.", is_error=True)
        if modules[wanted] == "installed":
            return self.reply(f"The module '{wanted}' is already installed.")
        call.memory[wanted] = True
        return self.reply(f"The module '{wanted}' was installed.")

    def _module(self, tool: ToolSpec) -> str:
        return self.module or f"{tool.server or tool_words(tool.name).noun or tool.name}-module"


def _given(call: Call) -> bool:
    """Return True if the called tool is not one of those for modules."""
    return any(tool.name == call.request.tool.name for tool in call.given)


def _names(tools: Iterable[ToolSpec]) -> tuple[str, str]:
    """Return the names of the two tools for modules, in the style of the others and distinct from them."""
    taken = {tool.name for tool in tools}
    pairs = _NAMES if any("." in name for name in taken) else _PLAIN_NAMES
    return next((pair for pair in pairs if not taken & set(pair)), ("runtime_modules.list", "runtime_modules.install"))

"""The action spaces of a machine world: which tools an agent meets it with."""

from simtrain.values.clock import seconds
from simtrain.values.types import ToolSpec
from simtrain.worlds.machine.coding.tools import NAMES as CODING
from simtrain.worlds.machine.coding.tools import coding_tools
from simtrain.worlds.machine.keystrokes import NAME as KEYSTROKES
from simtrain.worlds.machine.keystrokes import keystrokes_tool
from simtrain.worlds.machine.spec import MachineSpec, MachineView
from simtrain.worlds.machine.tool import NAME as BASH
from simtrain.worlds.machine.tool import bash_tool

OWN_TOOLS = frozenset({BASH, KEYSTROKES, *CODING})
"""Tools of the machine itself. No tool of a world file may have one of these names."""


def offered(spec: MachineSpec, view: MachineView) -> tuple[ToolSpec, ...]:
    """Return the tools of an action space."""
    if view.actions == "keystrokes":
        return (keystrokes_tool(spec.hostname, spec.user),)
    bash = bash_tool(spec.hostname, spec.user, seconds(spec.limits.timeout))
    return (bash, *coding_tools(spec.hostname, spec.user)) if view.actions == "coding" else (bash,)

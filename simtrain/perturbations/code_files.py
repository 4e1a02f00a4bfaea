"""What perturbations of code see and write: repositories of a machine, its files of Python, and the tools that change them."""

from collections.abc import Callable
from dataclasses import replace

from simtrain.contracts.perturbation import Call
from simtrain.contracts.world import WorldState
from simtrain.perturbations.shell_replies import SHELLS, hostname, is_shell
from simtrain.values.types import Observation, ToolSpec

_HEADS = "select path from files where host = :host and path like '%/.git/HEAD' and kind = 'file' order by path"
_CODE = "select path, content from files where host = :host and kind = 'file' and path like '%.py' and content is not null order by path"
_WRITE = (
    "update files set content = :content, size = length(cast(:content as blob)) where host = :host and path = :path"
)
_FILE_TOOLS = frozenset({"read", "edit", "write"})


def is_of_code(tool: ToolSpec) -> bool:
    """True for a shell, and for the tools with which coding agents read and write files."""
    return is_shell(tool) or (tool.name in _FILE_TOOLS and "file_path" in tool.input_schema.get("properties", {}))


def on_a_machine(call: Call) -> WorldState | None:
    """Return the machine that answers a call of such a tool; None for any other call."""
    return call.world if call.domain in SHELLS and call.in_world and is_of_code(call.request.tool) else None


def repositories(world: WorldState, host: str) -> list[str]:
    """Return the folders of the git repositories of a host that have a working tree."""
    return [str(row["path"]).removesuffix("/.git/HEAD") for row in world.query(_HEADS, {"host": host})]


def host_of(call: Call, world: WorldState) -> str:
    """Return the machine that the agent is logged in on."""
    shell = next((tool for tool in (call.request.tool, *call.tools) if is_shell(tool)), None)
    return "" if shell is None else hostname(replace(call, request=replace(call.request, tool=shell)), world)


def code(world: WorldState, host: str) -> dict[str, str]:
    """Return the files of Python of a host by path."""
    return {str(row["path"]): str(row["content"]) for row in world.query(_CODE, {"host": host})}


def write_code(world: WorldState, host: str, path: str, content: str) -> None:
    """Put another content in a file, whose time stays."""
    world.execute(_WRITE, {"host": host, "path": path, "content": content})


def shows(call: Call, world: WorldState, change: Callable[[], object]) -> bool:
    """Return True if the world's answer to a call is another one after a change. Both are undone."""
    with world.savepoint():
        before = world.answer(call.request)
    with world.savepoint():
        change()
        after = world.answer(call.request)
    return _said(before) != _said(after)


def _said(reply: Observation) -> tuple[str, object]:
    return reply.text, reply.content

"""python3 and pytest: CPython in a sandbox, over the files of the machine."""

import re
from dataclasses import replace

from simtrain.worlds.machine.accounts import SEARCH
from simtrain.worlds.machine.commands.package_table import python_installed
from simtrain.worlds.machine.commands.pip import pip
from simtrain.worlds.machine.forking_scripts import forks, run_forking
from simtrain.worlds.machine.invocation import Invocation, Result, quoted
from simtrain.worlds.machine.python_runs import run_python

SHEBANG = re.compile(r"#! */usr/(?:local/)?bin/(?:env +(?:-S +)?)?(python3?(?:\.\d+)?)(.*)")


def python(call: Invocation) -> Result:
    """Run Python."""
    if not python_installed(call):
        return _unknown(call)
    if call.arguments[:2] in (("-m", "pip"), ("-m", "pip3")):
        return pip(replace(call, name="pip", arguments=call.arguments[2:]))
    return run_python(call, "python3", *call.arguments)


def script(call: Invocation) -> Result:
    """Run the script that the command names: a path that its first line gives to Python. Any other is run by a shell."""
    path = call.path(call.name)
    node = call.files.node(path) if call.files.exists(path) else None
    if node is None:
        return Result(stderr=f"bash: line 1: {call.name}: No such file or directory\n", exit_code=127)
    if node.kind == "directory":
        return Result(stderr=f"bash: line 1: {call.name}: Is a directory\n", exit_code=126)
    if not call.files.user.may(SEARCH, node):
        return Result(stderr=f"bash: line 1: {call.name}: Permission denied\n", exit_code=126)
    first = node.content.partition(b"\n")[0].decode("utf-8", "replace")
    found = SHEBANG.fullmatch(first)
    if found is None and forks(node.content):
        return run_forking(call, node.content)
    if found is None:
        # Read as a file and not called by its name, which would lead here again.
        return call.run(f"bash {quoted([call.name, *call.arguments])}", stdin=call.stdin)
    if not python_installed(call):
        text = f"/usr/bin/env: ‘{found[1]}’: No such file or directory" if "env" in first else (
            f"bash: line 1: {call.name}: cannot execute: required file not found")  # fmt: skip
        return Result(stderr=f"{text}\n", exit_code=127)
    return run_python(call, "python3", *found[2].split(), call.name, *call.arguments)


def pytest(call: Invocation) -> Result:
    """Run pytest."""
    return run_python(call, "pytest", *call.arguments) if python_installed(call) else _unknown(call)


def _unknown(call: Invocation) -> Result:
    if "/" in call.name:
        return Result(stderr=f"bash: line 1: {call.name}: No such file or directory\n", exit_code=127)
    return Result(stderr=f"bash: line 1: {call.name}: command not found\n", exit_code=127)

"""A Harbor folder as the document of a scenario: the instruction as its prompt, the solution as its plan, the tests as its rubric."""

import shlex
from base64 import b64encode
from pathlib import Path

from simtrain.contracts.sandbox_runs import File, Folder
from simtrain.contracts.world import WorldSource
from simtrain.files.yaml_files import Document
from simtrain.scenarios.harbor.folder import HarborStep, HarborTask, read_harbor_folder
from simtrain.scenarios.harbor.task_toml import host_free
from simtrain.scenarios.harbor.task_world import digest_of, world_of
from simtrain.values.types import JsonObject
from simtrain.worlds.sandbox.host_folder import folder_entries

_SOLUTION = "/solution"
_END = "END_OF_FILE"
SYSTEM = """\
You work in a container through the tool `bash`. Do what the task asks, and nothing beyond. When you are done, reply without any tool call
and say what you did; if it cannot be done, say so on a line that starts with "CANNOT:"."""
_SEVERAL = (
    "\n\nThis is the first of {count} steps. When it is done, call `next_step`: what is there then is what is judged, and you are told "
    "what is next."
)
_FORGED = """\
mkdir -p /logs/verifier /tests
echo 1 > /logs/verifier/reward.txt
echo '{"reward": 1}' > /logs/verifier/reward.json
printf '#!/bin/bash\\necho 1 > /logs/verifier/reward.txt\\n' > /tests/test.sh
chmod 555 /tests/test.sh"""
"""What an agent might do that wants the reward and not the work: the plan `wrong` of every folder."""


def harbor_document(folder: Path) -> tuple[Document, WorldSource]:
    """Return a Harbor folder as the document of a scenario, and its world. Raises InputError, with file and line."""
    task = read_harbor_folder(folder)
    name = "".join(letter if letter.isalnum() else "_" for letter in folder.resolve().name.lower())
    prompt = task.steps[0].instruction.strip()
    if len(task.steps) > 1:
        prompt += _SEVERAL.format(count=len(task.steps))
    data: JsonObject = {
        "name": name if name[:1].isalpha() and name.isascii() else f"task_{len(name)}",
        "domain": "terminal",
        "world": "container",
        "system": SYSTEM,
        "prompt": "{{ instruction }}",
        "cases": {"rows": [{"instruction": prompt}]},
        "rubric": {"calls": "optional", "graders": [{"use": "reward_file", "with": _tests(task)}]},
        "limits": {"turns": 200, "calls": 500},
    }
    if all(step.solution is not None for step in task.steps):
        data["reference"] = {"steps": _plan(task), "answer": "done"}
        data["wrong"] = {"steps": [{"call": "bash", "with": {"command": _FORGED}}], "answer": "done"}
    # The lines are those of the task.toml, as far as its keys have the same names.
    return Document(task.document.path, data, {(): 1}), world_of(task)


def _tests(task: HarborTask) -> JsonObject:
    verifier = task.toml.verifier
    knobs: JsonObject = {
        "env": host_free(task.document, ("verifier", "env"), verifier.env),
        "user": "root" if verifier.user is None or str(verifier.user).isdigit() else verifier.user,
        "directory": task.directory,
        "timeout": verifier.timeout_sec,
        "digest": "".join(digest_of(step) for step in task.steps),
    }
    if not task.toml.steps:
        return knobs | {"folders": _beside(task, task.steps[0])}
    steps: list[JsonObject] = [
        {"name": step.name, "folders": _beside(task, step), "min_reward": spec.thresholds}
        for step, spec in zip(task.steps, task.toml.steps, strict=True)
    ]
    return knobs | {"steps": steps, "strategy": task.toml.multi_step_reward_strategy or "mean"}


def _beside(task: HarborTask, step: HarborStep) -> list[str]:
    return [part.relative_to(task.folder).as_posix() for part in step.tests]


def _plan(task: HarborTask) -> list[JsonObject]:
    environment = host_free(task.document, ("solution", "env"), task.toml.solution.env)
    plan: list[JsonObject] = []
    for number, step in enumerate(task.steps):
        assert step.solution is not None
        if number:
            plan.append({"call": "next_step", "with": {}})
        plan += [{"call": "bash", "with": {"command": line}} for line in _lines(step.solution)]
        before = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
        # A shell of its own: what the script changes there ends with it.
        run = f"{before}bash {_SOLUTION}/solve.sh"
        plan.append({"call": "bash", "with": {"command": _plain(run)}})
    return plan


def _lines(solution: Path) -> list[str]:
    """Return the command lines that bring the files of a solution into the container, as Harbor does before it runs one."""
    found = [f"mkdir -p {_SOLUTION}; find {_SOLUTION} -mindepth 1 -delete"]
    for path, entry in folder_entries(solution, _SOLUTION).items():
        quoted = shlex.quote(path)
        if isinstance(entry, Folder):
            found.append(f"mkdir -p {quoted}")
        elif isinstance(entry, File):
            found.append(f"{_written(entry.content, quoted)}\nchmod {entry.mode:o} {quoted}")
        else:
            found.append(f"ln -s {shlex.quote(entry.target)} {quoted}")
    return ["\n".join(map(_plain, found))]


def _written(content: bytes, goal: str) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    plain = text.endswith("\n") and not any(sign in text for sign in ("\0", "\r", "{{", "{%", "{#", _END))
    if plain:
        return f"cat > {goal} <<'{_END}'\n{text}{_END}"
    return f"base64 -d > {goal} <<'{_END}'\n{b64encode(content).decode()}\n{_END}"


def _plain(line: str) -> str:
    """Return a command line that a plan takes as it is: braces that a template would read are parted."""
    return line.replace("{{", "{''{").replace("{%", "{''%").replace("{#", "{''#")

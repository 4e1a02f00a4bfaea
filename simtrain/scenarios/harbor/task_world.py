"""The machine world of a Harbor folder: the files of its Dockerfile, and for a task of steps the tool that goes on to the next."""

from base64 import b64encode
from hashlib import blake2b
from typing import cast

from simtrain.contracts.registry import resolve
from simtrain.contracts.sandbox import SandboxBackend
from simtrain.contracts.sandbox_runs import Entry, File, Folder
from simtrain.contracts.world import WorldSource
from simtrain.files.yaml_files import Document
from simtrain.scenarios.harbor.folder import HarborStep, HarborTask
from simtrain.scenarios.harbor.task_toml import host_free, shell_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, canonical
from simtrain.worlds.sandbox.host_folder import folder_entries

CLOCK = "2031-03-03T09:00:00Z"
HOST = "main"
LARGEST = 3_000_000
_STEP_FILES = """
create table steps (number integer primary key, name text not null, instruction text not null, done integer not null default 0);
create table {name} (
  step integer not null, host text not null, path text not null, kind text not null, mode text not null, owner text not null,
  "group" text not null, size integer not null, modified text not null, content text, base64 text, target text
);
"""
_COLUMNS = 'host, path, kind, mode, owner, "group", size, modified, content, base64, target'


def world_of(task: HarborTask) -> WorldSource:
    """Return the world of a task, not yet built. Raises InputError."""
    image = task.image
    shell = shell_of(task.document, task.toml) or ("bubblewrap" if _has_bubblewrap() else "simulated")
    if image.built:
        shell = f"docker:{image.base}"
    user = _user(task)
    files = [_file(task, path, entry, user) for path, entry in sorted(image.files.items())]
    files.append({"path": task.directory, "directory": True, "owner": user})
    environment = {**image.environment, **host_free(task.document, ("environment", "env"), task.toml.environment.env)}
    data: JsonObject = {
        "kind": "machine",
        "name": "container",
        "clock": {"start": CLOCK, "per_step": "1s"},
        "hostname": HOST,
        "user": user,
        "users": {} if user == "root" else {user: {}},
        "directory": task.directory,
        "environment": environment,
        "shell": shell,
        "files": files,
    }
    if image.python and shell == "simulated":
        data["packages"] = {"apt": {"python3": "3.12"}, "pip": {}}
    if len(task.steps) > 1:
        data |= _with_steps(task.steps, task.directory, user)
    machine = cast("type[WorldSource]", resolve("worlds", "machine"))
    return machine.load(Document(task.folder / "environment" / "Dockerfile", data, {}))


def digest_of(step: HarborStep) -> str:
    """Return a digest of all that belongs to a step beside its instruction."""
    found = blake2b(digest_size=16)
    for folder in (*step.tests, *(part for part in (step.solution, step.arriving) if part is not None)):
        for path, entry in folder_entries(folder, "/").items():
            found.update(canonical([path, repr(entry)]))
    return found.hexdigest()


def _has_bubblewrap() -> bool:
    backend: SandboxBackend = resolve("sandboxes", "bubblewrap")()
    return backend.probe().ok


def _user(task: HarborTask) -> str:
    wanted = task.toml.agent.user if task.toml.agent.user is not None else task.image.user
    if wanted is None or wanted in (0, "0", "root"):
        return "root"
    return str(wanted) if not str(wanted).isdigit() else "app"


def _file(task: HarborTask, path: str, entry: Entry, user: str) -> JsonObject:
    if isinstance(entry, Folder):
        return {"path": path, "directory": True, "owner": user}
    if not isinstance(entry, File):
        return {"path": path, "link": entry.target, "owner": user}
    if len(entry.content) > LARGEST:
        raise InputError(
            f"{path} has {len(entry.content):,} bytes, and a file of a world at most {LARGEST:,}",
            remedy="make it smaller, or play the folder with Harbor where Docker is",
            file=task.folder / "environment" / "Dockerfile",
        )
    found: JsonObject = {"path": path, "mode": f"{entry.mode:04o}", "owner": user}
    return {**found, **_content(entry.content)}


def _content(content: bytes) -> JsonObject:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode()}
    return {"base64": b64encode(content).decode()} if "\0" in text else {"content": text}


def _with_steps(steps: tuple[HarborStep, ...], directory: str, user: str) -> JsonObject:
    """Return what a task of steps adds: its tables, and the tool that keeps the files as they are and tells the next instruction."""
    rows = [
        {"number": number, "name": step.name, "instruction": step.instruction, "done": 0}
        for number, step in enumerate(steps, 1)
    ]
    arriving = [
        {"step": number, **row}
        for number, step in enumerate(steps, 1)
        if step.arriving is not None
        for row in _arrivals(step, directory, user)
    ]
    keep = f"insert into step_files select (select min(number) from steps where not done), {_COLUMNS} from files"
    bring = (
        f"insert or replace into files select {_COLUMNS} from step_arrivals"
        " where step = (select min(number) from steps where not done)"
    )
    tool: JsonObject = {
        "name": "next_step",
        "description": "Say that the present step is done. What is there now is what is judged. Returns the instruction of the next step.",
        "refuse": [
            {
                "if": "select count(*) = 1 from steps where not done",
                "error": "This is the last step: when it is done, so is the task.",
            }
        ],
        "write": [
            keep,
            "update steps set done = 1 where number = (select min(number) from steps where not done)",
            bring,
        ],
        "read": {"one": "select number as step, name, instruction from steps where not done order by number limit 1"},
    }
    tables = _STEP_FILES.format(name="step_files") + _STEP_FILES.format(name="step_arrivals").partition(";")[2]
    return {"schema": tables, "rows": {"steps": rows, "step_arrivals": arriving}, "tools": [tool]}


def _arrivals(step: HarborStep, directory: str, user: str) -> list[JsonObject]:
    assert step.arriving is not None
    found: list[JsonObject] = []
    for path, entry in folder_entries(step.arriving, directory).items():
        kind = "directory" if isinstance(entry, Folder) else "file" if isinstance(entry, File) else "link"
        row: JsonObject = {"host": HOST, "path": path, "kind": kind, "owner": user, "group": user, "modified": CLOCK}
        row |= {
            "mode": f"{getattr(entry, 'mode', 0o777):04o}",
            "size": 0,
            "content": None,
            "base64": None,
            "target": None,
        }
        if isinstance(entry, File):
            row |= {"size": len(entry.content), **_content(entry.content)}
        elif not isinstance(entry, Folder):
            row["target"] = entry.target
        found.append(row)
    return found

"""The YAML of a machine world file: a service world's tables and rows, and the machines over them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, field_validator, model_validator

from simtrain.files.file_model import Duration, FileModel
from simtrain.values.types import JsonValue
from simtrain.worlds.machine.spec_values import SIMULATED, Mode, Shell, Size, byte_count
from simtrain.worlds.service.spec import Rows, ServiceSpec, ToolSource

USER = r"^[a-z_][a-z0-9_-]{0,31}$"
HOST = r"^[a-z][a-z0-9.-]{0,62}$"
LARGEST = 3_000_000
"""Most bytes of a file that are kept."""
_CONTENTS = ("content", "base64", "template", "lines", "folder", "link", "directory")


class FileSource(FileModel):
    """A file, a link or a directory, or one for each row of `each`."""

    path: str = Field(min_length=1, description="Absolute path; {{ column }} of a row of `each`.")
    each: str | None = Field(default=None, description="SELECT over the world: one file for each of its rows.")
    content: str | None = Field(default=None, description="The text, word by word.")
    base64: str | None = Field(default=None, description="Content that is no text, in base64.")
    template: str | None = Field(
        default=None, description="A Jinja template of the text; the row of `each`, and `rows`."
    )
    rows: str | None = Field(default=None, description="SELECT whose rows `template` finds under `rows`.")
    lines: str | None = Field(default=None, description="SELECT whose first column gives the lines.")
    folder: str | None = Field(
        default=None, description="A folder beside this file, whose files are put below the path."
    )
    link: str | None = Field(default=None, description="The target of a symbolic link.")
    directory: bool = Field(default=False, description="Makes a directory.")
    owner: str = "root"
    group: str | None = None
    mode: Mode | None = Field(default=None, description="Permission bits, octal; 0644, for directories 0755.")
    modified: str | None = Field(
        default=None, description="Time of the last change, or start-6d; the start of the world's clock."
    )
    size: str | int | None = Field(
        default=None, description="What it tells and occupies if more than its content: 38G."
    )

    @model_validator(mode="after")
    def _has_one_content(self) -> FileSource:
        given = [name for name in _CONTENTS if getattr(self, name) not in (None, False)]
        if len(given) != 1:
            raise ValueError(f"a file has exactly one of {', '.join(_CONTENTS)}, not {' and '.join(given) or 'none'}")
        if self.rows is not None and self.template is None:
            raise ValueError("`rows` belongs to `template`")
        return self


class MachineCommit(FileModel):
    """A commit of a repository, or one for each row of `each`. All texts may have {{ column }} of the rows."""

    each: str | None = Field(default=None, description="SELECT over the world: one commit for each of its rows.")
    message: str = Field(min_length=1)
    author: str | None = Field(default=None, description="`Name <mail>`; that of the repository.")
    date: str = Field(description="Such as 2031-03-01T10:00:00+01:00, or start-6d: before the world's clock begins.")
    branch: str | None = Field(default=None, description="Where it is made; begun if it is not there. The present one.")
    start: str | None = Field(
        default=None,
        alias="from",
        description="Revision where a new `branch` begins; without one HEAD is detached there.",
    )
    merge: str | None = Field(default=None, description="A branch that is merged; `files` then settle its conflicts.")
    files: dict[str, str | None] = Field(
        default_factory=dict[str, str | None], description="Path -> text (Jinja); null removes the file."
    )
    executable: list[str] = Field(default_factory=list[str], description="Paths among `files` that can be run.")
    tag: str | None = Field(default=None, description="A tag on the commit.")

    @model_validator(mode="after")
    def _changes_something(self) -> MachineCommit:
        if not self.files and self.merge is None:
            raise ValueError("a commit has `files` or a `merge`")
        for path in self.executable:
            if self.files.get(path) is None:
                raise ValueError(f"{path!r} is no file of this commit")
        return self


class MachineRepository(FileModel):
    """A git repository, or one for each row of `each`: its commits, and how it was left."""

    path: str = Field(pattern=r"^/", description="Absolute path of the working tree; {{ column }} of a row of `each`.")
    each: str | None = Field(default=None, description="SELECT over the world: one repository for each of its rows.")
    owner: str = "root"
    group: str | None = None
    branch: str = Field(default="main", description="The branch that it begins with.")
    author: str | None = Field(default=None, description="`Name <mail>` of all commits that name no other.")
    folder: str | None = Field(
        default=None,
        description="Instead of `commits`: a folder of code beside this file; its commits from NAME.history.yaml or its .git.",
    )
    commits: list[MachineCommit] = Field(default_factory=list[MachineCommit])
    then: list[str | dict[str, str | None]] = Field(
        default_factory=list[str | dict[str, str | None]],
        description="How it was left: command lines of git without the word git, and files written but not committed.",
    )

    @model_validator(mode="after")
    def _has_commits(self) -> MachineRepository:
        if (self.folder is None) == (not self.commits):
            raise ValueError("a repository has `commits` or a `folder`")
        return self


class DatabaseSource(FileModel):
    """A file that is a SQLite database, or one for each row of `each`."""

    path: str = Field(pattern=r"^/", description="Absolute path; {{ column }} of a row of `each`.")
    each: str | None = Field(default=None, description="SELECT over the world: one database for each of its rows.")
    owner: str = "root"
    group: str | None = None
    mode: Mode = "0644"
    modified: str | None = None
    tables: str = Field(alias="schema", min_length=1)
    rows: Rows = Field(default_factory=dict, description="Literal rows and generators, as in the world itself.")
    copied: dict[str, str] = Field(
        default_factory=dict[str, str],
        alias="copy",
        description="Table -> SELECT over the world, whose rows it gets; :column of `each`.",
    )
    after: list[str] = Field(default_factory=list[str], description="Statements over the database, at last.")


class UserSource(FileModel):
    """A user of a machine."""

    uid: int | None = Field(default=None, ge=1, le=65533)
    group: str | None = Field(default=None, description="Primary group; one of the user's own name.")
    groups: list[str] = Field(default_factory=list[str], description="Further groups.")
    home: str | None = None
    shell: str = "/bin/bash"
    sudo: bool = Field(default=False, description="Whether sudo obeys without a password.")


class ProcessSource(FileModel):
    """A process that runs when an episode begins."""

    command: str = Field(min_length=1)
    user: str = "root"
    pid: int | None = Field(default=None, ge=2, le=4_194_304)
    cpu: float = Field(default=0.0, ge=0, description="Per cent of one core.")
    memory: Size = Field(default="10M", description="Resident memory.")
    started: str | None = Field(
        default=None, description="Such as 2031-03-01T10:00:00Z, or start-6d. Three days before."
    )
    port: int | None = Field(default=None, ge=1, le=65535, description="The TCP port that it listens on.")
    service: str | None = None


class AnswerSource(FileModel):
    """What a service answers over HTTP to a path: a template over rows, the files of a directory, or a status alone."""

    path: str = Field(pattern=r"^/", description="`/items/{name}`: a part in braces is a value for SQL and template.")
    methods: list[Literal["GET", "POST", "PUT", "PATCH", "DELETE"]] = Field(
        default_factory=lambda: ["GET"], min_length=1
    )
    status: int = Field(default=200, ge=200, le=599)
    type: str = "text/plain"
    headers: dict[str, str] = Field(default_factory=dict[str, str], description="Jinja, as `template`.")
    template: str | None = Field(
        default=None, description="Jinja: parts of the path, `query`, `form`, `json`, `body`, `method`, `rows`, `now`."
    )
    rows: str | None = Field(default=None, description="SELECT whose rows `template` finds under `rows`.")
    found: bool = Field(default=False, description="Whether it is 404 if `rows` has none.")
    do: list[str] = Field(default_factory=list[str], description="Statements of SQL that write, before `rows`.")
    folder: str | None = Field(default=None, pattern=r"^/", description="A directory of the machine; below the path.")
    takes: Duration = Field(default=0.0, description="Virtual time until it answers.")

    @model_validator(mode="after")
    def _has_one_content(self) -> AnswerSource:
        if self.folder is not None and (self.template is not None or self.rows is not None or self.do):
            raise ValueError("`folder` stands alone")
        return self


class UnitSource(FileModel):
    """A service under systemd."""

    description: str = ""
    command: str = ""
    user: str = "root"
    state: Literal["active", "inactive", "failed"] = "active"
    enabled: bool = True
    port: int | None = Field(default=None, ge=1, le=65535)
    requires: list[str] = Field(default_factory=list[str])
    answers: list[AnswerSource] = Field(
        default_factory=list[AnswerSource], description="What it answers over HTTP while its process runs; first fit."
    )


class CronSource(FileModel):
    """A line of a user's crontab."""

    schedule: str = Field(min_length=1)
    command: str = Field(min_length=1)
    user: str = "root"


class DiskSource(FileModel):
    """The disk: its size, the largest file that commands may write, and directories that are mounted read-only."""

    size: Size = "20G"
    largest_file: Size = Field(default="3M", description="At most 3M: content is kept in the world's tables.")
    read_only: list[str] = Field(default_factory=list[str])

    @field_validator("largest_file")
    @classmethod
    def _fits_the_tables(cls, size: Size) -> Size:
        if byte_count(size) > LARGEST:
            raise ValueError("at most 3M are kept of a file; let its `size` claim what is more")
        return size


class HostSource(FileModel):
    """One machine."""

    users: dict[Annotated[str, Field(pattern=USER)], UserSource] = Field(default_factory=dict[str, UserSource])
    files: list[FileSource] = Field(default_factory=list[FileSource])
    repositories: list[MachineRepository] = Field(default_factory=list[MachineRepository])
    databases: list[DatabaseSource] = Field(default_factory=list[DatabaseSource])
    processes: list[ProcessSource] = Field(default_factory=list[ProcessSource])
    services: dict[str, UnitSource] = Field(default_factory=dict[str, UnitSource])
    cron: list[CronSource] = Field(default_factory=list[CronSource])
    packages: dict[Literal["apt", "pip"], dict[str, str]] = Field(
        default_factory=dict[Literal["apt", "pip"], dict[str, str]],
        description="Installed ones: manager, name, version.",
    )
    disk: DiskSource = DiskSource()


class PackageSource(FileModel):
    """A Python package that `pip install` finds: modules written here, or a wheel of pure Python beside the world file."""

    version: str | None = Field(default=None, description="A wheel tells its own.")
    summary: str = ""
    requires: list[str] = Field(default_factory=list[str], description="Requirements such as `attrs>=23`.")
    files: dict[str, str] = Field(default_factory=dict[str, str], description="Path in site-packages -> text.")
    wheel: str | None = Field(default=None, description="A file ending in -none-any.whl; the path is relative to this.")

    @model_validator(mode="after")
    def _has_one_content(self) -> PackageSource:
        if self.wheel is not None and self.files:
            raise ValueError("a package has `files` or a `wheel`, not both")
        if self.wheel is None and self.version is None:
            raise ValueError("a package needs a `version` or a `wheel`")
        for path in self.files:
            if path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"{path!r} is no path below site-packages")
        return self


def _versions(value: JsonValue) -> JsonValue:
    """Return the versions of a package as a list: a text is one without content, a mapping one with it."""
    if isinstance(value, str):
        return [{"version": value}]
    return [value] if isinstance(value, dict) else value


Versions: TypeAlias = Annotated[
    list[PackageSource],
    BeforeValidator(_versions, json_schema_input_type=str | PackageSource | list[PackageSource]),
]


class IndexSource(FileModel):
    """What can be installed, by manager: name -> version; for pip also what a package holds, or a list of its versions."""

    apt: dict[str, str] = Field(default_factory=dict[str, str])
    pip: dict[str, Versions] = Field(default_factory=dict[str, Versions])


class CommandSource(FileModel):
    """A command of the world's own: a template of what it prints, rows of a SELECT, or a registered handler."""

    template: str | None = Field(
        default=None, description="Jinja: `arguments`, `stdin`, `user`, `host`, `now`, `rows`."
    )
    sql: str | None = Field(
        default=None, description="SELECT; :a1, :a2 ... are the arguments. Rows as columns of text."
    )
    handler: str | None = Field(default=None, description="A registered handler; gets `argv`, `stdin` and `directory`.")
    exit_code: int = Field(default=0, ge=0, le=255)

    @model_validator(mode="after")
    def _does_something(self) -> CommandSource:
        if self.template is None and self.sql is None and self.handler is None:
            raise ValueError("a command needs `template`, `sql` or `handler`")
        if self.handler is not None and (self.template is not None or self.sql is not None):
            raise ValueError("`handler` stands alone")
        return self


class LimitsSource(FileModel):
    """Limits of one call: seconds of virtual time, and characters of output that the agent is shown."""

    timeout: Duration = Field(default=120.0, description="How long a command may take if the call does not say.")
    output: int = Field(default=30_000, ge=200, le=1_000_000)


class MachineView(FileModel):
    """The knobs of a machine world that a scenario sets with `world: {use: NAME, with: {...}}`."""

    actions: Literal["bash", "keystrokes", "coding"] = Field(
        default="bash",
        description="What the agent does: run command lines, type at a terminal and see its screen, or work as coding agents do: "
        "read, edit, write, glob, grep, bash, todo_write.",
    )
    execution: Literal["sandbox", "chat"] = Field(
        default="sandbox",
        description="Who runs Python: the sandbox, or a chat model, by `world_models: [{use: grounded}]`. With `chat` no sandbox is "
        "needed, and episodes earn no reward.",
    )


class MachineSpec(HostSource, ServiceSpec):
    """A machine world: one machine, and others that it reaches; further tables, rows and tools as in a service world."""

    kind: Literal["machine"]  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    tables: str = Field(default="", alias="schema")
    tools: list[ToolSource] = Field(default_factory=list[ToolSource])
    hostname: str = Field(pattern=HOST)
    user: str = Field(pattern=USER, description="Whom the agent is logged in as.")
    directory: str | None = Field(default=None, description="Where the shell begins; the user's home.")
    environment: dict[str, str] = Field(default_factory=dict[str, str])
    prompt: str = r"\u@\h:\w\$ "
    machines: dict[Annotated[str, Field(pattern=HOST)], HostSource] = Field(
        default_factory=dict[str, HostSource], description="Further machines by host name, reached by ssh."
    )
    commands: dict[str, CommandSource] = Field(default_factory=dict[str, CommandSource])
    index: IndexSource = IndexSource()
    sandbox: str = Field(
        default="wasm",
        description="Where `python3` runs, if a machine has the apt package python3: `wasm`, `bubblewrap`, `docker`, `docker:IMAGE`.",
    )
    shell: Shell = Field(
        default=SIMULATED,
        description="Where command lines run: in the simulated shell, or as real programs: of this machine in the sandbox `bubblewrap`, "
        "of an image in `docker` or `docker:IMAGE`.",
    )
    limits: LimitsSource = LimitsSource()

    @property
    def git(self) -> bool:
        """True if a machine begins with a repository."""
        return any(host.repositories for host in (self, *self.machines.values()))

    @property
    def python(self) -> bool:
        """True if a machine has Python, or can install it."""
        hosts = (self, *self.machines.values())
        return any("python3" in host.packages.get("apt", ()) for host in hosts) or "python3" in self.index.apt

"""Engines of bashkit, and a store of those that closed shells have left.

Making one takes longer than most command lines: bashkit compiles Python code and inspects each command that is given to it. One that was
used is reset, which makes a new interpreter within it: variables, functions, options, traps and directory are as in one that was just made.
What a reset keeps, commands and the view of the files, leads to the shell that the engine is lent to.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, cast
from weakref import ref

from bashkit import Bash, BuiltinContext, BuiltinResult, ExecutionProfile

from simtrain.worlds.machine.accounts import ROOT
from simtrain.worlds.machine.bashkit_files import MountedFiles
from simtrain.worlds.machine.disk import Disk
from simtrain.worlds.machine.file_tree import BaseTree, FileTree
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.parser_stacks import deepen_parsers

MOST_COMMANDS = 50_000
"""Most commands of one script: what loops longer is taken to loop for ever."""
MOST_MEMORY = 256_000_000
LONGEST = 60.0
"""Most seconds of the host that a script may take. It only bounds what the limits on commands do not see."""
MOST_IDLE = 128
"""Most engines that are kept; each takes about 0.1 MB."""


class Borrower(Protocol):
    """The shell that an engine is lent to."""

    def called(self, context: BuiltinContext) -> BuiltinResult:
        """Carry out a command of ours."""
        ...


class _Extensible(Protocol):
    """What bashkit's own type hints leave out."""

    def add_builtin(self, name: str, callback: Callable[[BuiltinContext], BuiltinResult]) -> None:
        """Make a command that scripts find from now on."""
        ...


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine is made for and keeps: account, machine, directory, environment, and the names of commands of ours."""

    user: str
    host: str
    directory: str
    environment: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]


class _Lent:
    """Leads the commands of an engine to the shell that it is lent to, which it does not keep alive: bashkit's objects are no part of
    the search for cycles."""

    __slots__ = ("caller",)

    def __init__(self) -> None:
        self.caller: ref[Borrower] | None = None

    def called(self, context: BuiltinContext) -> BuiltinResult:
        caller = None if self.caller is None else self.caller()
        assert caller is not None, "commands run for a shell"
        return caller.called(context)


class BashkitEngine:
    """An engine that is lent to a shell. `lasting` says that it has got commands which a reset would keep."""

    __slots__ = ("_lent", "_settings", "_view", "bash", "lasting")

    def __init__(self, settings: EngineSettings) -> None:
        """Make an engine."""
        deepen_parsers()
        self._settings = settings
        self._lent = _Lent()
        self.lasting = False
        self._view = MountedFiles(_NO_FILES)
        self.bash = Bash(
            username=settings.user,
            hostname=settings.host,
            cwd=settings.directory,
            env=dict(settings.environment),
            max_commands=MOST_COMMANDS,
            max_loop_iterations=MOST_COMMANDS,
            max_memory=MOST_MEMORY,
            timeout_seconds=LONGEST,
            custom_builtins=dict.fromkeys(settings.commands, self._lent.called),
            # The only one without limits on a whole session: an episode may run any number of scripts.
            profile=ExecutionProfile.Interactive,
        )
        self.bash.mount("/", self._view.system)

    def lend(self, caller: Borrower, files: Files) -> None:
        """Let a shell use the engine, over some files."""
        self._lent.caller = ref(caller)
        self._view.show(files)

    def add(self, names: Iterable[str]) -> None:
        """Make further commands of ours known."""
        for name in names:
            self.lasting = True
            cast(_Extensible, self.bash).add_builtin(name, self._lent.called)

    def give_back(self) -> None:
        """Take note that the shell is closed: keep the engine for the next one, if it can be made as it was."""
        self._lent.caller = None
        self._view.show(_NO_FILES)
        if not self.lasting:
            _store.keep(self._settings, self)


class _Store:
    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: dict[EngineSettings, list[BashkitEngine]] = {}
        self._count = 0

    def keep(self, settings: EngineSettings, engine: BashkitEngine) -> None:
        with self._lock:
            # Those last used go last.
            found = self._idle.pop(settings, [])
            found.append(engine)
            self._idle[settings] = found
            self._count += 1
            if self._count > MOST_IDLE:
                self._pop(next(iter(self._idle)))

    def take(self, settings: EngineSettings) -> BashkitEngine | None:
        with self._lock:
            return self._pop(settings) if settings in self._idle else None

    def _pop(self, settings: EngineSettings) -> BashkitEngine:
        found = self._idle[settings]
        engine = found.pop()
        self._count -= 1
        if not found:
            del self._idle[settings]
        return engine


class _NoTime:
    moment = 0.0


_NO_FILES = Files(FileTree(BaseTree({"/": TreeNode("directory", 0o755, "root", "root", 0.0)})), _NoTime(), ROOT, Disk())
_store = _Store()


_left: list[_Store] = []


def _forget() -> None:
    global _store
    # Not freed: an engine that is freed waits for its threads, and a child process has none of them.
    _left.append(_store)
    _store = _Store()


os.register_at_fork(after_in_child=_forget)


def lent_engine(
    caller: Borrower,
    files: Files,
    *,
    host: str,
    directory: str,
    environment: Mapping[str, str],
    commands: Iterable[str],
) -> BashkitEngine:
    """Return an engine as one that was just made, for a shell over some files."""
    # The engine tells them in another order each time.
    variables = tuple(sorted(environment.items()))
    settings = EngineSettings(files.user.name, host, directory, variables, tuple(commands))
    engine = _store.take(settings)
    if engine is None:
        engine = BashkitEngine(settings)
    else:
        engine.bash.reset()
    engine.lend(caller, files)
    return engine

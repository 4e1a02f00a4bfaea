"""A built machine world, and its state in one episode, which runs the agent's commands."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from simtrain.contracts.request import Request
from simtrain.values.clock import seconds
from simtrain.values.errors import SimulatorFault
from simtrain.values.seeding import Root
from simtrain.values.types import Changes, JsonObject, JsonValue, Observation
from simtrain.worlds.machine.actions import OWN_TOOLS
from simtrain.worlds.machine.coding.answering import answer as answer_coding
from simtrain.worlds.machine.coding.workbench import Notes, Workbench
from simtrain.worlds.machine.commands import ABSENT, PYTHON_COMMANDS
from simtrain.worlds.machine.cron import Cron
from simtrain.worlds.machine.deep_threads import in_deep_thread
from simtrain.worlds.machine.describing import described
from simtrain.worlds.machine.engine import Finished, Shell
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.hosts import Host
from simtrain.worlds.machine.keystrokes import NAME as KEYSTROKES
from simtrain.worlds.machine.keystrokes import typed
from simtrain.worlds.machine.login import environment_of, prompt_of
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.proc import ProcFiles
from simtrain.worlds.machine.programs import names_of_commands
from simtrain.worlds.machine.rows import DROP, PUT, row_of
from simtrain.worlds.machine.scratch import without_scratch
from simtrain.worlds.machine.setup import MachineSetup
from simtrain.worlds.machine.spec_values import SIMULATED
from simtrain.worlds.machine.state_records import StateRecords
from simtrain.worlds.machine.terminal.terminal import Terminal
from simtrain.worlds.machine.tool import NAME as BASH
from simtrain.worlds.machine.tool import shown
from simtrain.worlds.service.change_log import ChangeLog
from simtrain.worlds.service.database import Database, Mode
from simtrain.worlds.service.forking import restored
from simtrain.worlds.service.world import ServiceState

_HAS_PYTHON = "select 1 as found from packages where host = :host and manager = 'apt' and name = 'python3'"


class MachineWorld(MachineSetup):
    """A machine world: machines over the tables of a service world, each episode with a shell of its own."""

    def open(self, changes: Changes | None = None) -> MachineState:
        return MachineState(self, None if changes is None else restored(self.name, self.content, changes))


class MachineState(ServiceState):
    """A machine world open for one episode.

    Files are in trees, one for each machine, and brought into the tables before anybody asks the tables. All else is in the
    tables alone.
    """

    __slots__ = ("_machines", "_notes", "_restored", "_shell", "_started", "_terminal")

    world: MachineSetup  # pyright: ignore[reportIncompatibleVariableOverride]
    _own: Database | None
    _log: ChangeLog

    def __init__(self, world: MachineSetup, own: Database | None = None) -> None:
        super().__init__(world, own)
        self._restored = own is not None
        self._machines: dict[str, Machine] = {}
        self._shell: Shell | None = None
        self._started: bytes | None = None
        self._terminal: Terminal[MachineState] | None = None
        self._notes = Notes()

    def answer(self, request: Request) -> Observation:
        with self._lock:
            if request.tool.name not in OWN_TOOLS:
                return self._answer_by_sql(request)
            # What is held of the rows is read now: a command may write files at any moment.
            self._moves_on()
            try:
                if request.tool.name == KEYSTROKES:
                    return typed(self.terminal, request.arguments)
                if request.tool.name == BASH:
                    return self._run_command(request.arguments)
                machine = self.machine
                machine.settle()
                bench = Workbench(machine, machine.users[self.world.spec.user], self.directory, self._notes)
                return answer_coding(bench, request.tool.name, request.arguments)
            except SimulatorFault:
                raise
            except Exception as error:
                raise SimulatorFault(f"the shell failed: {type(error).__name__}: {error}") from error
            finally:
                self.version += 1

    def takes_time(self, request: Request) -> bool:
        # A script may run for seconds, and the engine lets other threads run meanwhile.
        return not self._trials if request.tool.name in OWN_TOOLS else super().takes_time(request)

    async def answer_aside(self, request: Request) -> Observation:
        # What runs outside waits more than it computes, and needs no stack here.
        outside = self.world.spec.shell != SIMULATED or self.world.sandbox not in (None, "wasm")
        if request.tool.name not in OWN_TOOLS or outside:
            return await super().answer_aside(request)
        return await in_deep_thread(lambda: self.answer(request))

    def statements(self, request: Request) -> int:
        return 0 if request.tool.name in OWN_TOOLS else super().statements(request)

    def _answer_by_sql(self, request: Request) -> Observation:
        self._bring_in()
        observation = super().answer(request)
        if request.tool.writes:
            self._take_over()
            self._tell_terminal(lambda other: other.answer(request))
        return observation

    def _run_command(self, arguments: JsonObject) -> Observation:
        spec = self.world.spec
        limit = seconds(arguments.get("timeout") or spec.limits.timeout)
        prompt, ends = self.prompt, self.clock.moment + limit
        finished = self.run_script(str(arguments["command"]), until=ends)
        if finished.ending == "timeout" and self.clock.moment < ends:
            # A loop without end uses up the whole time.
            self.clock.advance(ends - self.clock.moment)
        return shown(finished, prompt, limit=limit, most=spec.limits.output)

    def run_script(
        self, script: str, *, until: float | None, stdin: str | None = None, listen: Callable[[str], None] | None = None
    ) -> Finished:
        """Run a script in the open shell; at the moment `until` it is stopped. `listen` gets what it writes, as it is written."""
        machine = self.machine
        shell = self._opened(machine)
        machine.deadline = until
        machine.running.append(shell)
        try:
            return shell.run(script, stdin=stdin, listen=listen)
        finally:
            machine.running.clear()
            machine.deadline = None

    @property
    def machine(self) -> Machine:
        """Return the machine that the agent is logged in on."""
        return self.machines[self.world.spec.hostname]

    @property
    def terminal(self) -> Terminal[MachineState]:
        """Return the terminal, begun when it is first needed."""
        if self._terminal is None:
            self._terminal = Terminal(self)
        return self._terminal

    @property
    def prompt(self) -> str:
        """Return the prompt of the open shell."""
        spec, machine = self.world.spec, self.machine
        return prompt_of(spec.prompt, machine.name, machine.users[spec.user], self.directory)

    @property
    def directory(self) -> str:
        """Return the working directory of the open shell."""
        return self._opened(self.machine).directory

    @property
    def home(self) -> str:
        """Return the home of the user who is logged in."""
        return self.machine.users[self.world.spec.user].home

    @property
    def login(self) -> tuple[str, str]:
        """Return the machine and the user of the shell."""
        return self.world.spec.hostname, self.world.spec.user

    @property
    def own_files(self) -> Files:
        """Return the files as the user sees them who is logged in."""
        machine = self.machine
        return machine.files(machine.users[self.world.spec.user])

    def command_names(self) -> frozenset[str]:
        """Return the names of all commands."""
        names = names_of_commands() | self.world.spec.commands.keys()
        if self.machine.python is not None and self.recorded(_HAS_PYTHON, {"host": self.machine.name}):
            names |= PYTHON_COMMANDS.keys()
        return frozenset(name for name in names - ABSENT if not name.startswith("_"))

    def awaits_more(self, script: str) -> bool:
        """Return whether a script is not complete."""
        return self._opened(self.machine).awaits_more(script)

    def log_in_again(self) -> None:
        """Begin a new shell."""
        self._leave_shell()
        self._started = None

    @property
    def machines(self) -> Mapping[str, Machine]:
        """Return the machines of the world by name, made when they are first needed."""
        if not self._machines:
            own = self._own
            self._set_up(self.world.hosts if own is None else self.world.hosts_in(own))
        return self._machines

    def _set_up(self, hosts: Mapping[str, Host]) -> None:
        records = StateRecords(self)
        for name, host in hosts.items():
            self._machines[name] = Machine(
                name,
                FileTree(host.base),
                self.clock,
                records,
                self.world.open_shell,
                users=host.users,
                groups=host.groups,
                disk=replace(host.disk),
                ahead=host.ahead,
                began=self.world.start,
                shell=host.shell,
                # What was due before is in the rows already of one that is restored.
                cron=Cron(self.clock.moment if self._restored else self.world.start),
                peers=self._machines,
                root=Root(self.world.seed, "machine", name),
                python=self.world.sandbox,
                answers=self.world.answers[name],
                proc=ProcFiles,
            )

    def _opened(self, machine: Machine) -> Shell:
        if self._shell is None:
            spec = self.world.spec
            user = machine.users[spec.user]
            self._shell = self.world.open_shell(
                machine,
                user,
                directory=spec.directory or user.home,
                environment=environment_of(user, spec.environment),
                state=self._started,
            )
        return self._shell

    def query(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        with self._lock:
            self._bring_in()
            return super().query(sql, parameters)

    def execute(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        with self._lock:
            self._bring_in()
            rows = super().execute(sql, parameters)
            self._take_over()
            self._tell_terminal(lambda other: other.execute(sql, parameters))
            return rows

    def _tell_terminal(self, write: Callable[[MachineState], object]) -> None:
        if self._terminal is not None:
            self._terminal.running.written_by_others(write)

    def changes(self) -> Changes:
        with self._lock:
            self._bring_in()
            return without_scratch(super().changes())

    def describe(self) -> str:
        with self._lock:
            return described([*self.machines], self.query)

    @contextmanager
    def savepoint(self) -> Generator[None]:
        with self.on_trial():
            before = self.fork()
            try:
                yield
            finally:
                self._moves_on()
                self.become(before)
                self._leave_terminal()
                self._terminal = None if before._terminal is None else before._terminal.copy(self)
                before._leave_terminal()
                self._notes = before._notes

    def fork(self) -> MachineState:
        with self._lock:
            other = self.bare_fork()
            if self._terminal is not None:
                other._terminal = self._terminal.copy(other)
            return other

    def bare_fork(self) -> MachineState:
        """Return a fork without the terminal."""
        with self._lock:
            other = super().fork()
            other._machines, other._shell, other._started = {}, None, self._saved()
            other._terminal = None
            other._notes = self._notes.copy()
            if self._machines:
                records = StateRecords(other)
                for name, machine in self._machines.items():
                    other._machines[name] = machine.copy(other.clock, records, other._machines)
            return other

    def close(self) -> None:
        with self._lock:
            super().close()
            self._leave_terminal()
            self._leave_shell()
            self._machines = {}

    def _leave_terminal(self) -> None:
        if self._terminal is not None:
            self._terminal.close()
        self._terminal = None

    def _leave_shell(self) -> None:
        if self._shell is not None:
            self._shell.close()
        self._shell = None

    def _saved(self) -> bytes | None:
        return self._started if self._shell is None else self._shell.save()

    def become(self, other: MachineState) -> None:
        """Take over another state of the same world, but for its terminal and clock; it is then no longer used."""
        if self._own is not None:
            self._own.close()
        self._own, self._log = other._own, other._log
        self._leave_shell()
        self._started, self._machines = other._saved(), {}
        other._leave_shell()
        records = StateRecords(self)
        for name, machine in other._machines.items():
            self._machines[name] = machine.copy(self.clock, records, self._machines)

    def _bring_in(self) -> None:
        """Write the files that commands have touched into the tables."""
        for machine in self._machines.values():
            machine.settle()
        for machine in self._machines.values():
            touched = machine.tree.touched
            if not touched:
                continue
            database = self._for_writing()
            for path in list(touched):
                node = machine.tree.get(path)
                if node is None:
                    database.run(DROP, {"host": machine.name, "path": path}, mode=Mode.OWN)
                else:
                    database.run(PUT, row_of(machine.name, path, node), mode=Mode.OWN)
            touched.clear()

    def _for_writing(self) -> Database:
        if self._own is None:
            self._own = Database(self.world.content, backwards=self.world.scans_backwards)
        self._own.moment = self.clock.now
        return self._own

    def _take_over(self) -> None:
        """Read files, users and groups anew from the tables, which a statement of SQL has written to."""
        if self._own is None or not self._machines:
            return
        for name, host in self.world.hosts_in(self._own).items():
            machine = self._machines[name]
            machine.tree, machine.users, machine.groups = FileTree(host.base), host.users, host.groups
            machine.disk.read_only, machine.ahead = host.disk.read_only, host.ahead
        if self._shell is not None:
            # Its files are those of the trees before.
            self._started = self._shell.save()
            self._leave_shell()

    def record(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> int:
        """Carry out a writing statement of a command, which runs within a call."""
        self._bring_in()
        self._moves_on()
        return self._for_writing().run(sql, parameters or {}, mode=Mode.WRITE)

    def recording(self) -> AbstractContextManager[None]:
        """Return a block of a command's statements that are undone together."""
        # Files are brought in first: what is undone would be lost to the tables otherwise.
        self._bring_in()
        self._moves_on()
        return self._for_writing().savepoint("command", keep=True)

    def recorded(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> list[JsonObject]:
        """Return the rows of a command's SELECT."""
        self._bring_in()
        return self._present().rows(sql, parameters or {})

"""The shell of bashkit (github.com/everruns/bashkit): bash and its usual commands in this process, over the files of a machine.

Nothing of it reaches the host: no files, network or processes. Where time or chance would come from the host (`date`, `sleep`,
`$RANDOM`), commands of ours or values of the episode stand in.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import orjson
from bashkit import Bash, BashError, BuiltinContext, BuiltinResult

from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.background import BEGIN, WAITING, marked
from simtrain.worlds.machine.bash_words import CANCELLED, finished_of, in_words_of_bash, told
from simtrain.worlds.machine.bashkit_engines import BashkitEngine, lent_engine
from simtrain.worlds.machine.called_scripts import is_python, script_names
from simtrain.worlds.machine.children import run_shell, runs_shell
from simtrain.worlds.machine.commands import commands
from simtrain.worlds.machine.commands.following import FUNCTION as FOLLOWING
from simtrain.worlds.machine.commands.following import follows
from simtrain.worlds.machine.commands.instead import with_ours
from simtrain.worlds.machine.commands.ping import FUNCTION as PINGING
from simtrain.worlds.machine.commands.ping import pings
from simtrain.worlds.machine.commands.process_table import SSHD
from simtrain.worlds.machine.commands.releases import answer, with_answers
from simtrain.worlds.machine.commands.sleep import STOPPED
from simtrain.worlds.machine.commands.time_words import (
    FUNCTIONS,
    asks_for_times,
    content_asks_for_times,
    without_builtin,
)
from simtrain.worlds.machine.engine import Ending, Finished
from simtrain.worlds.machine.error_words import in_gnu_words
from simtrain.worlds.machine.exported_functions import BEGINNING, exports, has_exported, with_exported
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.first_lines import called_by_path, functions_for, may_call
from simtrain.worlds.machine.forking_scripts import FUNCTIONS as FORKING
from simtrain.worlds.machine.forking_scripts import calls_bash, may_fork
from simtrain.worlds.machine.invocation import Command, Invocation, Result
from simtrain.worlds.machine.job_starts import starting_jobs
from simtrain.worlds.machine.jobs import NoProcessLeft, TooEarly
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.pipes import pipes_in
from simtrain.worlds.machine.plain_lines import LONGEST_READ, is_plain, may_change_words
from simtrain.worlds.machine.printed import Printed, in_order
from simtrain.worlds.machine.problems import problem_text
from simtrain.worlds.machine.programs import names_of_commands

# Where what a command prints may go elsewhere than to the terminal.
_DIVERTED = re.compile(r"[|>`]|\$\(")
_STDIN = "_stdin"
_END_OF_NAMES = b"\0"

_INCOMPLETE = ("unexpected end", "unexpected EOF", "unterminated")
# What stands in single quotes or behind a backslash stays.
_OWN_NUMBER = re.compile(r"""('[^']*'|\\.)|\$(?:(\$|\{\$\})|PPID\b|\{PPID\})""", re.DOTALL)
_SRANDOM = re.compile(r"\$(\{?)SRANDOM\b")


LONGEST_SCRIPT = 1 << 20
"""Characters of a script that a shell takes."""


class BashkitShell:
    """One shell. The engine is made when the first script runs: many episodes and forks never run one."""

    __slots__ = (
        "__weakref__", "_busy", "_code", "_commands", "_directory", "_engine", "_environment", "_fault", "_files", "_late",
        "_machine", "_named", "_own", "_ran", "_state", "_stdin", "_stopped", "_unchanged", "user",
    )  # fmt: skip

    def __init__(
        self,
        machine: Machine,
        user: User,
        *,
        directory: str,
        environment: Mapping[str, str],
        state: bytes | None = None,
        own: Mapping[str, Command] = MappingProxyType({}),
    ) -> None:
        """Open a shell for a user; `own` are commands of the world's own, beside ours."""
        self._machine = machine
        self._own = own
        self.user = user
        self._directory = directory
        self._environment = environment
        self._state = state
        self._engine: BashkitEngine | None = None
        self._commands: Mapping[str, Command] = {}
        self._files: Files | None = None
        self._busy = False
        self._code = 0
        # The path of each script that a script before called by a name.
        self._named: dict[str, str] = {}
        # Whether words mean what they mean in a new shell.
        self._unchanged = True
        if state is not None:
            named, _, self._state = state[2:].partition(_END_OF_NAMES)
            self._code, self._unchanged, self._named = state[0], bool(state[1]), orjson.loads(named)
        self._ran = False
        self._stopped: Ending = ""
        self._late: Result | None = None
        self._fault: Exception | None = None
        self._stdin: str | None = None

    @property
    def directory(self) -> str:
        if self._engine is None and self._state is None:
            return self._directory
        return self._opened().bash.shell_state().cwd

    def run(self, script: str, *, stdin: str | None = None, listen: Callable[[str], None] | None = None) -> Finished:
        self._stopped = ""
        if len(script) > LONGEST_SCRIPT:
            refusal = "bash: command line: Argument list too long\n"
            return Finished("", refusal, refusal, 126)
        if self._engine is not None:
            # Also where it was stopped too late for anything to notice.
            self._engine.bash.clear_cancel()
        self._busy = True
        # The same in each kind of thread: a plain line draws nothing.
        plain = self._unchanged and stdin is None and not runs_shell() and is_plain(script, self._opened().bash)
        work = partial(self._run, script, stdin, listen, plain=plain)
        finished = run_shell(work, stop=self.stop, calls_nothing=plain)
        # Where it was interrupted, the engine stays busy, and is not lent again.
        self._busy = False
        return finished

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None and not self._busy and not self._stopped:
            engine.give_back()

    def _run(self, script: str, stdin: str | None, listen: Callable[[str], None] | None, *, plain: bool) -> Finished:
        engine = self._opened()
        bash = engine.bash
        self._ran = True
        machine, level = self._machine, len(self._machine.running)
        timed = not plain and (asks_for_times(script) or machine.tree.any_content(content_asks_for_times))
        if machine.python is not None or timed or (not plain and self._may_fork(script)):
            self._name_scripts(engine, script)
        called = [] if plain else self._called_by_path(script)
        self._unchanged = self._unchanged and (plain or not may_change_words(script, bash))
        shown, ahead = list[Printed](), set[Printed]()
        begun = machine.clock.moment
        machine.settle()

        merged = "2>&1" in script or "&>" in script

        def show(stdout: str, stderr: str) -> None:
            stdout = in_gnu_words(stdout, script, output=True) if merged else stdout
            stderr = in_gnu_words(stderr, script)
            piece = Printed(machine.clock.moment, stdout, stderr)
            shown.append(piece)
            if listen is not None:
                listen(in_words_of_bash(stdout + stderr))
            elif machine.jobs.hear(piece, level=level):
                ahead.add(piece)

        self._stdin = stdin
        text = script if plain else marked(with_ours(with_answers(with_exported(script))))
        starting = nullcontext()
        if BEGIN in text:
            starting = starting_jobs(
                machine,
                script,
                stdin=stdin,
                user=self.user,
                directory=self._directory,
                environment=self._environment,
                save=self.save,
            )
        with starting:
            # What is saved for its jobs is the state before it.
            self._ran = True
            result = bash.execute_sync(
                text if plain else functions_for(called) + self._prepared(text, stdin, timed=timed), on_output=show
            )
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        forking = machine.jobs.forking
        machine.jobs.abandon(machine, level=level)
        cancelled = result.error is not None and CANCELLED in result.error
        if called and not cancelled:
            bash.execute_sync(f"unset -f {' '.join(called)}")
        now = machine.clock.moment
        if cancelled and self._late is not None and not _DIVERTED.search(script):
            shown.append(Printed(now, self._late.stdout, self._late.stderr))
        self._late = None
        due = machine.jobs.take_output(level=level)
        finished = finished_of(
            result, in_order(shown, ahead=ahead, due=due), now - begun, script, mixed=bool(due or ahead), merged=merged
        )
        ending = self._stopped or finished.ending
        finished = told(finished, "processes" if ending == "recursion" and forking else ending)
        self._code = finished.exit_code
        return finished

    def awaits_more(self, script: str) -> bool:
        if len(script) > LONGEST_READ:
            return False
        bash = self._opened().bash
        return run_shell(lambda: _is_incomplete(script, bash), stop=self.stop, calls_nothing=False)

    def stop(self, why: Ending = "timeout") -> None:
        self._stopped = self._stopped or why
        if self._engine is not None:
            self._engine.bash.cancel()

    def save(self) -> bytes:
        if self._state is None or self._ran:
            # Kept until the next script: many forks may begin at the same place.
            self._state, self._ran = self._opened().bash.snapshot(exclude_filesystem=True), False
        return bytes((self._code & 255, self._unchanged)) + orjson.dumps(self._named) + _END_OF_NAMES + self._state

    def _prepared(self, script: str, stdin: str | None, *, timed: bool) -> str:
        """Return a script with what comes before it: on its first line, so that lines in error texts count as they do in bash."""
        machine = self._machine
        before = f"RANDOM={machine.draw('RANDOM') % 32768} EPOCHSECONDS={int(machine.moment)}; "
        if timed:
            before, script = before + FUNCTIONS, without_builtin(script)
        before += WAITING if "wait" in script else ""
        before += FOLLOWING if follows(script) else ""
        before += PINGING if pings(script) else ""
        if not timed and calls_bash(script) and ("&" in script or machine.tree.any_content(may_fork)):
            before += FORKING
        if has_exported(self._environment) or exports(script):
            before += BEGINNING
        if "EPOCHREALTIME" in script:
            before += f"EPOCHREALTIME={machine.moment:.6f}; "
        if ("$$" in script or "PPID" in script or "{$}" in script) and "<<" not in script:
            # The engine says 1 and 0, and no script can set these.
            script = _OWN_NUMBER.sub(lambda one: one[1] or str(machine.shell if one[2] else SSHD), script)
        if "SRANDOM" in script:
            # No script can set this one.
            before += f"_SRANDOM={machine.draw('SRANDOM') % 2**32}; "
            script = _SRANDOM.sub(r"$\1_SRANDOM", script)
        if self._code and "$?" in script:
            before += f"(exit {self._code}); "
        return before + script if stdin is None else f"{before}{_STDIN} | {{ {script}\n}}"

    def _may_fork(self, script: str) -> bool:
        """Return whether a script may call one in a file that starts jobs in the background."""
        return self._machine.tree.any_content(may_fork) or ("chmod" in script and "&" in script)

    def _called_by_path(self, script: str) -> list[str]:
        """Return the paths of scripts that a script calls, but for those that are commands."""
        if not may_call(script):
            return []
        called = called_by_path(self._machine.tree, script, self.directory, self.user.home)
        return [name for name in called if name not in self._named]

    def _name_scripts(self, engine: BashkitEngine, script: str) -> None:
        """Make commands of scripts that a script may call, and that the engine would not run as they are meant."""
        state = engine.bash.shell_state()
        searched = state.variables.get("PATH") or state.env.get("PATH", "")
        known, tree = commands(python=True), self._machine.tree
        found = {
            name: path
            for name, path in script_names(tree, script, state.cwd, self.user.home, searched)
            if name not in self._named
            and name not in known
            and (name not in names_of_commands() or is_python(tree, path))
        }
        self._named |= found
        self._call_by_name(engine, found)

    def _call_by_name(self, engine: BashkitEngine, named: Mapping[str, str]) -> None:
        self._commands = {**self._commands, **{name: partial(_called, path) for name, path in named.items()}}
        engine.add(named)

    def called(self, context: BuiltinContext) -> BuiltinResult:
        """Carry out a command of ours that the engine calls."""
        name, machine = context.name, self._machine
        if name == _STDIN:
            return self._given(context)
        if len(context.argv) == 1 and name not in self._own and (said := answer(name, context.argv[0])) is not None:
            return BuiltinResult(said)
        assert self._files is not None, "the engine is open"
        invocation = Invocation(
            name, tuple(context.argv), context.stdin, context.env, context.cwd, self._files, machine
        )
        try:
            with pipes_in(machine.tree, context.argv, context.fs, self.user.name):
                result = carried_out(self._commands[name], invocation)
        except NoProcessLeft:
            self.stop("processes")
            return BuiltinResult(exit_code=254)
        except TooEarly:
            return BuiltinResult(exit_code=STOPPED)
        except Exception as error:
            if name.startswith("_") and isinstance(error, ValueError | IndexError):
                # One of the commands that are there for functions of ours, called by somebody else.
                return _no_command(name)
            # The engine would print it as what the command says.
            self._fault = self._fault or error
            self.stop("memory")
            return BuiltinResult(exit_code=1)
        if self._stopped and self._late is None:
            # bashkit drops what a command printed during which it was stopped.
            self._late = result
        return BuiltinResult(result.stdout, result.stderr, result.exit_code)

    def _given(self, context: BuiltinContext) -> BuiltinResult:
        """Print what a script is given to read; where it is given nothing, there is no such command."""
        if self._stdin is None:
            return _no_command(context.name)
        return BuiltinResult(self._stdin)

    def _opened(self) -> BashkitEngine:
        if self._engine is None:
            machine = self._machine
            self._files = machine.files(self.user)
            self._commands = {**commands(python=machine.python is not None), **self._own, **machine.further}
            self._engine = lent_engine(
                self,
                self._files,
                host=machine.name,
                directory=self._directory,
                environment=self._environment,
                commands=(*self._commands, _STDIN),
            )
            if self._state is not None:
                # The engine takes up a state only where it has all commands that there were.
                self._call_by_name(self._engine, self._named)
                self._engine.bash.restore_snapshot(self._state)
        return self._engine


def _is_incomplete(script: str, bash: Bash) -> bool:
    try:
        bash.analyze(script)
    except BashError as error:
        return any(sign in str(error) for sign in _INCOMPLETE)
    return False


def _no_command(name: str) -> BuiltinResult:
    return BuiltinResult(stderr=f"bash: {name}: command not found\n", exit_code=127)


def _called(path: str, call: Invocation) -> Result:
    from simtrain.worlds.machine.commands.python import script

    return script(replace(call, name=path))


def carried_out(command: Command, invocation: Invocation) -> Result:
    """Return what a command leaves; a file that it cannot use is an error of the command."""
    try:
        return command(invocation)
    except OSError as error:
        typed = next((word for word in invocation.arguments if invocation.path(word) == error.filename), None)
        return invocation.fail(problem_text(error, name=typed))

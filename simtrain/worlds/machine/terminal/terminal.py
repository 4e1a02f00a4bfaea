"""A terminal: keys go to the line that is typed, to a pager or to what runs; what is written comes to the screen as time passes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from typing import Generic, TypeVar

from simtrain.worlds.machine.background import last_job_begins
from simtrain.worlds.machine.terminal import keys
from simtrain.worlds.machine.terminal.asking import KeyboardInput, echo
from simtrain.worlds.machine.terminal.completion import complete
from simtrain.worlds.machine.terminal.history import NoSuchEvent, expanded, joined
from simtrain.worlds.machine.terminal.jobs import ShellJob, TerminalJobs, with_last_process
from simtrain.worlds.machine.terminal.line_editor import LineEditor
from simtrain.worlds.machine.terminal.pager import PagerStyle, TextPager
from simtrain.worlds.machine.terminal.running import Output, Running, Script
from simtrain.worlds.machine.terminal.screen import TerminalScreen
from simtrain.worlds.machine.terminal.session import LoginSession
from simtrain.worlds.machine.terminal.typed_command import typed_command
from simtrain.worlds.machine.terminal.words import words_of

SECOND_PROMPT = "> "
INTERRUPTED = 130
_PLACE = re.compile(r"^bash: line \d+: ", re.MULTILINE)


S = TypeVar("S", bound=LoginSession)


class Terminal(Generic[S]):
    """A terminal, and the shell of a user in it."""

    __slots__ = (
        "_asking", "_front", "_heard", "_lines", "_pager", "_queue", "_script", "_style", "_tabs", "_then", "_waits", "editor", "jobs",
        "running", "screen", "state",
    )  # fmt: skip

    def __init__(self, state: S) -> None:
        self.state = state
        self.screen = TerminalScreen()
        self.editor = LineEditor(self.screen)
        self.running = Running(state)
        self._pager: TextPager | None = None
        self._style: PagerStyle | None = None
        self._heard: list[str] = []
        self._asking: KeyboardInput | None = None
        self._lines: list[str] = []
        self._queue = ""
        self._tabs = 0
        self.jobs = TerminalJobs(state, self.running)
        self._front: ShellJob[S] | None = None
        # The numbers of jobs that `wait` waits for.
        self._waits: tuple[int, ...] = ()
        self._script = ""
        # The command that is to run in the background after what runs now.
        self._then = ""
        self._prompt()

    def copy(self, state: S) -> Terminal[S]:
        """Return the same terminal for a fork of the state."""
        other = copy(self)
        other.state = state
        other.screen = self.screen.copy()
        other.editor = self.editor.copy(other.screen)
        other.running = self.running.copy(state)
        other.jobs = self.jobs.copy(state, other.running)
        if self._front is not None:
            other._front = other.jobs.jobs[self.jobs.jobs.index(self._front)]
        other._pager = None if self._pager is None else self._pager.copy(other.screen)
        other._heard, other._lines = list(self._heard), list(self._lines)
        return other

    def close(self) -> None:
        """Free what runs in it."""
        self.running.forget()
        self.jobs.close()

    @property
    def is_busy(self) -> bool:
        """Return whether something runs that has not ended."""
        return self.running.unfinished is not None or self._front is not None or bool(self._waits)

    def press(self, keystrokes: str, duration: float) -> None:
        """Send keystrokes, and wait for a number of virtual seconds."""
        clock = self.state.clock
        ends = clock.moment + duration
        self._catch_up(clock.moment)
        echoes = self.is_busy
        text = keys.characters(keystrokes)
        self._type(text, ends, echoes=echoes)
        self._catch_up(ends)
        if clock.moment < ends:
            clock.advance(ends - clock.moment)

    def _catch_up(self, moment: float) -> None:
        """Let what runs go on up to a moment, and after it what was typed meanwhile."""
        clock = self.state.clock
        while self.is_busy:
            ended = self._front_goes_on(moment)
            if self.is_busy:
                break
            clock.moment = max(clock.moment, ended)
            self._has_ended()
            queue, self._queue = self._queue, ""
            self._type(queue, moment, echoes=False)
        clock.moment = max(clock.moment, moment)
        for job in self.jobs.jobs:
            self._job_goes_on(job, moment)

    def _front_goes_on(self, moment: float) -> float:
        """Let go on what the terminal waits for; return when it ended, or the moment."""
        if self.running.unfinished is not None:
            pieces, ended = self.running.go_on(moment)
            self._hear(pieces)
            return ended
        waited = [job for job in self.jobs.jobs if job.number in self._waits or job is self._front]
        for job in waited:
            self._job_goes_on(job, moment)
        ends = [job.finish for job in waited]
        if not any(job.runs for job in waited):
            if self._front is not None:
                self.jobs.remove(self._front)
            self._front, self._waits = None, ()
            self._set_code(waited[-1].code if waited else 0)
        return min(moment, max(ends, default=moment))

    def _job_goes_on(self, job: ShellJob[S], moment: float) -> None:
        pieces = self.jobs.go_on(job, moment)
        self._hear(pieces)

    def _type(self, text: str, ends: float, *, echoes: bool) -> None:
        plain = ""
        for key in keys.keys_in(text):
            if key.isprintable() and self._is_at_prompt:
                plain += key
                continue
            if plain:
                self._type_plainly(plain)
                plain = ""
            self._key(key, ends, echoes=echoes)
        if plain:
            self._type_plainly(plain)

    @property
    def _is_at_prompt(self) -> bool:
        return not self.is_busy and self._pager is None and self._asking is None and not self.editor.is_searching

    def _type_plainly(self, text: str) -> None:
        self._tabs = 0
        self.editor.key(text) if len(text) == 1 else self.editor.type(text)

    def _key(self, key: str, ends: float, *, echoes: bool) -> None:
        if self.is_busy:
            self._key_while_busy(key, echoes=echoes)
        elif self._pager is not None:
            if not self._pager.key(key):
                self._pager = None
                self._prompt()
        elif self._asking is not None:
            self._key_of_input(self._asking, key, ends)
        else:
            self._key_at_prompt(key, ends)

    def _key_at_prompt(self, key: str, ends: float) -> None:
        asked = self.editor.key(key)
        if asked == "complete":
            self._tabs = complete(self.editor, self.state, self.screen, self._tabs)
            return
        self._tabs = 0
        if asked == "line":
            self._lines.append(self.editor.text)
            self._read_line(ends)
        elif asked == "interrupt":
            self._interrupted()
        elif asked == "end":
            self._end_of_input(ends)

    def _read_line(self, ends: float) -> None:
        script = "\n".join(self._lines)
        if words_of(script).open or (script.strip() and self.state.awaits_more(script)):
            self.editor.begin(SECOND_PROMPT)
            return
        lines, self._lines = self._lines, []
        try:
            whole = expanded(joined(lines), self.editor.history)
        except NoSuchEvent as missing:
            self.screen.feed(f"bash: {missing}: event not found\n")
            self._prompt()
            return
        if whole != joined(lines):
            self.screen.feed(f"{whole}\n")
            script = whole
        self.editor.remember(whole)
        if not words_of(script).words:
            self._prompt()
            return
        if script.split()[0] in ("exit", "logout") and len(words_of(script).words) < 3:
            self._log_out(script.split()[0])
            return
        self._script, script = whole, with_last_process(script, self.jobs.last)
        if self._runs_by_jobs(script, ends):
            return
        script = self.jobs.by_process(script)
        command = typed_command(script, self.editor.history, [self.jobs.shown(job) for job in self.jobs.jobs])
        if command.input is not None:
            self._asking = KeyboardInput(script, command.input)
            self.screen.feed(command.input.prompt)
            return
        self._style = command.pager
        self._start(command.script, ends)

    def _start(self, script: str, ends: float, *, stdin: str | None = None) -> None:
        self._hear(self.running.run(script, stdin=stdin, until=ends))
        if not self.is_busy:
            self._has_ended()

    def _hear(self, pieces: Iterable[Output]) -> None:
        text = "".join(piece.text for piece in pieces)
        if not text:
            return
        if self._style is None:
            self.screen.feed(_PLACE.sub("bash: ", text))
        else:
            self._heard.append(text)

    def _has_ended(self) -> None:
        style, self._style = self._style, None
        text, self._heard = "".join(self._heard), []
        if style is not None and text:
            if style.name and self.running.code:
                self.screen.feed(re.sub(r"^cat: ", "", text, flags=re.MULTILINE))
            else:
                pager = TextPager(text, style, self.screen)
                if pager.open():
                    self._pager = pager
                    return
        if self._then:
            self._begin_job()
        else:
            self._prompt()

    def _prompt(self) -> None:
        self.screen.feed(self.jobs.news())
        self.editor.begin(self.state.prompt)

    def _interrupted(self) -> None:
        self._lines, self._then = [], ""
        self._set_code(INTERRUPTED)
        self._prompt()

    def _set_code(self, code: int) -> None:
        """Set `$?`."""
        self.running.run(f"(exit {code})", stdin=None, until=self.state.clock.moment + 1)

    def _runs_by_jobs(self, script: str, ends: float) -> bool:
        """Carry out a line that is about jobs; False if it is none."""
        words = [word.raw for word in words_of(script).words]
        if words[-1:] == ["&"] and words.count("&") == 1 and len(words) > 1:
            begins = last_job_begins(script)
            self._then = script[begins:].strip().removesuffix("&").rstrip()
            before = script[:begins].strip().removesuffix(";")
            if before:
                self._start(before, ends)
            else:
                self._begin_job()
            return True
        if words[0] == "wait" and len(words) < 3:
            waited = [job for job in self.jobs.jobs if len(words) == 1 or job is self.jobs.find(words[1])]
            self._waits = tuple(job.number for job in waited if job.runs or len(words) > 1)
            return bool(self._waits)
        if words[0] not in ("fg", "bg", "kill", "disown") or len(words) > 3:
            return False
        name = words[-1] if len(words) > 1 else ""
        if words[0] in ("kill", "disown") and [word for word in words if word.startswith("%")] != [name]:
            return False
        job = self.jobs.find(name)
        if job is None or job.ended:
            self.screen.feed(f"bash: {words[0]}: {name or 'current'}: no such job\n")
            self._set_code(1)
            self._prompt()
            return True
        if words[0] == "fg":
            self.screen.feed(f"{job.command}\n")
            self.jobs.resume(job)
            self._front = job
            return True
        if words[0] == "bg":
            self.jobs.resume(job)
            self.screen.feed(f"{self.jobs.shown(job)[:4]} {job.command} &\n")
        elif words[0] == "kill":
            # A job that is stopped learns of it when it goes on; bash tells of the end at the next prompt.
            told = f"\n{self.jobs.shown(job)}\n" if job.stopped is not None else ""
            self.screen.feed(told)
            self.jobs.end(job, "Terminated")
            self.editor.begin(self.state.prompt)
            return True
        else:
            self.jobs.remove(job)
        self._prompt()
        return True

    def _begin_job(self) -> None:
        """Let the command run in the background that a line ends with."""
        command, self._then, now = self._then, "", self.state.clock.moment
        job = self.jobs.begin(command, Script(command, None, now), self.state.bare_fork(), seen=now, stopped=False)
        self.screen.feed(f"[{job.number}] {job.pid}\n")
        self._prompt()

    def _stop(self) -> None:
        """Stop what runs, and make it a job."""
        self._then = ""
        if self._front is not None:
            job, self._front = self._front, None
            self.jobs.stop(job)
        else:
            found = self.running.set_aside()
            if found is None:
                return
            unfinished, before = found
            job = self.jobs.begin(self._script, unfinished.line, before, seen=unfinished.seen, stopped=True)
        self.screen.feed(f"^Z\n{self.jobs.shown(job)}\n")
        self._set_code(148)
        self._prompt()

    def _end_of_input(self, ends: float) -> None:
        if self._lines:
            # The end of a command that is not complete: the shell takes what there is.
            script, self._lines = "\n".join(self._lines), []
            self.screen.feed("\n")
            self._start(script, ends)
            return
        self._log_out("exit")

    def _log_out(self, word: str) -> None:
        """End the shell; a new one begins in its place."""
        self.screen.feed(f"{word}\n" if self.screen.cursor[1] else "")
        self.running.forget()
        self.state.log_in_again()
        self._prompt()

    def _key_while_busy(self, key: str, *, echoes: bool) -> None:
        """Take a key while something runs, as the driver of a terminal does: signals at once, anything else for later."""
        if key in (keys.INTERRUPT, keys.QUIT):
            self.screen.feed("^C\n" if key == keys.INTERRUPT else "^\\Quit\n")
            self._queue, self._style, self._heard = "", None, []
            self._give_up()
            self._set_code(INTERRUPTED if key == keys.INTERRUPT else 131)
            self._prompt()
            return
        if key == keys.SUSPEND:
            self._stop()
            return
        if key in (keys.ERASE, "\x15"):
            line = self._queue.rpartition("\n")[2]
            gone = line[-1:] if key == keys.ERASE else line
            self._queue = self._queue[: len(self._queue) - len(gone)]
            if echoes:
                self.screen.feed("\b \b" * len(gone))
            return
        key = "\n" if key == "\r" else key
        self._queue += key
        if echoes and key != keys.END_OF_FILE:
            self.screen.feed(echo(key))

    def _give_up(self) -> None:
        self._then = ""
        if self._front is not None:
            self.jobs.remove(self._front)
        self._front, self._waits = None, ()
        self.running.give_up()

    def _key_of_input(self, asking: KeyboardInput, key: str, ends: float) -> None:
        """Take a key for a command that reads the keyboard."""
        if key in (keys.INTERRUPT, keys.QUIT):
            self._asking = None
            self.screen.feed("^C\n")
            self._interrupted()
            return
        asking = self._asking = asking.key(key, self.screen)
        if not asking.complete:
            return
        self._asking = None
        if asking.input.reads:
            self._start(asking.fed_script, ends)
        elif asking.input.repeats:
            # All that it prints is on the screen already.
            self.running.run(asking.script, stdin=asking.text, until=ends)
            self._prompt()
        else:
            self._start(asking.script, ends, stdin=asking.text)

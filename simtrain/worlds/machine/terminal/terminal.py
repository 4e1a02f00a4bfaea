"""A terminal: keys go to the line that is typed, to a pager or to what runs; what is written comes to the screen as time passes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from shlex import quote
from typing import Generic, Protocol, TypeVar

from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.terminal import keys
from simtrain.worlds.machine.terminal.completion import MOST_SHOWN, completed, listed
from simtrain.worlds.machine.terminal.line_editor import LineEditor
from simtrain.worlds.machine.terminal.pager import Pager, PagerStyle
from simtrain.worlds.machine.terminal.running import Episode, Piece, Running
from simtrain.worlds.machine.terminal.screen import TerminalScreen
from simtrain.worlds.machine.terminal.typed_command import Input, typed_command
from simtrain.worlds.machine.terminal.words import words_of

SECOND_PROMPT = "> "
INTERRUPTED = 130
_PLACE = re.compile(r"^bash: line \d+: ", re.MULTILINE)
_CONTINUES = re.compile(r"(?:(?:^|[\s;])(?:do|then|else|in)|[{(|&;])\s*$")


class Session(Episode, Protocol):
    """What a terminal needs to know of the machine that it stands at."""

    @property
    def prompt(self) -> str:
        """Return the prompt of the shell."""
        ...

    @property
    def directory(self) -> str:
        """Return the working directory of the shell."""
        ...

    @property
    def home(self) -> str:
        """Return the home of its user."""
        ...

    @property
    def own_files(self) -> Files:
        """Return the files as its user sees them."""
        ...

    def command_names(self) -> Iterable[str]:
        """Return the names of all commands."""
        ...

    def awaits_more(self, script: str) -> bool:
        """Return whether a script is not complete."""
        ...

    def log_in_again(self) -> None:
        """Begin a new shell in place of the present one."""
        ...


@dataclass(frozen=True, slots=True)
class Asking:
    """A command that takes its input from the keyboard: the lines so far, and the one that is being typed."""

    script: str
    input: Input
    lines: tuple[str, ...] = ()
    typed: str = ""


S = TypeVar("S", bound=Session)


class Terminal(Generic[S]):
    """A terminal, and the shell of a user in it."""

    __slots__ = ("_asking", "_heard", "_lines", "_pager", "_queue", "_style", "_tabs", "editor", "running", "screen", "state")

    def __init__(self, state: S) -> None:
        self.state = state
        self.screen = TerminalScreen()
        self.editor = LineEditor(self.screen)
        self.running = Running(state)
        self._pager: Pager | None = None
        self._style: PagerStyle | None = None
        self._heard: list[str] = []
        self._asking: Asking | None = None
        self._lines: list[str] = []
        self._queue = ""
        self._tabs = 0
        self._prompt()

    def copy(self, state: S) -> Terminal[S]:
        """Return the same terminal for a fork of the state."""
        other = copy(self)
        other.state = state
        other.screen = self.screen.copy()
        other.editor = self.editor.copy(other.screen)
        other.running = self.running.copy(state)
        other._pager = None if self._pager is None else self._pager.copy(other.screen)
        other._heard, other._lines = list(self._heard), list(self._lines)
        return other

    @property
    def is_busy(self) -> bool:
        """Return whether something runs that has not ended."""
        return self.running.unfinished is not None

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
        while self.is_busy:
            pieces, ended = self.running.go_on(moment)
            self._hear(pieces)
            clock = self.state.clock
            if self.is_busy:
                clock.moment = max(clock.moment, moment)
                return
            clock.moment = max(clock.moment, ended)
            self._has_ended()
            queue, self._queue = self._queue, ""
            self._type(queue, moment, echoes=False)

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
            self._asking = self._key_of_input(self._asking, key, ends)
        else:
            self._key_at_prompt(key, ends)

    def _key_at_prompt(self, key: str, ends: float) -> None:
        asked = self.editor.key(key)
        if asked == "complete":
            self._complete()
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
        self.editor.remember(joined(self._lines))
        self._lines = []
        if not script.strip():
            self._prompt()
            return
        if script.split()[0] in ("exit", "logout") and len(words_of(script).words) < 3:
            self._log_out(script.split()[0])
            return
        command = typed_command(script, self.editor.history)
        if command.input is not None:
            self._asking = Asking(script, command.input)
            self.screen.feed(command.input.prompt)
            return
        self._style = command.pager
        self._start(command.script, ends)

    def _start(self, script: str, ends: float, *, stdin: str | None = None) -> None:
        self._hear(self.running.run(script, stdin=stdin, until=ends))
        if not self.is_busy:
            self._has_ended()

    def _hear(self, pieces: Iterable[Piece]) -> None:
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
                pager = Pager(text, style, self.screen)
                if pager.open():
                    self._pager = pager
                    return
        self._prompt()

    def _prompt(self) -> None:
        self.editor.begin(self.state.prompt)

    def _interrupted(self) -> None:
        self._lines = []
        self._set_code(INTERRUPTED)
        self._prompt()

    def _set_code(self, code: int) -> None:
        """Set `$?`."""
        self.running.run(f"(exit {code})", stdin=None, until=self.state.clock.moment + 1)

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

    def _complete(self) -> None:
        editor, state = self.editor, self.state
        done = completed(
            editor.text,
            editor.place,
            files=state.own_files,
            directory=state.directory,
            home=state.home,
            commands=state.command_names,
        )
        if (done.text, done.place) != (editor.text, editor.place):
            self._tabs = 0
            editor.replace(done.text, done.place)
            return
        self._tabs += 1
        if self._tabs < 2 or not done.choices:
            return
        editor.leave()
        if len(done.choices) > MOST_SHOWN:
            self.screen.feed(f"Display all {len(done.choices)} possibilities? (y or n)\n")
        else:
            self.screen.feed(listed(done.choices))
        editor.redraw_below()

    def _key_while_busy(self, key: str, *, echoes: bool) -> None:
        """Take a key while something runs, as the driver of a terminal does: signals at once, anything else for later."""
        if key in (keys.INTERRUPT, keys.QUIT):
            self.screen.feed("^C\n" if key == keys.INTERRUPT else "^\\Quit\n")
            self._queue, self._style, self._heard = "", None, []
            self.running.give_up()
            self._set_code(INTERRUPTED if key == keys.INTERRUPT else 131)
            self._prompt()
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

    def _key_of_input(self, asking: Asking, key: str, ends: float) -> Asking | None:
        """Take a key for a command that reads the keyboard; None when it has ended."""
        shows = not asking.input.hidden
        if key in (keys.INTERRUPT, keys.QUIT):
            self.screen.feed("^C\n")
            self._interrupted()
            return None
        if key in (keys.ERASE, "\x15"):
            left = asking.typed[:-1] if key == keys.ERASE else ""
            if shows:
                self.screen.feed("\b \b" * (len(asking.typed) - len(left)))
            return replace(asking, typed=left)
        if key == keys.END_OF_FILE:
            if asking.typed:
                return asking
            self._run_with_input(asking, ends)
            return None
        if key not in ("\r", "\n"):
            if shows:
                self.screen.feed(echo(key))
            return replace(asking, typed=asking.typed + key)
        if shows:
            self.screen.feed("\n")
        asking = replace(asking, lines=(*asking.lines, asking.typed), typed="")
        if asking.input.repeats:
            self.screen.feed(f"{asking.lines[-1]}\n")
        if not asking.input.reads:
            return asking
        self._run_with_input(asking, ends)
        return None

    def _run_with_input(self, asking: Asking, ends: float) -> None:
        text = "".join(f"{line}\n" for line in asking.lines)
        if asking.input.reads:
            line = f" <<< {quote(asking.lines[0])}" if asking.lines else " < /dev/null"
            self._start(asking.script + line, ends)
            return
        if asking.input.repeats:
            # All that it prints is on the screen already.
            self.running.run(asking.script, stdin=text, until=ends)
            self._prompt()
            return
        self._start(asking.script, ends, stdin=text)


def echo(key: str) -> str:
    """Return what the driver of a terminal shows of a key: control characters as ^X."""
    if key in "\n\t":
        return key
    return "".join(f"^{chr(ord(letter) ^ 64)}" if letter < " " or letter == keys.ERASE else letter for letter in key)


def joined(lines: list[str]) -> str:
    """Return the lines of one command as a line of the history, as bash joins them (`cmdhist`)."""
    whole = lines[0]
    for line in lines[1:]:
        left = words_of(whole).open
        if left == "escape":
            whole = whole[:-1] + line
        elif left in ("quote", "heredoc"):
            whole += f"\n{line}"
        else:
            whole += (" " if _CONTINUES.search(whole) else "; ") + line
    return whole


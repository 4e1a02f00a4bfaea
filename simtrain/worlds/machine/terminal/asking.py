"""Commands that take their input from the keyboard: the line that is typed for them, by the rules of a terminal's driver.

Rules: termios(3), canonical mode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from shlex import quote

from simtrain.worlds.machine.terminal import keys
from simtrain.worlds.machine.terminal.screen import TerminalScreen
from simtrain.worlds.machine.terminal.typed_command import Input


@dataclass(frozen=True, slots=True)
class KeyboardInput:
    """A command that waits for input: the lines so far, the one that is being typed, and whether the input is `complete`."""

    script: str
    input: Input
    lines: tuple[str, ...] = ()
    typed: str = ""
    complete: bool = False

    def key(self, key: str, screen: TerminalScreen) -> KeyboardInput:
        """Take a key, and show it."""
        shows = not self.input.hidden
        if key in (keys.ERASE, "\x15", "\x17"):
            left = self.typed[:-1] if key == keys.ERASE else ""
            if key == "\x17":
                left = self.typed[: self.typed.rstrip().rfind(" ") + 1]
            if shows:
                screen.feed("\b \b" * (len(self.typed) - len(left)))
            return replace(self, typed=left)
        if key == keys.END_OF_FILE:
            # In the middle of a line it only hands over what is typed so far.
            return self if self.typed else replace(self, complete=True)
        if key not in ("\r", "\n"):
            if shows:
                screen.feed(echo(key))
            return replace(self, typed=self.typed + key)
        if shows:
            screen.feed("\n")
        if self.input.repeats:
            screen.feed(f"{self.typed}\n")
        return replace(self, lines=(*self.lines, self.typed), typed="", complete=self.input.reads)

    @property
    def text(self) -> str:
        """Return the input."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def fed_script(self) -> str:
        """Return the script of a `read` with its line."""
        return f"{self.script} <<< {quote(self.lines[0])}" if self.lines else f"{self.script} < /dev/null"


def echo(key: str) -> str:
    """Return what the driver of a terminal shows of a key: control characters as ^X."""
    if key in "\n\t":
        return key
    return "".join(f"^{chr(ord(letter) ^ 64)}" if letter < " " or letter == keys.ERASE else letter for letter in key)

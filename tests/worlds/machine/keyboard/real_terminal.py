"""A real bash in a real pseudo-terminal, drawn by pyte: what the terminals of machines are compared with."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

COLUMNS, ROWS = 160, 40
QUIET = 0.12
"""Seconds without output after which a screen is taken to be complete."""
_KEYS = {"Enter": "\r", "Tab": "\t", "Escape": "\x1b", "BSpace": "\x7f", "Space": " ", "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C",
         "Left": "\x1b[D", "Home": "\x1b[H", "End": "\x1b[F", "DC": "\x1b[3~", "NPage": "\x1b[6~", "PPage": "\x1b[5~"}  # fmt: skip
_ALTERNATE = re.compile(rb"\x1b\[\?1049([hl])")


class RealTerminal:
    """A context manager. `screen` are the lines that a person sees."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._screens = [pyte.Screen(COLUMNS, ROWS)]
        self._streams = [pyte.ByteStream(self._screens[0])]
        self._last = b""

    def __enter__(self) -> Self:
        with warnings.catch_warnings():
            # Newer versions of Python warn of a fork beside threads; the child only starts another program.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid, self._handle = pty.fork()
        if pid == 0:
            os.chdir(self._home)
            environment = {
                "HOME": str(self._home), "PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PS1": "$ ",
                "INPUTRC": "/dev/null", "HISTFILE": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LESSHISTFILE": "/dev/null",
            }  # fmt: skip
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        self._pid = pid
        # Not `select.select`, which takes no descriptor beyond 1023.
        self._poll = select.poll()
        self._poll.register(self._handle, select.POLLIN)
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._read(2.0, until=b"$ ")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)

    def press(self, keystrokes: str, seconds: float) -> None:
        """Type, and wait: for a number of seconds, or until nothing more is written."""
        os.write(self._handle, _sent(keystrokes).encode())
        self._read(seconds)

    def _read(self, seconds: float, *, until: bytes | None = None) -> None:
        clock = os.times
        ends = clock().elapsed + seconds
        heard = b""
        while True:
            left = ends - clock().elapsed
            wait = max(QUIET, left) if until is None else max(0.0, left)
            if not self._poll.poll(wait * 1000):
                if left <= QUIET:
                    return
                continue
            try:
                found = os.read(self._handle, 65536)
            except OSError:
                return
            heard += found
            self._feed(found)
            if until is not None and until in heard:
                return

    def _feed(self, data: bytes) -> None:
        at = 0
        for mark in _ALTERNATE.finditer(data):
            self._streams[-1].feed(data[at : mark.start()])
            if mark[1] == b"h" and len(self._screens) == 1:
                self._screens.append(pyte.Screen(COLUMNS, ROWS))
                self._streams.append(pyte.ByteStream(self._screens[-1]))
            elif mark[1] == b"l" and len(self._screens) == 2:
                self._screens.pop()
                self._streams.pop()
            at = mark.end()
        self._streams[-1].feed(data[at:])

    @property
    def screen(self) -> Sequence[str]:
        return [line.rstrip() for line in self._screens[-1].display]

    @property
    def cursor(self) -> tuple[int, int]:
        found = self._screens[-1].cursor
        return found.y, min(found.x, COLUMNS - 1)


def _sent(keystrokes: str) -> str:
    if keystrokes in _KEYS:
        return _KEYS[keystrokes]
    if len(keystrokes) == 3 and keystrokes[:2] == "C-":
        return chr(ord(keystrokes[2].upper()) & 31)
    if len(keystrokes) == 3 and keystrokes[:2] == "M-":
        return "\x1b" + keystrokes[2]
    return keystrokes

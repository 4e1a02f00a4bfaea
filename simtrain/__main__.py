"""The process `simtrain`: Ctrl-C ends it in one line, from its first import on."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code that shells give to whatever Ctrl-C has ended."""

_SHOW_CURSOR = b"\x1b[?25h\n"


def main() -> NoReturn:
    """The entry point of the command line; exit codes are those of `simtrain.cli.main`, and 130 after Ctrl-C.

    A command that has something to finish takes the signal itself, as a run does while it plays.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    from simtrain.cli import main as command_line

    command_line()


def _end_at_once(number: int, frame: FrameType | None) -> None:
    # No KeyboardInterrupt: raised inside one of SQLite's callbacks it would come out as an error of the query.
    os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()

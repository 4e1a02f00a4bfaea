"""The process `simtrain`: Ctrl-C ends it in one line, from its first import on."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false

from __future__ import annotations

import _signal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130
"""The exit code that shells give to whatever Ctrl-C has ended."""

_SHOW_CURSOR = b"\x1b[?25h\n"


def main() -> NoReturn:
    """Run the command line; exit codes are those of `simtrain.cli.main`, and 130 after Ctrl-C.

    A command that has something to finish takes the signal itself, as a run does while it plays.
    """
    _take_the_signal()
    from simtrain.cli import main as command_line

    command_line()


def _take_the_signal() -> None:
    # The C module: the other imports half of the library first.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end_at_once)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    # No KeyboardInterrupt: raised inside one of SQLite's callbacks it would come out as an error of the query.
    os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
    os._exit(INTERRUPTED)


# At once, for a command; a worker process imports this file too, and deals with the signal by itself.
if (
    sys.argv[0].endswith(("simtrain", "simtrain.exe", "__main__.py", "-m"))
    and "multiprocessing.spawn" not in sys.modules
):
    _take_the_signal()

if __name__ == "__main__":
    main()

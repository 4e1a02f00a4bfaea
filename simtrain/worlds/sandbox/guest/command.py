"""Play one command line of `python3` (or of `pytest`), as CPython does: its options, its errors, its exit codes."""

import atexit
import builtins
import json
import linecache
import os
import sys
import traceback
from contextlib import suppress
from importlib.machinery import BuiltinImporter, SourceFileLoader
from types import ModuleType

import layout

_USAGE = "usage: python3 [option] ... [-c cmd | -m mod | file | -] [arg] ...\nTry `python3 -h' for more information."
_WITH_VALUE = {"-W", "-X"}
_FLAGS = set("bBdEhiIOPqRsSuvxV")


class _Line:
    """A command line, read: what to run, and the options that matter here."""

    def __init__(self, arguments: list[str]) -> None:
        self.command = self.module = self.file = None
        self.unbuffered = self.isolated = self.version = self.help = False
        self.warnings: list[str] = []
        self.write_bytecode = True
        self.rest: list[str] = []
        self.wrong: str | None = None
        waiting = list(arguments)
        while waiting:
            word = waiting.pop(0)
            if word == "-" or not word.startswith("-"):
                self.file, self.rest = word, waiting
                return
            if word in ("--version", "--help"):
                setattr(self, word[2:], True)
                continue
            for place, letter in enumerate(word[1:], start=1):
                value = word[place + 1 :]
                if letter in "cmWX":
                    if not value and not waiting:
                        self.wrong = f"Argument expected for the -{letter} option\n{_USAGE}"
                        return
                    value = value or waiting.pop(0)
                    if letter == "c":
                        self.command, self.rest = value, waiting
                        return
                    if letter == "m":
                        self.module, self.rest = value, waiting
                        return
                    if letter == "W":
                        self.warnings.append(value)
                    break
                if letter not in _FLAGS:
                    self.wrong = f"Unknown option: -{letter}\n{_USAGE}"
                    return
                self.unbuffered |= letter == "u"
                self.isolated |= letter in "IP"
                self.version |= letter == "V"
                self.help |= letter == "h"
                self.write_bytecode &= letter != "B"


def play(request: str, *, calls, sleep, leave) -> str:
    """Run the command line of a request and return its exit code and what modes it changed."""
    told = json.loads(request)
    calls.begin(
        start=told["start"],
        fresh=told["fresh"],
        uid=told["uid"],
        gid=told["gid"],
        modes=told["modes"],
        sleep=sleep,
        leave=leave,
    )
    os.environ.clear()
    os.environ.update(told["env"])
    arguments = told["argv"]
    # A script of its own at a shell: unlike `python3 -m pytest` it leaves the working folder off `sys.path`.
    script = os.path.basename(arguments[0]) in ("pytest", "py.test")
    line = _Line([] if script else arguments[1:])
    _open_streams(unbuffered=line.unbuffered or bool(os.environ.get("PYTHONUNBUFFERED")))
    sys.orig_argv[:] = arguments
    sys.dont_write_bytecode = not line.write_bytecode or bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    with suppress(OSError):
        os.chdir(told["cwd"])
    code = _status(lambda: _begin_pytest(arguments) if script else _begin(line))
    code = _end(code)
    return json.dumps({"code": code, "modes": calls.changed_modes(told["modes"])})


def _open_streams(*, unbuffered: bool) -> None:
    import io

    raw = io.BufferedReader(io.FileIO(0, "r", closefd=False))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(raw, encoding="utf-8", errors="strict", newline=None)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        file = io.FileIO(fd, "w", closefd=False)
        text = io.TextIOWrapper(
            file if unbuffered else io.BufferedWriter(file),
            encoding="utf-8",
            errors="strict" if fd == 1 else "backslashreplace",
            newline="\n",
            line_buffering=fd == 2 and not unbuffered,
            write_through=unbuffered,
        )
        text.mode = "w"
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def _status(run) -> int:
    """Run and return the exit code, with what CPython prints about an error."""
    try:
        run()
    except SystemExit as stop:
        if stop.code is None:
            return 0
        if isinstance(stop.code, int):
            return stop.code & 0xFF
        sys.stdout.flush()
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException as error:
        kind, value, trace = sys.exc_info()
        # The frames below this file are the program's own.
        while trace is not None and trace.tb_frame.f_code.co_filename in _OWN:
            trace = trace.tb_next
        error.__traceback__ = trace
        _forget_own(error, set())
        sys.last_exc = sys.last_value = error
        sys.last_type, sys.last_traceback = kind, trace
        with suppress(Exception):
            sys.stdout.flush()
        try:
            sys.excepthook(kind, value, trace)
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else 1
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _forget_own(error: BaseException | None, seen: set[int]) -> None:
    """Take this file's frames from the errors behind an error, too."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    while error.__traceback__ is not None and error.__traceback__.tb_frame.f_code.co_filename in _OWN:
        error.__traceback__ = error.__traceback__.tb_next
    _forget_own(error.__cause__, seen)
    _forget_own(error.__context__, seen)


_OWN = {__file__}


def _end(code: int) -> int:
    """Do what CPython does at the end: exit functions, flushing."""
    threading = sys.modules.get("threading")
    if threading is not None:
        with suppress(Exception):
            threading._shutdown()
    try:
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            return 120
        except (AttributeError, ValueError):
            pass
        except OSError as error:
            if stream is sys.stdout:
                print(
                    f"Exception ignored while flushing sys.stdout:\n{type(error).__name__}: {error}",
                    file=sys.__stderr__,
                )
            return 120
    return code


def _new_main() -> ModuleType:
    main = ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    return main


def _lay_path(*, isolated: bool) -> None:
    """Set `sys.path` as CPython does before the first line, without the program's own folder."""
    path = [one for one in os.environ.get("PYTHONPATH", "").split(":") if one and not isolated]
    home = os.environ.get("HOME")
    user = f"{home}/.local/lib/{layout.VERSION}/site-packages" if home else None
    library = list(layout.SEARCH_PATH)
    if user and not isolated and os.path.isdir(user):
        library.insert(3, user)
    sys.path[:] = [*path, *library]
    sys.path_importer_cache.clear()


def _begin_pytest(arguments: list[str]) -> None:
    _new_main()
    _lay_path(isolated=False)
    sys.argv[:] = ["/usr/bin/pytest", *arguments[1:]]
    sys.path.insert(0, "/usr/bin")
    import pytest

    sys.exit(pytest.console_main())


def _begin(line: _Line) -> None:
    if line.wrong is not None:
        print(line.wrong, file=sys.stderr)
        raise SystemExit(2)
    if line.version:
        print(f"Python {sys.version.split()[0]}")
        return
    if line.help:
        print(_USAGE)
        return
    main = _new_main()
    _lay_path(isolated=line.isolated)
    if line.warnings or os.environ.get("PYTHONWARNINGS"):
        import warnings

        given = [*os.environ.get("PYTHONWARNINGS", "").split(","), *line.warnings]
        sys.warnoptions[:] = [one for one in given if one]
        warnings._processoptions(sys.warnoptions)
    if line.command is not None:
        sys.argv[:] = ["-c", *line.rest]
        if not line.isolated:
            sys.path.insert(0, "")
        main.__loader__ = BuiltinImporter
        main.__spec__ = None
        source = line.command if line.command.endswith("\n") else f"{line.command}\n"
        _run(source, "<string>", main)
    elif line.module is not None:
        sys.argv[:] = ["-m", *line.rest]
        if not line.isolated:
            sys.path.insert(0, os.getcwd())
        import runpy

        runpy._run_module_as_main(line.module)
    elif line.file in (None, "-"):
        sys.argv[:] = [line.file or "", *line.rest]
        if not line.isolated:
            sys.path.insert(0, "")
        main.__loader__ = BuiltinImporter
        main.__spec__ = None
        _run(sys.stdin.buffer.read(), "<stdin>", main)
    else:
        _run_file(line.file, line, main)


def _run_file(file: str, line: _Line, main: ModuleType) -> None:
    sys.argv[:] = [file, *line.rest]
    if os.path.isdir(file) or file.endswith((".zip", ".pyz")):
        sys.path.insert(0, file)
        import runpy

        try:
            runpy._run_module_as_main("__main__", False)
        except SystemExit as stop:
            if isinstance(stop.code, str) and "can't find '__main__'" in stop.code:
                stop.code = f"{layout.EXECUTABLE}: can't find '__main__' module in {os.path.abspath(file)!r}"
            raise
        return
    try:
        with open(file, "rb") as opened:
            source = opened.read()
    except OSError as error:
        full = os.path.join(os.getcwd(), file)
        print(
            f"{layout.EXECUTABLE}: can't open file {full!r}: [Errno {_linux(error)}] {error.strerror}", file=sys.stderr
        )
        raise SystemExit(2) from None
    if not line.isolated:
        sys.path.insert(0, os.path.dirname(os.path.realpath(file)))
    file = os.path.join(os.getcwd(), file)
    main.__file__ = file
    main.__loader__ = SourceFileLoader("__main__", file)
    main.__spec__ = None
    main.__cached__ = None
    _run(source, file, main)


def _linux(error: OSError) -> int:
    return {"FileNotFoundError": 2, "PermissionError": 13, "NotADirectoryError": 20}.get(
        type(error).__name__, error.errno
    )


def _run(source: str | bytes, name: str, main: ModuleType) -> None:
    code = compile(source, name, "exec", dont_inherit=True)
    if name == "<string>":
        # So that a traceback shows the lines of `-c`.
        linecache._register_code(code, source, name)
    exec(code, main.__dict__)

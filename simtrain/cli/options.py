"""Shared by several commands: printing JSON, exiting with an error, a console."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from simtrain.cli.terminal import console as console
from simtrain.values.errors import InputError
from simtrain.values.terminal_text import fit_json, one_line

if TYPE_CHECKING:
    import typer

    from simtrain.contracts.scenario import Scenario
    from simtrain.values.types import JsonObject, JsonValue


def fail(message: str, *, code: int = 2) -> NoReturn:
    """Print one line on standard error and exit; exit code 2 means bad input."""
    report(message)
    sys.exit(code)


def report(message: str) -> None:
    """Print an error as one line. Names in it come from untrusted files."""
    print(one_line(f"error: {message}"), file=sys.stderr)


def warn(scenarios: Iterable[Scenario]) -> None:
    """Print the warnings about scenarios on standard error, one per line."""
    from simtrain.scenarios.cautions import cautions

    for scenario in scenarios:
        for line in cautions(scenario):
            print(one_line(f"warning: {line}"), file=sys.stderr)


def fail_usage(error: typer.TyperException) -> NoReturn:
    """Exit with an error about the command line; without a command the help is printed instead."""
    message = error.format_message()
    if message.startswith("Usage:"):
        print(message, file=sys.stderr)
        sys.exit(2)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "simtrain"
    # pydantic puts these words before the message of a validator.
    problem = " ".join(message.replace("Value error, ", "").split()).rstrip(".")
    fail(f"{problem}; see {path} --help")


def print_json(value: object) -> None:
    """Print one JSON document."""
    import orjson

    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    sys.stdout.write(fit_json(text))


def print_written(paths: Iterable[Path], *, as_json: bool, then: Iterable[str]) -> None:
    """Print the paths of files that were written, and for people what to do next."""
    if as_json:
        print_json([str(path) for path in paths])
        return
    for line in (*(f"wrote {path}" for path in paths), *then):
        print(line)


def print_json_line(value: object) -> None:
    """Print one JSON document in one line, at once."""
    import orjson

    sys.stdout.write(fit_json(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()))
    sys.stdout.flush()


def knobs_from(pairs: Sequence[str]) -> JsonObject:
    """Return `name=value` pairs as knobs; a value that is valid JSON is parsed as JSON. Raises InputError."""
    import orjson

    found: dict[str, JsonValue] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"{pair!r} is not name=value", remedy="write it like --with temperature=0.2")
        if name in found:
            raise InputError(f"--with {name} is given twice", remedy="keep one")
        try:
            found[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            # Text that is no JSON is text, so that --with model=gpt-5.4 needs no quotes.
            found[name] = value
    return found


def allow_live_servers() -> None:
    """Let scenarios start real servers in this process and its workers, which inherit the environment."""
    import os

    from simtrain.world_models.live import ALLOW

    # By environment, so that worker processes inherit it; a YAML file cannot set it.
    os.environ[ALLOW] = "1"


@contextmanager
def stopping() -> Generator[Callable[[], bool]]:
    """Let the first Ctrl-C or SIGTERM only ask for an end, while the block runs; the function tells whether one did. The second one is
    as it was before."""
    import signal

    asked = False
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: object) -> None:
        nonlocal asked
        asked = True
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, ask)
    try:
        yield lambda: asked
    finally:
        restore()


def on_signal(end: Callable[[], object]) -> None:
    """Have Ctrl-C and SIGTERM call `end` in the running event loop, so that what is open is still closed in good order."""
    import asyncio
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)


async def serve_until_stopped(failed: Awaitable[None]) -> None:
    """Wait for Ctrl-C or SIGTERM, or raise what `failed` raises."""
    import asyncio

    stopped = asyncio.Event()
    on_signal(stopped.set)
    waiting, failing = asyncio.create_task(stopped.wait()), asyncio.ensure_future(failed)
    # Whichever is first: a server that cannot listen any more must not look alive.
    await asyncio.wait((waiting, failing), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if failing.done():
        failing.result()

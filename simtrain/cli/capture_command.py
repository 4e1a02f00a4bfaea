"""`simtrain capture`: capture real MCP servers as a manifest file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, on_signal, print_json, report
from simtrain.values.errors import InputError, nearest
from simtrain.values.terminal_text import in_line

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from simtrain.mcp.capture.capture import Captured, Patience
    from simtrain.mcp.capture.lint import LintFinding
    from simtrain.mcp.capture.mcp_json import ConfiguredServer
    from simtrain.mcp.capture.probes import ProbeFile
    from simtrain.mcp_wire.manifest import ServerManifest
    from simtrain.mcp_wire.targets import Target
    from simtrain.values.types import JsonObject

HELP = """Capture real MCP servers to a manifest file.

A server is a command or an http(s) URL; --config takes all servers of an
mcp.json as Claude, Cursor and VS Code write it. Their replies are
kept verbatim, for each protocol era they speak and for clients with and
without capabilities. Secrets are left out; suspicious descriptions are listed.

Without --probes only an unknown tool is called, and read-only tools with bad
arguments. --probe-writes calls all tools with bad arguments; use it only where
no harm is done if one runs. A probe file lists real calls to make.

\b
Examples:
  simtrain capture "npx -y @modelcontextprotocol/server-memory" -o memory.json
  simtrain capture https://mcp.example.com/mcp -o m.json \\
      --header-env Authorization=EXAMPLE_TOKEN
  simtrain capture --config .vscode/mcp.json --out servers.json
  simtrain capture "python notes.py" -o notes.json --probes probes.yaml

Exit code 1 when some servers could not be captured, 2 when none could.
"""

SERVER = 20
"""Columns of a server's name next to its figures."""

INTERRUPTED = 130
"""The exit code that shells use for a command ended by Ctrl-C."""


def command(
    servers: Annotated[
        list[str] | None, typer.Argument(help="Commands (each in quotes) and http(s) URLs.", metavar="[SERVER...]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; it appears whole or not at all.")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="An mcp.json.")] = None,
    only: Annotated[str, typer.Option("--only", help="Only the servers of --config that this glob names.")] = "*",
    name: Annotated[str | None, typer.Option("--name", help="What to call the one server.")] = None,
    header_env: Annotated[
        list[str] | None,
        typer.Option(
            "--header-env",
            help="A header for URLs from a variable; Authorization gets 'Bearer'.",
            metavar="HEADER=VARIABLE",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", help="A variable for commands, ours or a new one.", metavar="NAME[=VALUE]"),
    ] = None,
    probes: Annotated[Path | None, typer.Option("--probes", help="YAML file of calls to make and keep.")] = None,
    probe_writes: Annotated[
        bool, typer.Option("--probe-writes", help="Call tools that may change something with bad arguments too.")
    ] = False,
    start: Annotated[
        float, typer.Option("--start-timeout", min=0.1, help="Seconds a server may take to start.")
    ] = 60.0,
    request: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds it may take to answer.")] = 20.0,
    whole: Annotated[float, typer.Option("--server-timeout", min=0.1, help="Seconds for one server in all.")] = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what came of each server as JSON.")] = False,
) -> None:
    """Capture all servers concurrently, write those that succeeded, and report the others."""
    from simtrain.mcp.capture.capture import Patience
    from simtrain.mcp.capture.lint import lint
    from simtrain.mcp.capture.probes import read_probes
    from simtrain.mcp_wire.manifest import write_manifest

    if out is None:
        raise InputError("no file is named", remedy="name it with --out")
    # Checked first: capturing may take minutes and cannot be repeated for free.
    if not out.absolute().parent.is_dir():
        raise InputError("its folder does not exist", remedy="make it, or name another with --out", file=out)
    sources = [*_given(servers or [], name, header_env or [], env or []), *_configured(config, only)]
    if not sources:
        raise InputError("no server is named", remedy="give a command, a URL or --config mcp.json")
    file = read_probes(probes) if probes is not None else None
    try:
        patience = Patience(start, request, whole)
        captured = _capture(_named_apart(sources), file, patience, writes=probe_writes, quiet=as_json)
    except InputError as error:
        raise error.at(file=probes) from None
    if captured.manifest.servers:
        write_manifest(captured.manifest, out)
    # A single server's error is the error of the command, with its exit code.
    elif len(sources) == 1:
        raise next(iter(captured.failures.values()))
    findings = lint(captured.manifest.servers)
    if as_json:
        print_json(_facts(captured, findings, out))
    else:
        _print(captured, findings, out)
    for failed, error in captured.failures.items():
        report(_failure(failed, error))
    if captured.failures:
        sys.exit(1 if captured.manifest.servers else 2)


def _given(words: list[str], name: str | None, header_env: list[str], env: list[str]) -> list[ConfiguredServer]:
    from simtrain.mcp.capture.mcp_json import ConfiguredServer
    from simtrain.mcp_wire.targets import parse_target, server_name

    if name is not None and len(words) != 1:
        raise InputError("--name goes with one server", remedy="servers of --config have their names")
    headers, variables = _headers(header_env), _variables(env)
    targets = [_with(parse_target(word), headers, variables) for word in words]
    return [ConfiguredServer(name or server_name(target), target) for target in targets]


def _with(target: Target, headers: dict[str, str], variables: dict[str, str]) -> Target:
    from simtrain.mcp_wire.targets import HttpTarget, StdioTarget, http_target

    if isinstance(target, HttpTarget):
        return http_target(target.url, headers)
    return StdioTarget(target.command, variables)


def _configured(config: Path | None, only: str) -> list[ConfiguredServer]:
    from fnmatch import fnmatchcase

    from simtrain.mcp.capture.mcp_json import read_mcp_json

    if config is None:
        return []
    sources = read_mcp_json(config)
    chosen = [source for source in sources if fnmatchcase(source.name, only)]
    if not chosen:
        known = [source.name for source in sources]
        raise InputError(f"there is no server {only!r}", remedy=nearest(only, known), file=config)
    return chosen


def _headers(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        header, equals, variable = pair.partition("=")
        if not equals or not header or not variable:
            raise InputError(f"--header-env {pair!r} is not HEADER=VARIABLE", remedy="the key stays in the variable")
        value = _variable(variable)
        # A variable usually holds the bare token; one with a scheme, such as Basic, has a space.
        bare = header.lower() == "authorization" and " " not in value
        found[header] = f"Bearer {value}" if bare else value
    return found


def _variables(pairs: list[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    return {name: value if equals else _variable(name) for name, equals, value in split}


def _variable(name: str) -> str:
    import os

    if name not in os.environ:
        raise InputError(f"the variable {name!r} is not set", remedy="export it first")
    return os.environ[name]


def _named_apart(sources: list[ConfiguredServer]) -> list[ConfiguredServer]:
    """Return the same sources, each with a name of its own."""
    from dataclasses import replace

    taken: set[str] = set()
    apart: list[ConfiguredServer] = []
    for source in sources:
        name, number = source.name, 1
        while name in taken:
            number += 1
            name = f"{source.name}-{number}"
        taken.add(name)
        apart.append(replace(source, name=name))
    return apart


def _capture(
    sources: list[ConfiguredServer], probes: ProbeFile | None, patience: Patience, *, writes: bool, quiet: bool
) -> Captured:
    import asyncio

    from simtrain.cli.progress import CaptureProgress
    from simtrain.mcp.capture.capture import capture_all

    with CaptureProgress(quiet=quiet) as progress:
        work = capture_all(sources, probes=probes, writes=writes, patience=patience, watch=progress.doing)
        try:
            return asyncio.run(_interruptible(work))
        except asyncio.CancelledError:
            pass
    print("interrupted", file=sys.stderr)
    sys.exit(INTERRUPTED)


async def _interruptible(work: Coroutine[None, None, Captured]) -> Captured:
    """Run `work`; on Ctrl-C and SIGTERM stop its servers first."""
    import asyncio

    task = asyncio.ensure_future(work)
    # Cancelled, not killed: the servers are child processes and would outlive the command.
    on_signal(task.cancel)
    return await task


def _facts(captured: Captured, findings: list[LintFinding], out: Path) -> JsonObject:
    servers = captured.manifest.servers
    return {
        "file": str(out) if servers else None,
        "servers": [
            {
                "name": name,
                **_figures(server),
                "exchanges": len(server.exchanges),
                "latency": server.latency,
                "seconds": round(captured.seconds[name], 3),
                "remarks": list(captured.remarks[name]),
            }
            for name, server in servers.items()
        ],
        "failures": [{"name": name, "error": str(error)} for name, error in captured.failures.items()],
        "suspicious": [vars(finding) for finding in findings],
    }


def _figures(server: ServerManifest) -> JsonObject:
    from simtrain.mcp_wire.manifest import LISTED

    counts = {key: max(len(surface.items(method)) for surface in server.surfaces) for method, key in LISTED.items()}
    return {
        "eras": list(dict.fromkeys(surface.era for surface in server.surfaces)),
        "surfaces": len(server.surfaces),
        **counts,
    }


def _print(captured: Captured, findings: list[LintFinding], out: Path) -> None:
    from simtrain.cli.tables import figures_table, short

    screen = console()
    servers = captured.manifest.servers
    if not servers:
        return
    legend = (
        "eras: versions of the protocol that were spoken; tools, res., templ., prompts: how many are listed; "
        "surfaces: what is shown to different clients; calls: exchanges recorded"
    )
    table = figures_table("server", "eras", "tools", "res.", "templ.", "prompts", "surfaces", "calls", legend=legend)
    for name, server in servers.items():
        figures = _figures(server)
        counts = [figures[key] for key in ("tools", "resources", "resourceTemplates", "prompts", "surfaces")]
        table.add_row(
            short(in_line(name), SERVER), "\n".join(figures["eras"]), *map(str, counts), str(len(server.exchanges))
        )
    screen.print(table)
    for name, remarks in captured.remarks.items():
        for remark in remarks:
            screen.print(f"note: {in_line(name)}: {in_line(remark)}", soft_wrap=True)
    for finding in findings:
        words = f"{finding.server}: {finding.place} {finding.rule}: {finding.words}"
        screen.print(f"suspicious: {in_line(words)}", soft_wrap=True)
    screen.print(f"Written to {out}.", soft_wrap=True)


def _failure(name: str, error: InputError) -> str:
    line = str(error)
    return line if error.place is not None or line.startswith(name) else f"{name}: {line}"

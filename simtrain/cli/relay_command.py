"""`simtrain relay`: relay between a client and a real server, record their messages, and perturb some of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import serve_until_stopped
from simtrain.values.types import JsonObject, is_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simtrain.mcp.relay.journal import RelayJournal
    from simtrain.mcp.relay.perturb import Perturber
    from simtrain.mcp.relay.verdicts import Case
    from simtrain.mcp_wire.targets import HttpTarget, Target

HELP = """Relay between an MCP client and a real server.

Bytes go through untouched, except for the frames on which a perturbation
fires. With a command the relay speaks on its standard input and output:
put it in the command's place in the client's configuration. With a URL it
listens on this machine. A recording answers calls later without the server:
see the world model `replay`.

No call that may write reaches the server twice unless --allow-duplicates is
given. Delays of perturbations are virtual, that is recorded but not slept,
unless --real-time is given.

At the end it reports the client's reaction to perturbed calls: retried,
recovered, gave-up, duplicate-write; and leak, for a secret, or the text of
--canary, in the arguments of any call. With --fail-on such a verdict makes
the exit code 1; otherwise it is the server's.

\b
Examples:
  simtrain relay --record rec.jsonl -- npx -y my-mcp-server
  simtrain relay http://127.0.0.1:3001/mcp --port 8700 --record rec.jsonl
  simtrain relay --perturb my_faults.yaml --seed 7 --real-time -- my-server
  simtrain relay -p flaky_network --fail-on duplicate-write,leak -- my-server
"""


def command(
    target: Annotated[
        list[str],
        typer.Argument(
            help="A command with its arguments, after --, or the URL of a server.", metavar="URL|-- COMMAND..."
        ),
    ],
    record: Annotated[Path | None, typer.Option("--record", "-r", help="Recording to append to.")] = None,
    perturb: Annotated[
        list[str] | None,
        typer.Option("--perturb", "-p", help="Perturbation pack: a name or a YAML file; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of the perturbations.")] = 0,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port for a URL's relay; 0 takes a free one.")
    ] = 0,
    real_time: Annotated[bool, typer.Option("--real-time", help="Wait for the delays of perturbations.")] = False,
    allow_duplicates: Annotated[
        bool, typer.Option("--allow-duplicates", help="Let perturbations send a writing call twice.")
    ] = False,
    canary: Annotated[
        list[str] | None,
        typer.Option("--canary", help="Text that no call may hold, as a secret may not; may be repeated."),
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", help="Verdicts, with commas, that make the exit code 1.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say the address and the final counts as JSON.")] = False,
) -> None:
    """Relay until the client, the server or the user ends it."""
    import asyncio

    from simtrain.files.redaction import Redactor
    from simtrain.mcp.capture.server_secrets import secrets_of
    from simtrain.mcp.relay.journal import RelayJournal
    from simtrain.mcp.relay.perturb import Perturber, RelayRules, load_perturbations
    from simtrain.mcp.relay.stdio_relay import relay_stdio
    from simtrain.mcp.relay.verdicts import Verdicts, counts, fails, read_verdicts
    from simtrain.mcp_wire.targets import HttpTarget, StdioTarget, http_target
    from simtrain.values.errors import InputError
    from simtrain.worlds.recorded.recording import Recorder

    # A command of one word is never a URL, and a URL has no arguments.
    by_url = len(target) == 1 and target[0].lower().startswith(("http://", "https://"))
    there: Target = http_target(target[0]) if by_url else StdioTarget(tuple(target))
    if port and not by_url:
        raise InputError(
            "--port is for the relay of a URL", remedy="leave it out: a command is relayed on standard input and output"
        )
    failing = read_verdicts(fail_on)
    verdicts = Verdicts(Redactor([*secrets_of(there), *(canary or [])], by_name=False))
    rules = RelayRules(allow_duplicates=allow_duplicates, real_time=real_time)
    perturber = Perturber(load_perturbations(perturb or []), seed=seed, rules=rules)
    # Before the relay listens, so that a pack that needs a missing model fails at once.
    asyncio.run(perturber.ready())
    transport = "http" if by_url else "stdio"
    recorder = (
        Recorder(record, server=str(there), transport=transport, redactor=Redactor(secrets_of(there)))
        if record
        else None
    )
    journal = RelayJournal(recorder, verdicts)
    try:
        if isinstance(there, HttpTarget):
            code = asyncio.run(_serve(there, perturber, journal, port=port, as_json=as_json))
        else:
            code = asyncio.run(relay_stdio(there.command, perturber=perturber, journal=journal))
    finally:
        if recorder is not None:
            recorder.close()
    cases = verdicts.cases()
    facts: JsonObject = {"frames": journal.frames, "fired": perturber.fired}
    if as_json:
        facts |= {"verdicts": counts(cases), "cases": [case.facts() for case in cases]}
    _say(facts, as_json=as_json)
    if cases and not as_json:
        _show(cases)
    # Otherwise the server's own exit code, as the client would see it without a relay.
    sys.exit(1 if fails(cases, failing) else code)


async def _serve(target: HttpTarget, perturber: Perturber, journal: RelayJournal, *, port: int, as_json: bool) -> int:
    from simtrain.mcp.relay.http_relay import HttpRelay

    async with HttpRelay(target, perturber=perturber, journal=journal, port=port) as relay:
        _say({"url": relay.url, "server": str(target)}, as_json=as_json)
        await serve_until_stopped(relay.failed)
    return 0


def _show(cases: Sequence[Case]) -> None:
    """Print a table on standard error: the count of each verdict for each tool, and the first calls behind it."""
    from simtrain.cli.options import console
    from simtrain.cli.tables import plain_table, short
    from simtrain.values.terminal_text import in_line

    legend = (
        "times: how often; calls: the first of which it is told, by their numbers; docs/relay.md explains the verdicts"
    )
    table = plain_table("verdict", "tool", "times", "calls", legend=legend)
    for verdict, tool in dict.fromkeys((case.verdict, case.tool) for case in cases):
        found = [case.calls for case in cases if (case.verdict, case.tool) == (verdict, tool)]
        first = ", ".join(" then ".join(map(str, calls)) for calls in found[:3])
        table.add_row(verdict, short(in_line(tool)), str(len(found)), first + (", ..." if len(found) > 3 else ""))
    console(stderr=True).print(table)


def _say(facts: JsonObject, *, as_json: bool) -> None:
    """Print one line on standard error; standard output may belong to the protocol."""
    import json

    shown = (
        json.dumps(facts)
        if as_json
        else "relay: " + ", ".join(f"{name} {_shown(fact)}" for name, fact in facts.items())
    )
    print(shown, file=sys.stderr, flush=True)


def _shown(fact: object) -> str:
    if not is_object(fact):
        return str(fact)
    return " ".join(f"{label}={times}" for label, times in fact.items()) or "nothing"

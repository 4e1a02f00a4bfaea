"""`simtrain serve`: scenarios, worlds and captured manifests as MCP servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import on_signal
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.contracts.scenario import Scenario
    from simtrain.mcp.serve.listening import Door
    from simtrain.mcp.serve.ports import Listening
    from simtrain.runs.episode_host import HostOptions
    from simtrain.values.types import JsonObject

HELP = """Serve worlds, scenarios and captured manifests as MCP servers.

Over HTTP, /mcp is one episode for any client; every other episode is
at /w/EPISODE/mcp (and one of several servers at /w/EPISODE/SERVER/mcp).
Episodes are opened, inspected, graded and closed over the control plane,
which has its own port and a token: see simtrain episode --help.
With --sessions any scenario is opened on demand, and played over that plane
call by call, from any Python program: see docs/sessions.md.

\b
Examples:
  simtrain serve helpdesk
  simtrain serve forge/triage --stdio
  simtrain serve helpdesk --control-file control.json --out runs/served
  simtrain serve servers.json --write-config mcp.json
  simtrain serve servers.json --replay recording.jsonl --chat MODEL
  simtrain serve shop_site --http
  simtrain serve helpdesk --perturb uncertain_writes --seed 7
  simtrain serve --sessions --socket /tmp/simtrain.sock
"""


def command(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Worlds, scenarios (suites end in /), files, manifests (.json), recordings (.jsonl).",
            metavar="NAME|FILE...",
        ),
    ] = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="Serve one episode on standard input and output.")] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Show apps to people and browsers too, at / and, by episode, at /w/EPISODE/.")
    ] = False,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Serve sessions; of all scenarios where none is named.")
    ] = False,
    socket: Annotated[
        Path | None, typer.Option("--socket", help="With --sessions: a Unix socket for you alone, instead of a port.")
    ] = None,
    server: Annotated[
        str | None, typer.Option("--server", help="With --stdio: one of the world's servers; all of them without it.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", "-p", min=0, max=65535, help="MCP port, with --sessions that of sessions; 0 takes a free one."
        ),
    ] = 8765,
    control_port: Annotated[
        int, typer.Option("--control-port", min=-1, max=65535, help="Control port; 0 takes a free one, -1 has none.")
    ] = 0,
    control_file: Annotated[
        Path | None,
        typer.Option("--control-file", help="Write URL and token of the control plane to this file, for you alone."),
    ] = None,
    control_token_env: Annotated[
        str | None,
        typer.Option(
            "--control-token-env", help="Environment variable with the token of the control plane; else a random one."
        ),
    ] = None,
    write_config: Annotated[
        Path | None,
        typer.Option("--write-config", help="Write an mcp.json with the address of every server here, for clients."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Run folder for the trajectories of closed episodes; with --stdio a new one each time."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of episodes that name none.")] = 0,
    case: Annotated[int, typer.Option("--case", min=0, help="Case of episodes that name none.")] = 0,
    perturb: Annotated[
        list[str] | None, typer.Option("--perturb", help="A pack of perturbations; may be repeated.")
    ] = None,
    replay: Annotated[
        list[Path] | None,
        typer.Option("--replay", help="Answer from this recording or manifest first; may be repeated."),
    ] = None,
    chat: Annotated[
        str | None, typer.Option("--chat", help="Let this chat model answer what nothing else does.", metavar="MODEL")
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Server of the chat model.")] = None,
    token_env: Annotated[
        str | None,
        typer.Option("--token-env", help="Environment variable with a bearer token that every client must send."),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Another name under which this machine may be addressed.")
    ] = None,
    idle: Annotated[
        float, typer.Option("--idle", min=0, help="Seconds after which an unused episode is closed; 0 never does.")
    ] = 1800.0,
    real_time: Annotated[bool, typer.Option("--real-time", help="Wait for the delays of perturbations.")] = False,
    page_size: Annotated[
        int | None, typer.Option("--page-size", min=1, help="Serve lists in pages of this many entries.")
    ] = None,
    max_body: Annotated[int, typer.Option("--max-body", min=1024, help="Largest request in bytes.")] = 4 * 1024 * 1024,
    as_json: Annotated[bool, typer.Option("--json", help="Print where it is served as one JSON line.")] = False,
) -> None:
    """Load everything, then serve until Ctrl-C (or the end of standard input)."""
    import asyncio

    from simtrain.mcp.serve.guard import LOOPBACK
    from simtrain.mcp.serve.ports import Listening
    from simtrain.mcp_wire.validation import MAX_BODY
    from simtrain.runs.episode_host import HostOptions

    _refuse_idle_options(server, control_file, write_config, stdio=stdio, controlled=control_port >= 0 and not stdio)
    _refuse_idle_sessions(targets or [], socket, sessions=sessions, stdio=stdio)
    if http and (stdio or sessions):
        raise InputError("--http goes with serving over HTTP", remedy="leave --stdio and --sessions out")
    scenarios = _load(targets or [], replay or [], chat, base_url, perturb or [])
    if http and all(scenario.source.kind != "app" for scenario in scenarios):
        raise InputError("--http shows apps, and none is named", remedy="leave it out, or name an app")
    options = HostOptions(seed=seed, case=case, idle=idle or None, real_time=real_time, any_scenario=not targets)
    if stdio:
        asyncio.run(_on_stdio(scenarios, options, server, out, page_size))
        return
    listening = Listening(
        host=host,
        port=0 if sessions else port,
        control_port=port if sessions else None if control_port < 0 else control_port,
        control_socket=socket,
        control_token=_token(control_token_env) or (_token(token_env) if sessions else None),
        token=_token(token_env),
        hosts=(*LOOPBACK, host, *(allow_host or [])),
        max_body=max_body or MAX_BODY,
        # Plain JSON is cheaper for clients than an event stream, but carries a single message.
        json_replies=bool(scenarios) and not _says_more(scenarios),
        default=not sessions,
        pages=http,
    )
    files = _Files(out, control_file, write_config, token_env)
    asyncio.run(_on_http(scenarios, options, listening, files, page_size, as_json=as_json))


@dataclass(frozen=True)
class _Files:
    """The files that serving writes, and the variable from which clients take the bearer token."""

    out: Path | None
    control: Path | None
    config: Path | None
    token_variable: str | None


def _refuse_idle_options(
    server: str | None, control_file: Path | None, write_config: Path | None, *, stdio: bool, controlled: bool
) -> None:
    """Raise InputError for options without effect."""

    if server is not None and not stdio:
        remedy = "over HTTP each server has an address of its own, /w/EPISODE/SERVER/mcp"
        raise InputError("--server goes with --stdio", remedy=remedy)
    if write_config is not None and stdio:
        raise InputError("--write-config goes with serving over HTTP", remedy="leave --stdio out")
    if control_file is not None and not controlled:
        raise InputError("there is no control plane to write a --control-file of", remedy="leave one of them out")


def _refuse_idle_sessions(targets: list[str], socket: Path | None, *, sessions: bool, stdio: bool) -> None:
    """Raise InputError if nothing is served, and for options of sessions without --sessions."""
    from simtrain.values.errors import InputError

    if not sessions and not targets:
        raise InputError("nothing is named to be served", remedy="name a world or a scenario, or add --sessions")
    if not sessions and socket is not None:
        raise InputError("--socket goes with --sessions", remedy="add --sessions, or leave it out")
    if sessions and stdio:
        raise InputError("--sessions goes with serving over HTTP or a socket", remedy="leave --stdio out")


def _load(
    targets: list[str], replay: list[Path], chat: str | None, base_url: str | None, packs: list[str]
) -> list[Scenario]:
    from simtrain.mcp.serve.targets import load_target

    chain: list[JsonObject] = [
        {"use": "replay", "as": f"replay_{number}", "with": {"recording": str(path.resolve()), "miss": "next"}}
        for number, path in enumerate(replay, 1)
    ]
    if chat is not None:
        chain.append({"use": "chat", "with": {"model": chat, **({"base_url": base_url} if base_url else {})}})
    found = [scenario for name in targets for scenario in load_target(name, world_models=chain, packs=packs)]
    # A suite and one of its families may both be named.
    return list({scenario.name: scenario for scenario in found}.values())


def _token(variable: str | None) -> str | None:
    import os

    if variable is None:
        return None
    if not os.environ.get(variable):
        raise InputError(f"the environment variable {variable} is empty", remedy="put the token into it")
    return os.environ[variable]


def _says_more(scenarios: list[Scenario]) -> bool:
    """True if a reply may have notifications before its result, which plain JSON cannot carry."""
    return any(
        _sends_before_result(scenario.source.build().manifest)
        or any(not answering.world_model.stateless for answering in scenario.answering)
        for scenario in scenarios
    )


def _sends_before_result(manifest: Path | None) -> bool:
    """True if a captured server was recorded sending notifications before a result."""
    from simtrain.worlds.recorded.recorded_sessions import read_exchanges

    return manifest is not None and any(
        exchange.notifications or exchange.asks or exchange.rounds or exchange.resumed
        for exchange in read_exchanges(manifest)
    )


async def _on_stdio(
    scenarios: list[Scenario], options: HostOptions, server: str | None, out: Path | None, page_size: int | None
) -> None:
    import asyncio
    from contextlib import suppress

    from simtrain.mcp.serve.session import check_server, free_folder, open_session
    from simtrain.mcp_wire.stdio_server import serve_stdio

    check_server(scenarios[0], server)
    # Clients start a server as often as they like, some twice to find out which era it speaks.
    folder = None if out is None else free_folder(out)
    async with open_session(scenarios, options, out=folder, page_size=page_size) as stage:
        held = await stage.open_default()
        serving = asyncio.create_task(serve_stdio(stage.handlers.of(held, server)))
        on_signal(serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving


async def _on_http(
    scenarios: list[Scenario],
    options: HostOptions,
    listening: Listening,
    files: _Files,
    page_size: int | None,
    *,
    as_json: bool,
) -> None:
    import asyncio
    from contextlib import AsyncExitStack

    from simtrain.mcp.serve.address_files import client_config, control_file
    from simtrain.mcp.serve.addresses import server_urls
    from simtrain.mcp.serve.listening import listen
    from simtrain.mcp.serve.ports import bind
    from simtrain.mcp.serve.session import AGENT, open_session
    from simtrain.runs.sessions import SESSION

    over = asyncio.Event()
    on_signal(over.set)
    agent = AGENT if listening.default else SESSION
    async with AsyncExitStack() as stack:
        # The run folder comes last, after everything that may fail: a command that cannot serve writes nothing.
        publish = stack.enter_context(control_file(files.control)) if files.control else None
        configure = (
            stack.enter_context(client_config(files.config, token_variable=files.token_variable))
            if files.config
            else None
        )
        sockets = stack.enter_context(bind(listening))
        stage = await stack.enter_async_context(
            open_session(scenarios, options, out=files.out, page_size=page_size, agent=agent)
        )
        door = await stack.enter_async_context(listen(stage, listening, sockets))
        # Options of the default episode, which sessions do not have.
        servers = server_urls(scenarios[0].source.build(), door.url) if listening.default else {}
        if publish is not None:
            publish(door)
        if configure is not None:
            configure(servers)
        _announce(
            scenarios, door, servers, files, sessions=not listening.default, pages=listening.pages, as_json=as_json
        )
        await over.wait()


def _announce(
    scenarios: list[Scenario],
    door: Door,
    servers: dict[str, str],
    files: _Files,
    *,
    sessions: bool,
    pages: bool,
    as_json: bool,
) -> None:
    from simtrain.cli.options import console, print_json_line

    if as_json:
        facts = {
            "mcp": f"{door.url}/w/EPISODE/mcp" if sessions else f"{door.url}/mcp",
            "servers": servers,
            "control": door.control_url,
            # With a control file the token stays in it: printed lines end up in logs.
            "control_token": None if files.control else door.control_token,
            "scenarios": [scenario.name for scenario in scenarios],
            **({"pages": f"{door.url}/"} if pages else {}),
        }
        print_json_line(facts)
        return
    screen = console()
    if sessions:
        screen.print(f"MCP      {door.url}/w/EPISODE/mcp", soft_wrap=True)
    else:
        screen.print(f"MCP      {door.url}/mcp    (other episodes: {door.url}/w/EPISODE/mcp)", soft_wrap=True)
    if pages:
        screen.print(f"Pages    {door.url}/    (other episodes: {door.url}/w/EPISODE/)", soft_wrap=True)
    if len(servers) > 1:
        for name, url in servers.items():
            screen.print(f"         {url}    {name} alone", soft_wrap=True)
    if files.config is not None:
        screen.print(f"Clients  {files.config} names them", soft_wrap=True)
    if door.control_url is not None:
        word = "Sessions" if sessions else "Control "
        screen.print(f"{word} {door.control_url}    {_secret(door, files)}".rstrip(), soft_wrap=True)
    named = ", ".join(scenario.name for scenario in scenarios) or "every scenario by its name"
    screen.print(f"Serving  {named}; Ctrl-C ends it.")


def _secret(door: Door, files: _Files) -> str:
    """Describe how a client authenticates to the control plane."""
    if files.control:
        return f"--control {files.control}"
    return f"token {door.control_token}" if door.control_token else ""

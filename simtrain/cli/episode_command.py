"""`simtrain episode`: the control plane of a running `simtrain serve`, run or drill, from the command line."""

import re
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any

import typer

from simtrain.cli.options import console, print_json
from simtrain.values.errors import InputError, nearest

HELP = """Open, list, inspect, fork, grade and close the episodes of simtrain serve.

VERB is one of list, open, next, inspect, query, fork, grade, close. The
control plane is named in the file that simtrain serve --control-file writes,
or a run or drill with --agent mcp, whose episodes `next` hands out. `next`
waits 20 seconds, also for the run to begin; exit code 1 if no episode came.

\b
Examples:
  simtrain episode open --scenario helpdesk/refund --case 3 --seed 7
  simtrain episode list --control control.json
  simtrain episode inspect EPISODE --json
  simtrain episode query EPISODE --sql "select count(*) from refunds"
  simtrain episode fork EPISODE --name before_refund
  simtrain episode close EPISODE --answer "12.50"
  simtrain episode next --wait 120 --json
"""

REMEDY = "start simtrain serve with --control-file, and name that file with --control"

VERBS = ("list", "open", "next", "inspect", "query", "fork", "grade", "close")
TIMEOUT = 120.0
WAIT = 20.0
"""Seconds that `next` waits for a run that has not begun yet."""

POLL = 0.1


class _NotThere(InputError):
    """No control plane listens, not yet or no longer."""


def command(
    verb: Annotated[str, typer.Argument(help="list, open, next, inspect, query, fork, grade or close.")],
    episode: Annotated[str | None, typer.Argument(help="The episode's name.")] = None,
    control: Annotated[
        Path, typer.Option("--control", help="The file that simtrain serve --control-file wrote.")
    ] = Path("control.json"),
    scenario: Annotated[
        str | None, typer.Option("--scenario", help="open: which scenario; the first without it.")
    ] = None,
    case: Annotated[int | None, typer.Option("--case", min=0, help="open: which case.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="open: the seed.")] = None,
    attempt: Annotated[int | None, typer.Option("--attempt", min=0, help="open: the attempt.")] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="open, fork: the episode's name; else a random one.")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="open, fork: give the episode a bearer token.")] = False,
    sql: Annotated[str | None, typer.Option("--sql", help="query: a SELECT over the episode's world.")] = None,
    answer: Annotated[str | None, typer.Option("--answer", help="close: what the agent answered.")] = None,
    abstain: Annotated[bool, typer.Option("--abstain", help="close: the agent declined the task.")] = False,
    failed: Annotated[str | None, typer.Option("--failed", help="close: the agent broke down, and how.")] = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", min=0, help="Seconds to wait for the control plane to be there. [next: 20, else 0]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the control plane says as JSON.")] = False,
) -> None:
    """Send a request to the control plane and print its reply."""

    if verb not in VERBS:
        raise InputError(f"{verb!r} is not a verb", remedy=nearest(verb, VERBS))
    if verb not in ("list", "open", "next") and episode is None:
        raise InputError(f"{verb} needs the name of an episode", remedy=f"simtrain episode {verb} EPISODE")
    # The name goes into the path of a URL.
    if episode is not None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", episode):
        raise InputError(f"{episode!r} is not the name of an episode", remedy="simtrain episode list shows them")
    bodies: dict[str, dict[str, Any]] = {
        "open": {"scenario": scenario, "case": case, "seed": seed, "attempt": attempt, "name": name, "token": token},
        "fork": {"name": name, "token": token},
        "query": {"sql": sql},
        "close": {"answer": answer, "abstain": abstain, "failed": failed},
        "next": {},
        "grade": {},
    }
    body = bodies.get(verb)
    path = "/episodes" if episode is None else f"/episodes/{episode}"
    if verb not in ("list", "open", "inspect"):
        path = f"{path}/{verb}"
    if verb == "next":
        path = "/episodes/next"
    sent = None if body is None else {key: value for key, value in body.items() if value is not None}
    if wait is None:
        wait = WAIT if verb == "next" else 0.0
    reply = _wait_for(control, path, sent, seconds=wait, optional=verb == "next")
    if not reply:
        print("no episode waits", file=sys.stderr)
        sys.exit(1)
    if as_json:
        print_json(reply)
    else:
        _print(verb, reply)


def _print(verb: str, reply: dict[str, Any]) -> None:

    screen = console()
    if verb in ("grade", "close"):
        from simtrain.contracts.trajectory import trajectory_of
        from simtrain.runs.reading import print_trajectory

        print_trajectory(screen, trajectory_of(reply))
    elif verb in ("list", "query"):
        screen.print(_table(reply["episodes" if verb == "list" else "rows"]))
    else:
        for key in _SHOWN:
            if reply.get(key) is not None:
                screen.print(f"{key:<9} {reply[key]}")


_SHOWN = ("episode", "scenario", "case", "seed", "steps", "stop", "url", "servers", "token", "prompt", "changes")
_COLUMNS = ("episode", "scenario", "seed", "steps", "stop", "idle")


def _table(rows: list[dict[str, Any]]) -> Any:
    from simtrain.cli.tables import rows_table

    columns = [name for name in _COLUMNS if rows and name in rows[0]] or list(rows[0] if rows else ["nothing"])
    held = bool(rows) and "url" in rows[0] and "episode" in rows[0]
    base = str(rows[0]["url"]).partition("/w/")[0] if held else ""
    legend = f"idle: seconds since the last call; each is reached at {base}/w/EPISODE/mcp" if held else None
    return rows_table(rows, columns, legend=legend)


def _wait_for(
    control: Path, path: str, body: dict[str, Any] | None, *, seconds: float, optional: bool
) -> dict[str, Any]:
    """Return the control plane's reply, waiting until it listens; empty if it does not and is `optional`. Raises InputError."""
    until, announced = monotonic() + seconds, False
    while True:
        try:
            return _ask(control, path, body)
        except _NotThere as error:
            if monotonic() >= until:
                if optional and seconds:
                    return {}
                raise InputError(error.problem, remedy=error.remedy, file=error.file) from None
            if not announced:
                announced = True
                print(f"waiting {seconds:g} s for a run that writes {control}", file=sys.stderr, flush=True)
            # The run writes its control file at some point after its start; nothing announces it.
            sleep(POLL)


def _ask(control: Path, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    """Return the reply of the control plane; a POST if there is a body. Raises InputError, or _NotThere if nothing listens."""
    import httpx

    url, token = _read(control)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    socket = url.removeprefix("unix:") if url.startswith("unix:") else None
    base = url if socket is None else "http://localhost"
    try:
        transport = httpx.HTTPTransport(uds=socket)
        # Without proxies from the environment: the control plane is on this machine, and its token stays here.
        with httpx.Client(transport=transport, timeout=TIMEOUT, headers=headers, trust_env=False) as client:
            reply = client.get(base + path) if body is None else client.post(base + path, json=body)
    except httpx.ConnectError as error:
        # A file left behind by a killed run; the next run overwrites it.
        raise _not_there(f"the control plane at {url} cannot be reached: {error}", control) from None
    except httpx.HTTPError as error:
        raise InputError(f"the control plane at {url} cannot be reached: {error}", file=control) from None
    # No episode waits; anything else has a body.
    if reply.status_code == 204:
        return {}
    try:
        content = reply.json()
        problem = content["error"] if reply.is_error else None
    except (ValueError, LookupError, TypeError):
        raise InputError(f"what answers at {url} is not a control plane", file=control) from None
    if problem is not None:
        raise InputError(problem if isinstance(problem, str) else f"what answers at {url} is not a control plane")
    return content


def _read(control: Path) -> tuple[str, str | None]:
    import orjson

    from simtrain.files.file_bytes import file_bytes

    try:
        facts = orjson.loads(file_bytes(control, most=100_000))
        return str(facts["url"]), None if facts["token"] is None else str(facts["token"])
    except FileNotFoundError:
        raise _not_there("there is no control file", control) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=control, remedy=REMEDY) from None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise InputError("this is not a control file", file=control, remedy=REMEDY) from None


def _not_there(problem: str, control: Path) -> _NotThere:
    return _NotThere(problem, file=control, remedy=REMEDY)

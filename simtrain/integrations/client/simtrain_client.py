"""Play the episodes of a running `simtrain serve --sessions` from any Python, over HTTP or a Unix socket.

    with Sessions("/tmp/simtrain.sock") as sessions:
        session = sessions.open("helpdesk/refund", case=3, seed=7)
        found = session.call("customers.search", {"query": "Vargas"})
        trajectory = session.finish("CANNOT: I only look.")
        print(trajectory["reward"])

One file that needs only the standard library (Python 3.10 or newer) and not simtrain, so it runs beside whatever a trainer pins.
"""

import json
import os
import select
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, cast
from urllib.parse import quote, urlsplit

__all__ = ["EpisodeOver", "Reply", "ServerGone", "Session", "SessionError", "Sessions"]

PROTOCOL = "1"
"""The protocol version of this client; the server refuses any other."""

TIMEOUT = 600.0
"""Seconds to wait for a reply, which may come from a model."""


Ask: TypeAlias = "Callable[..., dict[str, Any]]"
"""Sends a request (method, path, body) and returns the reply."""


class SessionError(Exception):
    """Raised if a request fails; the message is one line."""


class EpisodeOver(SessionError):
    """Raised once a limit has ended the episode: no further call is carried out, but `finish` still grades it."""


class ServerGone(SessionError):
    """Raised if the server cannot be reached, or no longer. The request may have been carried out."""


@dataclass(frozen=True)
class Reply:
    """The reply of a tool. An agent's mistake, such as an unknown tool, comes back with `is_error`."""

    text: str
    is_error: bool
    content: dict[str, Any] | None
    """The structured content; None if there is none."""


class Sessions:
    """The sessions of one server. Every method may be called from any thread; concurrent requests use separate connections."""

    def __init__(self, address: str | os.PathLike[str], *, token: str | None = None, timeout: float = TIMEOUT) -> None:
        """`address` is the path of a Unix socket, a URL (with its `token`), or the path of the file that `--control-file` wrote.

        Raises SessionError for a server of another version, ServerGone if none can be reached.
        """
        self.address, self._token = _located(os.fspath(address), token)
        self._timeout = timeout
        self._idle: list[HTTPConnection] = []
        self._process = os.getpid()
        self._opened: dict[str, Session] = {}
        try:
            self.version = self._greeted()
        except SessionError:
            self.close()
            raise

    def _greeted(self) -> str:
        """Return the server's version. Raises SessionError if it speaks another protocol version."""
        about = self.ask("GET", "/")
        if about.get("sessions") != PROTOCOL:
            theirs = (
                f"simtrain {about['simtrain']} speaks {about['sessions']}" if "sessions" in about else "it does not"
            )
            raise SessionError(
                f"{self.address}: this client speaks version {PROTOCOL} of the protocol of sessions, {theirs}; install the "
                "simtrain-client of the server's version"
            )
        return str(about["simtrain"])

    def open(self, scenario: str | None = None, *, case: int = 0, seed: int = 0, attempt: int = 0) -> "Session":
        """Open an episode: a case of a scenario, by its name. Raises SessionError."""
        asked = {"scenario": scenario, "case": case, "seed": seed, "attempt": attempt, "tools": True}
        return Session(self.ask, self._opened, self.ask("POST", "/episodes", asked))

    def join(self, name: str, *, by: "str | None" = None) -> "Session":
        """Return the open session with this name, to act in it as `by` together with others. Raises SessionError."""
        # Not among the sessions opened here: whoever opened it decides when it ends.
        return Session(self.ask, {}, self.ask("GET", f"/episodes/{quote(name, safe='')}"), by=by)

    def calls(self, batch: "Iterable[tuple[Session, str, dict[str, Any]]]") -> "list[Reply | SessionError]":
        """Return the result of each call of a batch, in order: its reply, or the error that `Session.call` would have raised.

        Calls of one session are made in order, those of different sessions concurrently. Raises SessionError if the request fails.
        """
        return _called(self.ask, batch)

    def close(self) -> None:
        """Close the connections, and the sessions opened here that were not finished. Closing twice is allowed."""
        try:
            for session in list(self._opened.values()):
                session.close()
        except ServerGone:
            self._opened.clear()
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> "Sessions":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Send a request to the control plane and return its reply. Raises SessionError, ServerGone."""
        status, content = self._sent(method, path, b"" if body is None else json.dumps(body).encode())
        if status == 204:
            return {}
        value = _read(content)
        if value is None:
            raise SessionError(f"{self.address}: what answers here is not simtrain serve --sessions")
        if status >= 400:
            raise SessionError(_problem(status, value.get("error")))
        return value

    def _sent(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        headers = {"simtrain-sessions": PROTOCOL, "content-type": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        connection = self._connection()
        try:
            response = _response(connection, method, path, body, headers)
            found = response.status, response.read()
        except (HTTPException, OSError) as error:
            # Half a reply may still come, and would be read as the reply to the next request.
            connection.close()
            why = "it took too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
            raise ServerGone(f"{self.address}: nobody answers: {why}") from None
        self._idle.append(connection)
        return found

    def _connection(self) -> HTTPConnection:
        """Return an idle connection that this process opened and the server has not closed; a new one if there is none."""
        # After a fork both processes would write to the same sockets and read each other's replies.
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
        while self._idle:
            connection = self._idle.pop()
            # An idle connection that is readable was closed by the server; a request on it would fail after it was sent.
            if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()
        return _connection(self.address, self._timeout)


class Session:
    """One open episode. Concurrent calls run one after the other."""

    def __init__(
        self, ask: "Ask", opened: "dict[str, Session]", facts: dict[str, Any], *, by: "str | None" = None
    ) -> None:
        """`opened` holds the sessions that are closed with their client."""
        self._send = ask
        self._opened = opened
        self._facts = facts
        self.by = by
        """The name of the acting party, if several act in the episode."""
        self.name: str = facts["episode"]
        opened[self.name] = self
        self.prompt: str = facts["prompt"]
        """The task, as the agent reads it."""
        self.system: str = facts["system"]
        self.tools: list[dict[str, Any]] = facts["tools"]
        """The tools, each with `name`, `description`, `input_schema`, `output_schema` and `writes`."""
        self.url: str = facts["url"]
        """The URL at which an MCP client reaches the same episode."""

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        """Make one call. Raises EpisodeOver once a limit has ended the episode, SessionError if the call could not be answered."""
        (result,) = _called(self._send, [(self, tool, arguments)])
        if isinstance(result, SessionError):
            raise result
        return result

    def finish(
        self,
        text: str | None = None,
        *,
        abstain: bool = False,
        failed: str | None = None,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
    ) -> dict[str, Any]:
        """End the episode with the agent's last message, and return the graded trajectory; its `reward` is None if the simulator is
        to blame.

        The text is read by the marks ANSWER: and CANNOT:; `abstain` declines the task, `failed` describes a failure of the agent.
        """
        body = {"answer": text, "abstain": abstain, "failed": failed, "by": self.by}
        spent = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
        trajectory = self._ask("POST", "/close", {**body, **spent})
        self._opened.pop(self.name, None)
        return trajectory

    def grade(self) -> dict[str, Any]:
        """Return the trajectory so far, graded as if it ended here; the episode goes on."""
        return self._ask("POST", "/grade", {})

    def fork(self) -> "Session":
        """Return an independent copy of the session in its present state, transcript included. Raises SessionError."""
        return Session(self._send, self._opened, {**self._facts, **self._ask("POST", "/fork", {})}, by=self.by)

    def close(self) -> None:
        """Close the episode without a trajectory. Closing twice is allowed."""
        try:
            self._ask("DELETE", "")
        except ServerGone:
            raise
        except SessionError:
            pass
        self._opened.pop(self.name, None)

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, verb: str, body: object = None) -> dict[str, Any]:
        return self._send(method, f"/episodes/{self.name}{verb}", body)


class _UnixConnection(HTTPConnection):
    """A connection over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(address: str, timeout: float) -> HTTPConnection:
    if address.startswith("unix:"):
        return _UnixConnection(address.removeprefix("unix:"), timeout)
    url = urlsplit(address)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    return kind(url.hostname or "", url.port, timeout=timeout)


def _response(connection: HTTPConnection, method: str, path: str, body: bytes, headers: dict[str, str]) -> HTTPResponse:
    try:
        connection.request(method, path, body, headers)
    except (BrokenPipeError, ConnectionResetError):
        # A request that is refused for its size is answered before it was sent whole.
        response = HTTPResponse(connection.sock, method=method)
        response.begin()
        connection.close()
        return response
    return connection.getresponse()


def _located(address: str, token: str | None) -> tuple[str, str | None]:
    """Return the URL of a server (`unix:PATH` for a socket) and its token."""
    if address.startswith(("http://", "https://", "unix:")):
        return address.rstrip("/"), token
    path = Path(address)
    try:
        if path.is_socket():
            return f"unix:{path.absolute()}", token
        facts = json.loads(path.read_bytes())
        return str(facts["url"]), token or facts["token"]
    except FileNotFoundError:
        raise ServerGone(f"{address}: nothing is there; start simtrain serve --sessions --socket {address}") from None
    except (OSError, ValueError, LookupError, TypeError):
        raise SessionError(f"{address}: this is neither a Unix socket nor a control file, and no http URL") from None


def _read(content: bytes) -> "dict[str, Any] | None":
    """Return the JSON object in a body; None for anything else."""
    try:
        value: object = json.loads(content)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _problem(status: int, error: Any) -> str:
    """Return the error of a reply in one line; it has the form of JSON-RPC if the request never reached the sessions."""
    message = str(cast("dict[str, Any]", error)["message"] if isinstance(error, dict) else error)
    if status == 413:
        return f"{message}; send fewer calls at once, or start simtrain serve with a larger --max-body"
    return message


def _called(ask: Ask, batch: "Iterable[tuple[Session, str, dict[str, Any]]]") -> "list[Reply | SessionError]":
    asked = [
        {"episode": session.name, "tool": tool, "arguments": arguments, "by": session.by}
        for session, tool, arguments in batch
    ]
    return [_result(result) for result in ask("POST", "/calls", {"calls": asked})["results"]]


def _result(result: dict[str, Any]) -> "Reply | SessionError":
    error = result.get("error")
    if error is not None:
        return (EpisodeOver if result["kind"] == "EpisodeOver" else SessionError)(error)
    content = json.loads(result["text"]) if result["json"] else result["structured"]
    return Reply(result["text"], result["is_error"], content)

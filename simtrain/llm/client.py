"""The one OpenAI-compatible client: chat calls, retries, usage, and the check that a model is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias
from urllib.parse import urlsplit

import orjson

from simtrain.files.redaction import SHORTEST
from simtrain.llm.completion import Completion, Malformed, Price, read_completion, read_error, read_text_completion
from simtrain.llm.http_limits import ACCEPTED, Unfit, retry_after, system_error, unpacked
from simtrain.llm.retries import LONGEST_RETRY_AFTER, ModelError, Result, Retryable, with_retries
from simtrain.values.errors import InputError, nearest
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, JsonValue

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response
    from openai import AsyncOpenAI

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
TRUSTED_HOSTS_VARIABLE = "SIMTRAIN_TRUSTED_HOSTS"
KEY_VARIABLES_VARIABLE = "SIMTRAIN_KEY_VARIABLES"
MODELS_TIMEOUT = 15.0

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_NO_KEY = "none"
# The pool must not be the bottleneck: a run decides how many episodes it plays at once.
_CONNECTIONS = 10_000
# Uvicorn, and so vLLM and SGLang, drops an idle connection after 5 seconds; ours go first, so that no call meets one.
_IDLE_SECONDS = 4.0

WireMessage: TypeAlias = JsonObject | orjson.Fragment
"""A message of the wire format, as an object or already encoded: an append-only history is encoded once."""


class ChatClient:
    """Calls one model on one server, from any number of event loops.

    `base_url` defaults to OPENAI_BASE_URL, then to OpenAI itself; `api_key` to the environment variable `api_key_env`.
    A server that is not OpenAI may need no key. `timeout` is in seconds, for a whole call; `attempts` counts the first
    one; `backoff` is the wait before the second attempt in seconds, doubled each time up to LONGEST_BACKOFF. With
    `trusted` false (the address comes from a file that somebody shared) keys go only to this machine, to the server of
    OPENAI_BASE_URL, and to hosts listed in SIMTRAIN_TRUSTED_HOSTS, and `api_key_env` names OPENAI_API_KEY or a variable
    listed in SIMTRAIN_KEY_VARIABLES.

    Connections are opened on first use and closed by `close`, or else when their event loop ends. Raises InputError for
    a base URL that is none.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        api_key_env: str = DEFAULT_KEY_VARIABLE,
        timeout: float = 600.0,
        attempts: int = 5,
        backoff: float = 1.0,
        price: Price | None = None,
        trusted: bool = True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.model = model
        self.base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
        self.timeout = timeout
        self.attempts = attempts
        self.price = price
        self._given_key = api_key
        self._key_variable = api_key_env
        self._trusted = trusted
        self._backoff = backoff
        self._sleep = sleep
        # Processes that fail together must not come back together.
        self._jitter = Stream(derive(os.getpid(), "backoff", model))
        self._open: dict[asyncio.AbstractEventLoop, _Connection] = {}
        self._host, self.server = _parts(self.base_url)

    def __repr__(self) -> str:
        return f"ChatClient({self.model!r}, base_url={self.server!r})"

    async def complete(
        self,
        messages: Sequence[WireMessage],
        *,
        tools: Sequence[JsonObject] | orjson.Fragment | None = None,
        **sampling: JsonValue,
    ) -> Completion:
        """Return one chat completion. `sampling` holds any other fields of the request body.

        Status 408, 429 and 5xx, timeouts, cut connections and replies that are not completions are tried again;
        Retry-After is honoured. Raises ModelError when the attempts are used up, and at once for any other refusal.
        """
        body: JsonObject = {"model": self.model, "messages": messages, **sampling}
        if tools is not None:
            body["tools"] = tools
        return await self._complete(orjson.dumps(body), attempts=self.attempts)

    async def continue_text(self, prompt: str | Sequence[int], **sampling: JsonValue) -> Completion:
        """Return the model's continuation of a text or of token ids, by `/completions`. Raises ModelError like `complete`."""
        body: JsonObject = {"model": self.model, "prompt": prompt, **sampling}
        return await self._complete(orjson.dumps(body), attempts=self.attempts, path="/completions")

    async def ask(self, path: str, body: JsonObject) -> JsonValue:
        """Return the JSON reply of a route of the server that is not OpenAI's, such as `/tokenize`. Raises ModelError."""
        content = orjson.dumps({**body, "model": self.model})
        # Routes that are no part of OpenAI's API are at the server's root.
        url = self.base_url.removesuffix("/v1") + path

        async def attempt(number: int) -> JsonValue:
            try:
                return orjson.loads(await self._send("post", url, content, within=self.timeout))
            except orjson.JSONDecodeError:
                raise Retryable(f"{self.server}: the reply of {path} is not JSON") from None

        return await self._tried(attempt, self.attempts)

    async def __aenter__(self) -> Self:
        """Check that the server is ready, and close the connections at the end of the block."""
        await self.ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ready(self) -> None:
        """Check that the server answers, accepts the key and has the model. Raises InputError.

        Request the list of models; if there is none, or it lacks the model (servers know more names than they
        list), make a call of one token.
        """
        listed = [str(entry["id"]) for entry in await self.listed()]
        if self.model in listed:
            return
        probe = {"model": self.model, "messages": [{"role": "user", "content": "Say ok."}], "max_tokens": 1}
        try:
            await self._complete(orjson.dumps(probe), attempts=min(2, self.attempts))
        except ModelError as error:
            explained = self._explain(error, listed)
            if explained is not None:
                raise explained from None

    async def close(self) -> None:
        """Close the connections of the running event loop, when the calls in flight have ended; later calls open new ones."""
        connection = self._open.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            connection.retired = True
            await connection.close_if_done()

    def __getstate__(self) -> dict[str, object]:
        # Connections stay with their process; a copy opens its own.
        return {**self.__dict__, "_open": {}}

    async def _complete(self, content: bytes, *, attempts: int, path: str = "/chat/completions") -> Completion:
        read = read_completion if path == "/chat/completions" else read_text_completion

        async def attempt(number: int) -> Completion:
            body = await self._send("post", self.base_url + path, content, within=self.timeout)
            try:
                return read(body, price=self.price, attempts=number)
            except Malformed as error:
                raise Retryable(f"{self.server}: {error}") from None

        return await self._tried(attempt, attempts)

    async def _tried(self, attempt: Callable[[int], Awaitable[Result]], attempts: int) -> Result:
        return await with_retries(
            attempt, attempts=attempts, backoff=self._backoff, jitter=self._jitter, sleep=self._sleep
        )

    async def _send(self, method: str, url: str, content: bytes | None, *, within: float) -> bytes:
        import aiohttp
        import httpx2

        connection = await self._connection()
        connection.calls += 1
        try:
            # Around the whole call: a transport's timeout starts anew with every chunk that a slow server sends.
            async with asyncio.timeout(within):
                response = await connection.http.send(
                    connection.http.build_request(method, url, content=content, headers=connection.headers),
                    stream=True,
                )
                try:
                    encoding = response.headers.get("content-encoding", "")
                    # Raw, since the transport would decompress without a limit.
                    body = await unpacked(response.aiter_raw(), encoding=encoding)
                finally:
                    await response.aclose()
        except Unfit as error:
            raise ModelError(f"{self.server} sent {error}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, OSError) as error:
            # The transport calls every connection that failed a timeout; what it was stands behind it.
            below = system_error(error)
            if isinstance(error, httpx2.TimeoutException | TimeoutError) and below is None:
                raise Retryable(f"{self.server} did not answer within {within:g} s") from None
            problem = below or self._redact(str(error)) or type(error).__name__
            raise Retryable(f"the connection to {self.server} failed: {problem}") from None
        finally:
            connection.calls -= 1
            await connection.close_if_done()
        if not response.is_success:
            raise self._refusal(response, body)
        return body

    def _refusal(self, response: Response, body: bytes) -> ModelError:
        status, refusal = response.status_code, read_error(body)
        problem = f"{self.server} answered {status}: {self._redact(refusal.message) or response.reason_phrase}"
        after = retry_after(response.headers)
        # A server that asks for an hour's wait would hold the run up longer than the call is worth.
        patient = after is None or after <= LONGEST_RETRY_AFTER
        if refusal.code == "insufficient_quota" or not patient or (status < 500 and status not in (408, 429)):
            return ModelError(problem, status=status)
        return Retryable(problem, status=status, after=after)

    def _redact(self, text: str) -> str:
        key = self._key()
        # Servers quote the key that they refuse. One such as `x`, for a server that asks for none, is part of other words.
        return text.replace(key, "***") if key != _NO_KEY and len(key) >= SHORTEST else text

    def _key(self) -> str:
        if not self._trusted and not self._may_see_keys():
            return _NO_KEY
        key = self._given_key or os.environ.get(self._checked_variable())
        if key:
            return key
        if self.base_url == DEFAULT_BASE_URL:
            raise InputError(
                "there is no API key for OpenAI",
                remedy=f"set {self._key_variable}, or name another server with base_url or OPENAI_BASE_URL",
            )
        return _NO_KEY

    def _checked_variable(self) -> str:
        """Return the variable that holds the key. Raises InputError if a file names it and the user has not allowed it."""
        if self._trusted or self._key_variable in (DEFAULT_KEY_VARIABLE, *_listed(KEY_VARIABLES_VARIABLE)):
            return self._key_variable
        raise InputError(
            f"a file names the environment variable {self._key_variable} as a key",
            remedy=f"allow it with {KEY_VARIABLES_VARIABLE}={self._key_variable}, if you trust the file",
        )

    def _may_see_keys(self) -> bool:
        own = urlsplit(os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL).hostname
        return self._host in (*_LOOPBACK, own, *_listed(TRUSTED_HOSTS_VARIABLE))

    async def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        known = self._open.get(loop)
        if known is not None:
            return known
        # Loops that ended without `close` would be kept alive by this mapping.
        for ended in [other for other in self._open if other.is_closed()]:
            del self._open[ended]
        connection = self._open[loop] = self._connect()
        await anext(connection.lifetime)
        return connection

    def _connect(self) -> _Connection:
        from httpx2 import Limits
        from openai import AsyncOpenAI, DefaultAioHttpClient, Timeout

        limits = Limits(
            max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS, keepalive_expiry=_IDLE_SECONDS
        )
        timeout = Timeout(self.timeout, connect=min(MODELS_TIMEOUT, self.timeout))
        http = DefaultAioHttpClient(limits=limits, timeout=timeout)
        client = AsyncOpenAI(api_key=self._key(), base_url=self.base_url, max_retries=0, http_client=http)
        # Calls go to the client's own HTTP client with the client's headers: what the client does around a call costs as
        # much as the call, and everything that it would do (retries, models of replies) is done here.
        given = {**client.default_headers, **client.auth_headers}
        headers = {name: value for name, value in given.items() if isinstance(value, str)}
        headers["Accept-Encoding"] = ACCEPTED
        return _Connection(http, headers, _until_the_loop_ends(client))

    async def listed(self) -> list[JsonObject]:
        """Return the entries of the server's list of models, each with its `id`; empty if it has no list.

        Raises InputError if it cannot be reached or refuses the key.
        """
        try:
            body = await self._send("get", self.base_url + "/models", None, within=min(MODELS_TIMEOUT, self.timeout))
        except ModelError as error:
            # Any other refusal (404, 405) only means that the server has no such list.
            if error.status is None or error.status in (401, 403):
                raise self._explain(error, []) or error from None
            return []
        try:
            return [item for item in orjson.loads(body)["data"] if "id" in item]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return []

    def _explain(self, error: ModelError, listed: list[str]) -> InputError | None:
        """Return the error of the model or the server; None if the server refused only the probe."""
        text = str(error)
        match error.status:
            case None:
                return InputError(text, remedy="start the server, or name another with base_url or OPENAI_BASE_URL")
            case 401 | 403:
                return InputError(text, remedy=f"check the key in {self._key_variable}{self._untrusted()}")
            # Both a missing model and a wrong path answer 404; OpenAI's error names the model.
            case 404 if "model" not in text.lower():
                return InputError(text, remedy="check the base URL; most end in /v1")
            case 404:
                return InputError(f"{self.server} has no model {self.model!r}", remedy=nearest(self.model, listed))
            # The probe may lack what this server requires; the run's own calls may still work.
            case 400 | 422 if self.model not in text:
                return None
            case _:
                return InputError(text)

    def _untrusted(self) -> str:
        if self._trusted or self._may_see_keys():
            return ""
        return f" (a server named in a file gets a key only when {TRUSTED_HOSTS_VARIABLE} lists {self._host})"


@dataclass(slots=True)
class _Connection:
    """The HTTP client of one event loop, the headers of every call, and the number of calls in flight."""

    http: AsyncClient
    headers: dict[str, str]
    lifetime: AsyncGenerator[AsyncOpenAI, None]
    calls: int = 0
    retired: bool = False

    async def close_if_done(self) -> None:
        if self.retired and self.calls == 0:
            await self.lifetime.aclose()


async def _until_the_loop_ends(client: AsyncOpenAI) -> AsyncGenerator[AsyncOpenAI, None]:
    # asyncio.run closes the generators that are still open before it closes the loop: with this one, the connections.
    try:
        yield client
    finally:
        await client.close()


def _listed(variable: str) -> list[str]:
    """Return the items of an environment variable, which are separated by commas."""
    return [name.strip() for name in os.environ.get(variable, "").split(",")]


def _parts(url: str) -> tuple[str, str]:
    """Return the host, and the URL for messages. Raises InputError for one with credentials, or that is not http."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        host, port, parts = "", "", None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise InputError(
            f"{url.rpartition('@')[2]!r} is not a base URL", remedy="write it like http://localhost:8000/v1"
        )
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"the base URL {parts.scheme}://...@{host}{port}{parts.path} holds a user or a password",
            remedy="leave them out: a key comes from the variable that api_key_env names",
        )
    return host, f"{parts.scheme}://{host}{port}{parts.path}"

"""Sessions of this process, served to others: over a Unix socket or HTTP, and every one of them to MCP clients."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from simtrain.mcp.serve.listening import Door, listen
from simtrain.mcp.serve.ports import Listening
from simtrain.mcp.serve.session import ServingSession
from simtrain.runs.episode_host import EpisodeHost
from simtrain.runs.sessions import Sessions


@contextmanager
def serve_sessions(
    sessions: Sessions, *, socket: str | Path | None = None, port: int = 0, token: str | None = None
) -> Generator[Door]:
    """Serve open sessions while the block runs: at a Unix socket, or at a local port (0: a free one) with a token.

    The block receives the addresses: `control_url` (with `control_token`) for clients of sessions, and `url` for MCP clients, at
    `{url}/w/{session.name}/mcp`. Raises InputError.
    """
    listening = Listening(
        control_port=port,
        control_socket=None if socket is None else Path(socket),
        control_token=token,
        json_replies=False,
        default=False,
    )

    @asynccontextmanager
    async def listened(host: EpisodeHost) -> AsyncGenerator[Door]:
        async with listen(ServingSession(host), listening) as door:
            yield door

    with sessions.within(listened) as door:
        yield door

"""An app as a web site on this machine, for `simtrain world browse`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from simtrain.mcp.serve.app_pages import Admission, OneApp
from simtrain.mcp.serve.guard import LOOPBACK, HostGuard
from simtrain.mcp.serve.ports import Listening, bind, served
from simtrain.mcp_wire.validation import ARRIVAL
from simtrain.worlds.app.world import AppState


@asynccontextmanager
async def browsing_app(
    state: AppState, *, host: str = "127.0.0.1", port: int = 0, arrival: float = ARRIVAL
) -> AsyncGenerator[str]:
    """Serve an open app while the block runs, and yield the URL of its first page. Raises InputError for an unavailable port.

    A request that takes longer than `arrival` seconds to arrive is dropped.
    """
    app = HostGuard(OneApp(state, Admission(arrival=arrival)), hosts=(*LOOPBACK, host))
    with bind(Listening(host=host, port=port, control_port=None)) as sockets:
        async with served(app, sockets.main, arrival):
            name = f"[{host}]" if ":" in host else host
            yield f"http://{name}:{sockets.main.getsockname()[1]}{state.world.start_page}"

"""The relay over HTTP: a reverse proxy on this machine in front of one streamable HTTP server."""

from aiohttp import web

from simtrain.mcp.relay.exchange import HttpExchange
from simtrain.mcp.relay.journal import RelayJournal
from simtrain.mcp.relay.perturb import Perturber
from simtrain.mcp.relay.reverse_proxy import ReverseProxy
from simtrain.mcp.relay.upstream import RelayLimits
from simtrain.mcp_wire.targets import HttpTarget


class HttpRelay(ReverseProxy):
    """Records all messages of an MCP server, and perturbs some."""

    def __init__(
        self,
        target: HttpTarget,
        *,
        perturber: Perturber,
        journal: RelayJournal,
        port: int = 0,
        limits: RelayLimits | None = None,
    ) -> None:
        super().__init__(target, port=port, limits=limits)
        self._perturber = perturber
        self._journal = journal

    async def exchange(self, request: web.Request, body: bytes) -> web.StreamResponse:
        """Pass a request on."""
        return await self._exchange(request).run(body)

    def refuse(self, request: web.Request, status: int, message: str) -> web.Response:
        """Return a JSON-RPC error."""
        return self._exchange(request).refuse(status, message)

    def _exchange(self, request: web.Request) -> HttpExchange:
        return HttpExchange(request, self.upstream, self._perturber, self._journal, self.limits)

"""Routes, middleware and errors together."""

from collections.abc import Callable

from trellis.errors import HttpError
from trellis.messages import Request, Response
from trellis.negotiation import best
from trellis.routing import Router
from trellis.urls import join_path


class App:
    """An application. The middleware that was added first is the outermost."""

    def __init__(self, *, most_body: int = 1 << 20) -> None:
        self.router = Router()
        self._most_body = most_body
        self._middleware: list[Callable] = []
        self._handlers: dict[int | type[Exception], Callable] = {}
        self._mounted: list[tuple[str, App]] = []
        self.errors: list[Exception] = []

    def route(self, pattern: str, methods: tuple[str, ...] = ("GET",), name: str = "") -> Callable:
        """Add the function below as the handler of a pattern."""

        def added(handler: Callable) -> Callable:
            self.router.add(pattern, handler, methods, name)
            return handler

        return added

    def use(self, middleware: Callable) -> None:
        """Add a middleware: a function of the request and of what follows."""
        self._middleware.append(middleware)

    def on(self, what: int | type[Exception]) -> Callable:
        """Let the function below answer a status, or an exception and those under it."""

        def added(handler: Callable) -> Callable:
            self._handlers[what] = handler
            return handler

        return added

    def mount(self, prefix: str, app: "App") -> None:
        """Let another application answer everything below a path."""
        self._mounted.append((join_path([prefix]), app))
        self._mounted.sort(key=lambda one: -len(one[0]))

    def handle(self, request: Request) -> Response:
        """Answer a request, whatever happens."""
        following = self._answer
        for middleware in reversed(self._middleware):
            following = _wrapped(middleware, following)
        try:
            if len(request.body) > self._most_body:
                raise HttpError(413)
            response = following(request)
        except Exception as error:
            response = self._failed(request, error)
        return response.finished(request.method)

    def _answer(self, request: Request) -> Response:
        for prefix, app in self._mounted:
            if request.path == prefix or request.path.startswith(f"{prefix}/"):
                return self._answer_mounted(request, prefix, app)
        try:
            route, values = self.router.find(request.method, request.path)
        except HttpError as error:
            slashed = self._with_slash(request, error)
            if slashed is not None:
                return slashed
            raise
        request.state["route"] = route
        return as_response(route.handler(request, **values))

    def _answer_mounted(self, request: Request, prefix: str, app: "App") -> Response:
        inner = Request(
            request.method,
            (request.path[len(prefix) :] or "/")
            + (f"?{request.query_text}" if request.query_text else ""),
            request.headers,
            request.body,
            request.now,
        )
        inner.state = request.state
        return app.handle(inner)

    def _with_slash(self, request: Request, error: HttpError) -> Response | None:
        """Return the way to the path with or without its last slash, if that is one."""
        if error.status != 404 or request.path == "/" or request.method not in ("GET", "HEAD"):
            return None
        other = request.path[:-1] if request.path.endswith("/") else f"{request.path}/"
        try:
            self.router.find(request.method, other)
        except HttpError:
            return None
        query = f"?{request.query_text}" if request.query_text else ""
        return Response.redirect(other + query, 301)

    def _failed(self, request: Request, error: Exception) -> Response:
        handler = self._handler_of(error)
        if handler is not None:
            try:
                return as_response(handler(request, error))
            except Exception as other:
                error = other
        if not isinstance(error, HttpError):
            self.errors.append(error)
            error = HttpError(500)
        kind = best(request.headers.get("Accept", ""), ["text/plain", "application/json"])
        if kind == "application/json":
            response = Response.json({"status": error.status, "error": error.message}, error.status)
        else:
            response = Response(error.message, error.status, kind="text/plain; charset=utf-8")
        for name, value in error.headers.items():
            response.headers.set(name, value)
        return response

    def _handler_of(self, error: Exception) -> Callable | None:
        if isinstance(error, HttpError) and error.status in self._handlers:
            return self._handlers[error.status]
        for kind in type(error).__mro__:
            if kind in self._handlers:
                return self._handlers[kind]
        return None


def _wrapped(middleware: Callable, following: Callable) -> Callable:
    return lambda request: middleware(request, following)


def as_response(value: object) -> Response:
    """Return what a handler returned as a response."""
    if isinstance(value, Response):
        return value
    if isinstance(value, str):
        return Response(value)
    if value is None:
        return Response(b"", 204)
    if isinstance(value, tuple):
        body, status = value
        response = as_response(body)
        response.status = status
        return response
    return Response.json(value)

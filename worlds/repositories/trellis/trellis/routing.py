"""Paths to functions, and back."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from trellis.errors import HttpError
from trellis.urls import quote, unquote

KINDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "text": (r"[^/]+", str),
    "int": (r"\d+", int),
    "float": (r"\d+\.\d+", float),
    "path": (r".+", str),
    "slug": (r"[a-z0-9]+(?:-[a-z0-9]+)*", str),
}
_PARAMETER = re.compile(r"<(\w+)(?::(\w+))?>")


@dataclass(frozen=True)
class Route:
    """A pattern like `/users/<id:int>`, the methods that it takes, and what answers."""

    pattern: str
    methods: frozenset[str]
    handler: Callable
    name: str
    regex: re.Pattern = field(repr=False, compare=False)
    kinds: dict[str, str] = field(repr=False, compare=False)

    @property
    def weight(self) -> tuple:
        """Sorts special patterns before general ones: fixed parts first, `path` last."""
        parts = self.pattern.strip("/").split("/")
        return tuple(_part_weight(part) for part in parts)


def _part_weight(part: str) -> int:
    if "<" not in part:
        return 0
    return 2 if ":path>" in part else 1


def _compiled(pattern: str) -> tuple[re.Pattern, dict[str, str]]:
    if not pattern.startswith("/"):
        raise ValueError(f"{pattern!r} does not begin with a slash")
    regex, kinds, at = "", {}, 0
    for match in _PARAMETER.finditer(pattern):
        name, kind = match[1], match[2] or "text"
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of parameter, in {pattern!r}")
        if name in kinds:
            raise ValueError(f"{pattern!r} has {name!r} twice")
        regex += re.escape(pattern[at : match.start()]) + f"(?P<{name}>{KINDS[kind][0]})"
        kinds[name] = kind
        at = match.end()
    return re.compile(regex + re.escape(pattern[at:])), kinds


class Router:
    """All routes of an application."""

    def __init__(self) -> None:
        self._routes: list[Route] = []
        self._sorted: list[Route] | None = None

    def add(
        self, pattern: str, handler: Callable, methods: tuple[str, ...] = ("GET",), name: str = ""
    ) -> Route:
        """Add a route. GET brings HEAD along."""
        regex, kinds = _compiled(pattern)
        taken = {method.upper() for method in methods}
        if "GET" in taken:
            taken.add("HEAD")
        own = name or handler.__name__
        if any(route.name == own and route.pattern != pattern for route in self._routes):
            raise ValueError(f"there is a route {own!r} already")
        route = Route(pattern, frozenset(taken), handler, own, regex, kinds)
        self._routes.append(route)
        self._sorted = None
        return route

    @property
    def routes(self) -> list[Route]:
        """All routes, special ones before general ones."""
        if self._sorted is None:
            self._sorted = sorted(self._routes, key=lambda route: route.weight)
        return list(self._sorted)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, object]]:
        """Return the route of a request with its parameters; HttpError 404, or 405 with what is allowed."""
        allowed: set[str] = set()
        for route in self.routes:
            match = route.regex.fullmatch(path)
            if match is None:
                continue
            if method.upper() in route.methods:
                values = {
                    name: KINDS[route.kinds[name]][1](unquote(text))
                    for name, text in match.groupdict().items()
                }
                return route, values
            allowed |= route.methods
        if allowed:
            raise HttpError(405, headers={"Allow": ", ".join(sorted(allowed))})
        raise HttpError(404, f"there is nothing at {path}")

    def url_for(self, name: str, /, **values: object) -> str:
        """Return the path of a route; parameters that it does not have become a query."""
        route = next((one for one in self._routes if one.name == name), None)
        if route is None:
            raise KeyError(f"there is no route {name!r}")
        left = dict(values)

        def filled(match: re.Match) -> str:
            key, kind = match[1], match[2] or "text"
            if key not in left:
                raise KeyError(f"{name!r} needs {key!r}")
            text = str(left.pop(key))
            if not re.fullmatch(KINDS[kind][0], text):
                raise ValueError(f"{text!r} is no {kind}")
            return quote(text, also="/" if kind == "path" else "")

        path = _PARAMETER.sub(filled, route.pattern)
        query = "&".join(f"{quote(key)}={quote(str(value))}" for key, value in left.items())
        return f"{path}?{query}" if query else path

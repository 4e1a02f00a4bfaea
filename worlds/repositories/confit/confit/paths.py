"""Paths into values: `limits.memory`, `hosts[0].name`."""

import re

from confit.errors import ConfitError

_STEP = re.compile(r"(?:^|\.)([A-Za-z_][\w-]*)|\[(-?\d+)\]")


def parse_path(text: str) -> list[str | int]:
    """Return the steps of a path."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or (at == 0 and text[0] == "."):
            raise ConfitError(f"{text!r} is no path, from {text[at:]!r} on")
        steps.append(match[1] if match[1] is not None else int(match[2]))
        at = match.end()
    return steps


def format_path(steps: list[str | int]) -> str:
    """Return steps as text."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".")


_REQUIRED = object()


def lookup(value: object, path: str, default: object = _REQUIRED) -> object:
    """Return what lies at a path, or the default if nothing does."""
    for step in parse_path(path):
        try:
            value = _step(value, step)
        except (KeyError, IndexError, TypeError):
            if default is _REQUIRED:
                raise ConfitError(f"there is nothing at {path!r}") from None
            return default
    return value


def _step(value: object, step: str | int) -> object:
    if isinstance(step, int) != isinstance(value, list):
        raise TypeError
    return value[step]


def replaced(value: object, path: str, new: object) -> object:
    """Return a copy with another value at a path; tables on the way are made, lists are not."""
    return _replaced(value, parse_path(path), new, path)


def _replaced(value: object, steps: list[str | int], new: object, path: str) -> object:
    if not steps:
        return new
    step, *rest = steps
    if isinstance(step, int):
        if not isinstance(value, list) or not -len(value) <= step < len(value):
            raise ConfitError(f"there is nothing at {path!r}")
        items = list(value)
        items[step] = _replaced(items[step], rest, new, path)
        return items
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise ConfitError(f"there is no table on the way to {path!r}")
    table = dict(value)
    table[step] = _replaced(table.get(step), rest, new, path)
    return table


def leaves(value: object, steps: tuple[str | int, ...] = ()) -> list[tuple[str, object]]:
    """Return all values that are no tables and no lists, with their paths, in order."""
    if isinstance(value, dict) and value:
        return [leaf for key, one in value.items() for leaf in leaves(one, (*steps, key))]
    if isinstance(value, list) and value:
        return [leaf for place, one in enumerate(value) for leaf in leaves(one, (*steps, place))]
    return [(format_path(list(steps)), value)]

"""Render chat templates like transformers, in a sandbox with limits, since they are untrusted.

Templates get the same variables and functions as from `apply_chat_template` (transformers 5.23, utils/chat_template_utils.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import do_indent
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from simtrain.files.template_budget import (
    add_up,
    allow,
    count_loops,
    counted,
    depth,
    join,
    joined,
    paid,
    replace,
    size,
    spend,
    visit,
)
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue

MOST_SOURCE = 200_000
MOST_OUTPUT = 8_000_000
MOST_VISITS = 300_000
MOST_WORK = 200_000_000
MOST_SECONDS = 10.0
_MOST_DEPTH = 150
_MOST_INDENT = 32

_REFUSED_FILTERS = ("batch", "center", "format", "pprint", "random", "slice", "urlize", "wordwrap", "xmlattr")
_REFUSED_METHODS = frozenset({"center", "expandtabs", "ljust", "rjust", "translate", "zfill"})
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\d{4,}|\*)")


class _Generation(Extension):
    """The block `{% generation %}`, which marks the assistant's text for trainers; its content is rendered unchanged."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        # With its own scope, as in transformers: variables set inside are unknown after it.
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return [nodes.Scope(body)]


class _Dict:
    """The `dict` of templates."""

    def __call__(self, *items: Any, **named: Any) -> dict[Any, Any]:
        return dict(*items, **named)

    def fromkeys(self, *items: Any) -> dict[Any, Any]:
        return dict.fromkeys(*items)


class _Namespace(Namespace):
    """Jinja's namespace, without names that begin with an underscore."""

    def __init__(*items: Any, **named: Any) -> None:
        attributes: dict[Any, Any] = dict(*items[1:], **named)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(items[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)


class _Sandbox(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, loopcontrols],
            finalize=_paid_for,
            cache_size=0,
        )
        kept = {name: paid(filter) for name, filter in self.filters.items() if name not in _REFUSED_FILTERS}
        own: dict[str, Any] = {
            "replace": replace, "join": join, "concat": joined, "sum": add_up,
            "counted": counted, "indent": paid(_indent), "tojson": paid(_tojson),
        }  # fmt: skip
        self.filters = {**kept, **own}
        self.globals.pop("lipsum")
        self.globals |= {"raise_exception": _raise, "dict": _Dict(), "namespace": _Namespace}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > MOST_SOURCE:
            raise TemplateSyntaxError(f"a chat template may have at most {MOST_SOURCE:,} characters", 1)
        tree = super()._parse(source, name, filename)
        if depth(tree) > _MOST_DEPTH:
            raise TemplateSyntaxError("it is nested too deeply", 1)
        return count_loops(tree)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is not None:
            raise SecurityError("the method 'format' is not available in chat templates")
        return None

    def call(__self, __context: Any, __obj: Any, *arguments: Any, **named: Any) -> Any:
        visit()
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str):
            method = __obj.__name__
            if method in _REFUSED_METHODS:
                raise SecurityError(f"the method {method!r} is not available in chat templates")
            if method in _GROWING:
                return _GROWING[method](owner, *arguments, **named)
        found = super().call(__context, __obj, *arguments, **named)
        spend(size(found))
        return found

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "+":
            spend(size(left) + size(right))
        elif operator == "*":
            spend(size(left) * right if isinstance(right, int) else size(right) * left if isinstance(left, int) else 0)
            _check_number(left, right)
        elif operator == "**" and (abs(left) > 1e6 or abs(right) > 16):
            raise SecurityError("a power this large is refused")
        elif operator == "%" and isinstance(left, str) and _WIDE.search(left):
            raise SecurityError("a width this large is refused")
        return super().call_binop(context, operator, left, right)


def _paid_for(value: Any) -> Any:
    """Charge for a template's output."""
    spend(size(value))
    return value


def _join(separator: str, items: Any) -> str:
    return joined(items, separator)


_GROWING: dict[str, Callable[..., Any]] = {"join": _join, "replace": replace}


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace has no attribute {name!r}")


def _check_number(*values: Any) -> None:
    if any(isinstance(value, int) and value.bit_length() > 4096 for value in values):
        raise SecurityError("a number this large is refused")


def _raise(message: object) -> None:
    raise TemplateError(str(message))


def _indent(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    if isinstance(width, int) and width > _MOST_INDENT:
        raise SecurityError(f"an indentation has at most {_MOST_INDENT} columns")
    spend((text.count("\n") + 1) * (width if isinstance(width, int) else len(width)))
    return do_indent(text, width, first, blank)


def _tojson(
    value: JsonValue,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return JSON text, which Jinja's own filter would escape for HTML."""
    if (indent if isinstance(indent, int) else len(indent or "")) > _MOST_INDENT:
        raise SecurityError(f"an indentation has at most {_MOST_INDENT} columns")
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


_SANDBOX = _Sandbox()

# The exceptions of Jinja for a source that it cannot parse or compile; the last two come from Python's own compiler.
_UNREADABLE = (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError)
_FAILURES = (*_UNREADABLE, TypeError, ArithmeticError, LookupError, AttributeError, NameError, AssertionError)


@lru_cache(maxsize=64)
def compiled(source: str) -> Template:
    """Return the template for a source. Raises InputError when it does not parse."""
    allow(MOST_VISITS, MOST_WORK, MOST_SECONDS)
    try:
        return _SANDBOX.from_string(source)
    except _UNREADABLE as error:
        raise InputError(f"the chat template does not parse: {_why(error)}") from None


def rendered(template: Template, values: Mapping[str, Any]) -> str:
    """Return the text of a chat. Raises InputError for what the template raises, and for a limit passed."""
    allow(MOST_VISITS, MOST_WORK, MOST_SECONDS)
    parts: list[str] = []
    length = 0
    try:
        for part in template.generate(values):
            length += len(part)
            if length > MOST_OUTPUT:
                raise InputError(f"the chat template writes more than {MOST_OUTPUT:,} characters")
            parts.append(part)
    except _FAILURES as error:
        raise InputError(f"the chat template cannot be rendered: {_why(error)}") from None
    return "".join(parts)


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deeply"
    text = str(error).partition(' File "<')[0] or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."

"""Render chat templates like transformers, in a sandbox with limits, since they are untrusted.

Templates get the same variables and functions as from `apply_chat_template` (transformers 5.23, utils/chat_template_utils.py).
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, Template, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import FILTERS, do_indent
from jinja2.parser import Parser
from jinja2.utils import Namespace

from simtrain.files.template_budget import (
    UNREADABLE,
    ChargedSandbox,
    allow,
    joined,
    paid,
    replace,
    size,
    spend,
    visit,
    written,
)
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue

# A template comes with a downloaded model, so it is untrusted.
MOST_SOURCE = 200_000
MOST_OUTPUT = 8_000_000
MOST_VISITS = 300_000
MOST_WORK = 200_000_000
MOST_SECONDS = 10.0
_MOST_DEPTH = 150
_MOST_INDENT = 32

# Left out: what can grow far beyond its input, draws at random, prints Python objects, or serves only HTML.
_REFUSED_FILTERS = ("batch", "center", "format", "pprint", "random", "slice", "urlize", "wordwrap", "xmlattr")
# Methods of str that pad or multiply a text without passing through a filter.
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


class _Sandbox(ChargedSandbox):
    most_source = MOST_SOURCE
    most_depth = _MOST_DEPTH
    too_long = f"a chat template may have at most {MOST_SOURCE:,} characters"

    def __init__(self) -> None:
        super().__init__(
            [name for name in FILTERS if name not in _REFUSED_FILTERS],
            {"indent": paid(_indent), "tojson": paid(_tojson)},
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, loopcontrols],
            finalize=_paid_for,
        )
        # It draws at random: a rendering must be the same each time.
        self.globals.pop("lipsum")
        self.globals |= {"raise_exception": _raise, "dict": _Dict(), "namespace": _Namespace}

    # Format strings reach attributes, and "{:999999999}" allocates that many characters.
    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is not None:
            raise SecurityError("the method 'format' is not available in chat templates")
        return None

    def call(__self, __context: Any, __obj: Any, *arguments: Any, **named: Any) -> Any:
        visit()
        # Bound methods of texts bypass the filters, so they are charged here.
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
        if operator == "*":
            spend(size(left) * right if isinstance(right, int) else size(right) * left if isinstance(left, int) else 0)
            if any(isinstance(value, int) and value.bit_length() > 4096 for value in (left, right)):
                raise SecurityError("a number this large is refused")
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

_FAILURES = (*UNREADABLE, TypeError, ArithmeticError, LookupError, AttributeError, NameError, AssertionError)


@lru_cache(maxsize=64)
def compiled(source: str) -> Template:
    """Return the template for a source. Raises InputError when it does not parse."""
    allow(MOST_VISITS, MOST_WORK, MOST_SECONDS)
    try:
        return _SANDBOX.from_string(source)
    except UNREADABLE as error:
        raise InputError(f"the chat template does not parse: {_why(error)}") from None


def rendered(template: Template, values: Mapping[str, Any]) -> str:
    """Return the text of a chat. Raises InputError for what the template raises, and for a limit passed."""
    allow(MOST_VISITS, MOST_WORK, MOST_SECONDS)
    beyond = InputError(f"the chat template writes more than {MOST_OUTPUT:,} characters")
    try:
        return written(template, values, most=MOST_OUTPUT, otherwise=beyond)
    except _FAILURES as error:
        raise InputError(f"the chat template cannot be rendered: {_why(error)}") from None


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError | MemoryError):
        return "it is nested too deeply"
    # Python's compiler adds the file and line of Jinja's generated code, which mean nothing to the author.
    text = str(error).partition(' File "<')[0] or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."

"""Templates of untrusted files: Jinja in the immutable sandbox, with limits on source, loops and output."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables

from simtrain.files.page_outlines import bid, table_rows, without_refs
from simtrain.files.template_budget import UNREADABLE, ChargedSandbox, TooMuch, allow, paid, written
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue, encode, is_list, is_object

MAX_SOURCE = 20_000
MAX_OUTPUT = 200_000
MAX_ITEMS = 20_000
MAX_DEPTH = 100
MAX_WORK = 2_000_000
"""Maximum characters and list items that the filters and sums of one render may produce in total."""

_FILTERS = (
    "abs", "default", "first", "float", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min",
    "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr", "sort", "string", "sum", "title",
    "tojson", "trim", "unique", "upper",
)  # fmt: skip
# Methods that read; none of them changes a value or makes a text much longer.
READING_METHODS = frozenset(
    {
        "count",
        "endswith",
        "get",
        "index",
        "items",
        "keys",
        "lower",
        "split",
        "startswith",
        "strip",
        "title",
        "upper",
        "values",
    }
)
# Templates here are expressions with conditions and loops; these could load other templates or define functions.
_REFUSED_NODES = (
    nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.Include, nodes.Import,
    nodes.FromImport, nodes.Extends, nodes.Block, nodes.With,
)  # fmt: skip
_EXPRESSION = re.compile(r"\s*\{\{(?!.*\{\{)(.*)\}\}\s*", re.DOTALL)
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[-?\d+\])*")
_CONSTANTS = frozenset({"none", "true", "false"})
_PART = re.compile(r"([A-Za-z_]\w*)|\[(-?\d+)\]")


class _Sandbox(ChargedSandbox):
    most_source = MAX_SOURCE
    most_depth = MAX_DEPTH
    too_long = f"a template may have at most {MAX_SOURCE} characters"

    def __init__(self) -> None:
        # Jinja's own tojson escapes for HTML.
        own = {
            "money": _money,
            "tojson": paid(_tojson),
            "table_rows": paid(table_rows),
            "without_refs": paid(without_refs),
            "bid": paid(bid),
        }
        super().__init__(_FILTERS, own, undefined=StrictUndefined, keep_trailing_newline=False)
        # `range` and `lipsum` build large values from nothing.
        self.globals.clear()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for kind in _REFUSED_NODES:
            for found in tree.find_all(kind):
                raise TemplateSyntaxError(
                    f"{type(found).__name__.lower()} is not available in these templates", found.lineno
                )
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:
        # `reply.items` means the key, not the method of dict.
        if is_object(obj) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        # Times a number, a text would be repeated; `%` would format it.
        if operator != "+" and not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise SecurityError(f"{operator!r} works on numbers only")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        return getattr(obj, "__name__", "") in READING_METHODS and isinstance(
            getattr(obj, "__self__", None), str | list | dict
        )


def _money(amount: float) -> str:
    return f"{amount:.2f}"


def _tojson(value: JsonValue, *, indent: int | None = None, spaced: bool = False, ascii: bool = False) -> str:
    """Return JSON text: compact, with a space after colons and commas, or indented; `ascii` escapes non-ASCII characters."""
    if indent is None and not spaced and not ascii:
        return encode(value)
    gaps = (", ", ": ") if spaced else (",", ":")
    if indent is not None:
        indent, gaps = max(0, min(indent, 8)), (",", ": ")
    return json.dumps(value, ensure_ascii=ascii, indent=indent, separators=gaps)


_SANDBOX = _Sandbox()


class Text:
    """A text template. `names` are the variables it reads."""

    __slots__ = ("_template", "names", "source")

    def __init__(self, source: str) -> None:
        """Raises InputError when the source does not parse or uses what the sandbox refuses."""
        self.source = source
        try:
            self.names = frozenset(find_undeclared_variables(_SANDBOX.parse(source)))
            self._template = _SANDBOX.from_string(source)
        except UNREADABLE as error:
            raise InputError(f"the template does not parse: {_why(error)}") from None

    def render(self, values: Mapping[str, JsonValue]) -> str:
        """Return the text for these values. Raises InputError for an unknown variable or a limit passed."""
        beyond = TooMuch(f"a template may write at most {MAX_OUTPUT} characters")
        return _guarded(lambda: written(self._template, values, most=MAX_OUTPUT, otherwise=beyond), self.source)


class Value:
    """A template for a JSON value: `{{ expression }}` alone keeps its type, anything else renders to text.

    Lists and objects are walked; numbers, booleans and null stay literal. `names` are the variables read.
    """

    __slots__ = ("_evaluate", "names", "source")

    def __init__(self, source: JsonValue) -> None:
        """Raises InputError when a template inside does not parse."""
        self.source = source
        self.names, self._evaluate = _compile(source)

    def evaluate(self, values: Mapping[str, JsonValue]) -> JsonValue:
        """Return the value for these variables. Raises InputError for an unknown variable or a limit passed."""
        return self._evaluate(values)


def _evaluator(expression: str) -> tuple[frozenset[str], Callable[[Mapping[str, JsonValue]], JsonValue]]:
    """Return the variables of a bare Jinja expression, and the function that evaluates it."""
    # A plain path is looked up directly: most expressions are one, and Jinja takes many times as long.
    if _PATH.fullmatch(expression) and expression.lower() not in _CONSTANTS:
        parts = [name or int(index) for name, index in _PART.findall(expression)]
        return frozenset({str(parts[0])}), lambda values: _walk(values, parts, expression)
    try:
        names = frozenset(find_undeclared_variables(_SANDBOX.parse("{{ " + expression + " }}")))
        compiled = _SANDBOX.compile_expression(expression, undefined_to_none=False)
    except UNREADABLE as error:
        raise InputError(f"the expression {_short(expression)!r} does not parse: {_why(error)}") from None
    return names, lambda values: _guarded(lambda: _plain(compiled(dict(values)), expression), expression)


def _plain(value: Any, expression: str) -> JsonValue:
    # A misspelt name must not become an empty value.
    if isinstance(value, StrictUndefined):
        raise UndefinedError(f"{expression!r} has no value")
    # Filters such as `map` return generators, which JSON cannot hold.
    return list(cast(Iterable[Any], value)) if isinstance(value, Iterator) else value


def _walk(values: Mapping[str, JsonValue], parts: list[str | int], expression: str) -> JsonValue:
    found: JsonValue = values
    for part in parts:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            raise InputError(f"{expression!r} has no value: there is no {part!r}") from None
    return found


def _compile(source: JsonValue) -> tuple[frozenset[str], Callable[[Mapping[str, JsonValue]], JsonValue]]:
    if isinstance(source, str):
        return _compile_text(source)
    if is_list(source):
        items = [_compile(item) for item in source]
        names = frozenset[str]().union(*(names for names, _ in items))
        return names, lambda values: [evaluate(values) for _, evaluate in items]
    if is_object(source):
        fields = {key: _compile(item) for key, item in source.items()}
        names = frozenset[str]().union(*(names for names, _ in fields.values()))
        return names, lambda values: {key: evaluate(values) for key, (_, evaluate) in fields.items()}
    return frozenset(), lambda _: source


@lru_cache(maxsize=4096)
def _compile_text(source: str) -> tuple[frozenset[str], Callable[[Mapping[str, JsonValue]], JsonValue]]:
    alone = _EXPRESSION.fullmatch(source)
    if alone:
        return _evaluator(alone[1].strip())
    if "{{" not in source and "{%" not in source:
        return frozenset(), lambda _: source
    text = Text(source)
    return text.names, text.render


def _guarded(work: Callable[[], Any], source: str) -> Any:
    allow(MAX_ITEMS, MAX_WORK)
    try:
        return work()
    # Jinja writes an infinite constant as a name.
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError, NameError) as error:
        raise InputError(f"the template {_short(source)!r} cannot be rendered: {_why(error)}") from None


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError | SyntaxError | MemoryError):
        return "it is nested too deeply"
    # Jinja quotes the unexpected text at any length, and adds a made-up file name.
    return _short(str(error).partition(' File "<')[0], 300)


def _short(source: str, most: int = 60) -> str:
    return source if len(source) <= most else source[: most - 3] + "..."


def expression(source: str) -> Value:
    """Return a Value from an expression written with or without the braces, as in `in: found.orders`."""
    return Value(source if _EXPRESSION.fullmatch(source) else "{{ " + source + " }}")

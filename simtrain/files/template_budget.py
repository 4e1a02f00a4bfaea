"""The sandbox of untrusted templates, and the budget of a render: items, characters and time, charged by filters and operators."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from threading import local
from time import perf_counter
from typing import Any, ClassVar, cast

from jinja2 import Environment, Template, TemplateError, TemplateSyntaxError, nodes, pass_environment
from jinja2.exceptions import SecurityError
from jinja2.filters import make_attrgetter
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from simtrain.values.errors import InputError
from simtrain.values.types import is_list


class TooMuch(InputError):
    """A render exceeded a limit; since an agent supplies texts and lists, this need not be the author's mistake."""


class _Left(local):
    """The remaining budget of the current render in a thread; renders never interleave, since none awaits."""

    most_items = most_work = items = work = 0
    deadline = 0.0


_left = _Left()


def allow(items: int, work: int, seconds: float = float("inf")) -> None:
    """Start a render with a budget of loop items and calls, of produced characters and items, and of seconds."""
    _left.most_items = _left.items = items
    _left.most_work = _left.work = work
    _left.deadline = perf_counter() + seconds


def visit() -> None:
    """Charge for one loop item or call. Raises TooMuch."""
    _left.items -= 1
    if _left.items < 0:
        raise TooMuch(f"a template may visit at most {_left.most_items} loop items")
    # Checked here, since every loop and every call passes this place.
    if perf_counter() > _left.deadline:
        raise TooMuch("the template takes too long")


def spend(work: int) -> None:
    """Charge for characters or items, before or after they are produced. Raises TooMuch."""
    _left.work -= work
    if _left.work < 0:
        raise TooMuch(f"a template may produce at most {_left.most_work:,} characters and items on its way")


def size(value: Any) -> int:
    """Return the length of a text or a list; 0 for anything else."""
    return len(value) if isinstance(value, str | list | tuple) else 0  # pyright: ignore[reportUnknownArgumentType]


def paid(filter: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that is charged for its result. Filters that multiply their input pay in advance: `replace`, `join`, `add_up`."""

    @wraps(filter)
    def paying(*arguments: Any, **named: Any) -> Any:
        found = filter(*arguments, **named)
        spend(size(found))
        return cast(object, found)

    return paying


def _counted(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of a loop, charging for each."""
    for item in items:
        visit()
        yield item


def replace(text: Any, old: str, new: str, count: int | None = None) -> str:
    """Do what the filter and the method `replace` do."""
    text, old, new = str(text), str(old), str(new)
    most = -1 if count is None else count
    found = text.count(old) if most < 0 else min(most, text.count(old))
    # Before the result is built: it may be far longer than its parts.
    spend(len(text) + found * len(new))
    return text.replace(old, new, most)


@pass_environment
def _join(
    environment: Environment, items: Iterable[Any], separator: str = "", attribute: str | int | None = None
) -> str:
    """Do what the filter `join` does."""
    if attribute is not None:
        items = map(make_attrgetter(environment, attribute), items)
    return joined(items, separator)


def joined(items: Iterable[Any], separator: str = "") -> str:
    """Return the texts of items, joined and charged for; `~` does the same."""
    texts: list[str] = []
    for item in items:
        texts.append(str(item))
        spend(len(texts[-1]) + len(separator))
    return str(separator).join(texts)


@pass_environment
def _add_up(
    environment: Environment,
    items: Iterable[Any],
    attribute: str | int | None = None,
    start: float | list[Any] = 0,
) -> Any:
    """Do what the filter `sum` does: add numbers, or concatenate lists."""
    if attribute is not None:
        items = map(make_attrgetter(environment, attribute), items)
    if not is_list(start):
        if not isinstance(cast(object, start), int | float):
            raise SecurityError("sum adds up numbers, or lists to a list")
        return sum(items, start)
    whole = list(start)
    for item in items:
        if not is_list(item):
            raise SecurityError("sum adds up numbers, or lists to a list")
        spend(len(item))
        whole.extend(item)
    return whole


def _count_loops(tree: nodes.Template) -> nodes.Template:
    """Return the template with charges for every loop (filter `counted`) and every `~` (filter `concat`)."""
    # Nested loops multiply, so every item is counted when it is visited.
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
    return _Concatenations().visit(tree)


def _depth(tree: nodes.Node) -> int:
    """Return the nesting depth of a template."""
    found, level = 0, [tree]
    while level:
        found, level = found + 1, [child for node in level for child in node.iter_child_nodes()]
    return found


class _Concatenations(NodeTransformer):
    """Turns every `~` into a filter that is charged for its result."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, "concat", [], [], None, None, lineno=node.lineno)


UNREADABLE = (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError)
"""The exceptions of Jinja for a source that it cannot parse or compile; the last two come from Python's own compiler."""


class ChargedSandbox(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox with limits on source and depth, whose filters, loops and operators are charged for."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})
    most_source: ClassVar[int]
    most_depth: ClassVar[int]
    too_long: ClassVar[str]

    def __init__(self, filters: Iterable[str], own: Mapping[str, Any], **options: Any) -> None:
        """`filters` names those of Jinja that are kept, `own` are others."""
        # Callers cache compiled templates themselves, and Jinja's cache would keep every source as well.
        super().__init__(cache_size=0, **options)
        kept: dict[str, Any] = {name: paid(self.filters[name]) for name in filters}
        charged = {"replace": replace, "join": _join, "concat": joined, "sum": _add_up, "counted": _counted}
        self.filters = {**kept, **charged, **own}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > self.most_source:
            raise TemplateSyntaxError(self.too_long, 1)
        tree = super()._parse(source, name, filename)
        if _depth(tree) > self.most_depth:
            raise TemplateSyntaxError("it is nested too deeply", 1)
        return _count_loops(tree)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "+":
            spend(size(left) + size(right))
        # Python computes powers exactly: 9 ** 9 ** 9 would not end in a lifetime.
        elif operator == "**" and (abs(left) > 1e6 or abs(right) > 16):
            raise SecurityError("a power this large is refused")
        return super().call_binop(context, operator, left, right)


def written(template: Template, values: Mapping[str, Any], *, most: int, otherwise: InputError) -> str:
    """Return the text of a template, at most `most` characters; `otherwise` is raised beyond."""
    parts: list[str] = []
    length = 0
    # In parts, so that an endless template stops at the limit and not when memory runs out.
    for part in template.generate(values):
        length += len(part)
        if length > most:
            raise otherwise
        parts.append(part)
    return "".join(parts)

"""Templates of an app's pages: Jinja in the immutable sandbox, everything escaped, from one folder only."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.environment import create_cache
from jinja2.exceptions import TemplateNotFound
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import BlockReference, LoopContext, Macro

from simtrain.files.template_budget import UNREADABLE, ChargedSandbox, TooMuch, allow, written
from simtrain.files.templates import READING_METHODS
from simtrain.values.errors import InputError, SimulatorFault, nearest

MOST_SOURCE = 60_000
"""Longest template, in characters."""

MOST_PAGE = 1_000_000
"""Longest page, in characters."""

MOST_ITEMS = 50_000
MOST_WORK = 4_000_000
LONGEST = 5.0
"""Seconds that a page may take."""

ENDINGS = (".html", ".txt", ".csv")
"""The endings of templates: pages, and downloads."""

_FILTERS = (
    "abs", "default", "first", "float", "int", "items", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "reverse", "round", "select", "selectattr", "sort", "string", "title", "trim", "unique", "upper",
    "batch", "groupby", "truncate", "wordcount",
)  # fmt: skip
_RENDERING = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError, NameError)


class Callable:
    """A value that templates may call; subclasses define `__call__`."""

    __slots__ = ()


class _Sandbox(ChargedSandbox):
    most_source: ClassVar[int] = MOST_SOURCE
    most_depth: ClassVar[int] = 100
    too_long: ClassVar[str] = f"a template may have at most {MOST_SOURCE} characters"

    def __init__(self, sources: Mapping[str, str]) -> None:
        own = {"money": _money, "day": _day, "moment": _moment, "whole": _whole}
        super().__init__(
            _FILTERS, own, undefined=StrictUndefined, autoescape=_is_html, loader=DictLoader(sources), auto_reload=False
        )
        self.globals.clear()
        # Templates extend and import others by name, which would compile them again for every page.
        self.cache = create_cache(len(sources) + 1)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            # Each turn gives one text instead of one for every value in it, which all would go through every block around it.
            if next(loop.find_all((nodes.For, nodes.Block)), None) is None:
                whole = nodes.Filter(None, "whole", [], [], None, None, lineno=loop.lineno)
                loop.body = [nodes.FilterBlock(loop.body, whole, lineno=loop.lineno)]
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:
        # `order.items` means the column, not the method of dict.
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]  # pyright: ignore[reportUnknownVariableType]
        return super().getattr(obj, attribute)

    def is_safe_callable(self, obj: Any) -> bool:
        if isinstance(obj, Callable | Macro | BlockReference | LoopContext):
            return True
        return getattr(obj, "__name__", "") in READING_METHODS and isinstance(
            getattr(obj, "__self__", None), str | list | dict
        )


def _is_html(name: str | None) -> bool:
    # Downloads are plain text: in them nothing is markup.
    return name is None or name.endswith(".html")


def _whole(text: str) -> str:
    return text


def _money(amount: float) -> str:
    return f"€{amount:,.2f}"


def _day(text: str) -> str:
    return f"{date.fromisoformat(text[:10]):%-d %b %Y}"


def _moment(text: str) -> str:
    return f"{_day(text)}, {text[11:16]}"


class Templates:
    """The compiled templates of a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError, with file and line, for a template that does not compile."""
        self.folder = folder
        self.sources = _read(folder)
        self._sandbox = _Sandbox(self.sources)
        self._trees: dict[str, nodes.Template] = {}
        self._compiled: dict[str, Template] = {}
        self._names: dict[str, frozenset[str]] = {}
        for name, source in self.sources.items():
            try:
                self._trees[name] = self._sandbox.parse(source, name)
                self._compiled[name] = self._sandbox.get_template(name)
            except UNREADABLE as error:
                raise self._error(name, error) from None
        for name, tree in self._trees.items():
            for line, target in _named(tree):
                if target not in self.sources:
                    raise InputError(
                        f"there is no template {target!r}",
                        remedy=nearest(target, self.sources),
                        file=folder / name,
                        line=line,
                    )

    def check(self, name: str, known: frozenset[str]) -> None:
        """Raise InputError for a template, or one that it extends or includes, that names what nothing binds."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            tree = self._trees[one]
            for unknown in sorted(self._undeclared(one) - known):
                line = next((node.lineno for node in tree.find_all(nodes.Name) if node.name == unknown), 1)
                raise InputError(
                    f"the template names {unknown!r}, which nothing binds for {name}",
                    remedy=nearest(unknown, known),
                    file=self.folder / one,
                    line=line,
                )
            waiting += [target for _, target in _named(tree, imports=False)]

    def check_attributes(self, name: str, known: Collection[str]) -> None:
        """Raise InputError for a template that reads an attribute of `name` which it does not have."""
        for file, tree in self._trees.items():
            for node in tree.find_all(nodes.Getattr):
                if isinstance(node.node, nodes.Name) and node.node.name == name and node.attr not in known:
                    raise InputError(
                        f"the template reads {name}.{node.attr}, which does not exist",
                        remedy=nearest(node.attr, known),
                        file=self.folder / file,
                        line=node.lineno,
                    )

    def _undeclared(self, name: str) -> frozenset[str]:
        found = self._names.get(name)
        if found is None:
            tree = self._trees[name]
            found = self._names[name] = frozenset(find_undeclared_variables(tree)) - _bound(tree)
        return found

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return a page. Raises SimulatorFault for one that fails: its author is at fault."""
        allow(MOST_ITEMS, MOST_WORK, LONGEST)
        beyond = TooMuch(f"a page has at most {MOST_PAGE:,} characters")
        try:
            return written(self._compiled[name], values, most=MOST_PAGE, otherwise=beyond)
        except InputError as error:
            raise SimulatorFault(f"the template {name}: {error}") from None
        except _RENDERING as error:
            raise SimulatorFault(f"the template {name}, line {_line_of(error, name)}: {error}") from None

    def _error(self, name: str, error: Exception) -> InputError:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else 1
        where = error.name if isinstance(error, TemplateSyntaxError) and error.name else name
        return InputError(f"the template does not parse: {error}", file=self.folder / where, line=line)


def _read(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise InputError("there is no folder of templates", remedy=f"make {folder}")
    found: dict[str, str] = {}
    for path in sorted(one for one in folder.rglob("*") if one.suffix in ENDINGS):
        try:
            found[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the template cannot be read: {error}", file=path) from None
    return found


def _named(tree: nodes.Template, *, imports: bool = True) -> Iterator[tuple[int, str]]:
    """Yield line and name of every template that one names."""
    kinds = (nodes.Extends, nodes.Include, *((nodes.Import, nodes.FromImport) if imports else ()))
    for node in tree.find_all(kinds):
        target = node.template
        if not isinstance(target, nodes.Const) or not isinstance(target.value, str):
            raise TemplateNotFound("a template is named by a text in quotes")
        yield node.lineno, target.value


def _bound(tree: nodes.Template) -> frozenset[str]:
    """Return the names that a template binds outside its blocks; Jinja's own check forgets them inside."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, nodes.FromImport):
            found |= {name if isinstance(name, str) else name[1] for name in node.names}
        elif isinstance(node, nodes.Import):
            found.add(node.target)
        elif isinstance(node, nodes.Macro):
            found.add(node.name)
    return frozenset(found)


def _line_of(error: Exception, name: str) -> int:
    # Jinja rewrites tracebacks so that frames of templates carry their names and lines.
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(name) or trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line

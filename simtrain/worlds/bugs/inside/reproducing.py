"""Writes the failure of a test as a script that a user could have typed: what the test does up to there, and what comes out, printed."""

import ast
import builtins
import inspect
import textwrap
from pathlib import Path

_LONGEST = 4000


class Unwritable(Exception):
    """A failure that cannot be written as a script, and why."""


def script_of(item, failure):
    """Return the script for the failure of a test. Raises Unwritable."""
    function = getattr(item, "function", None)
    if function is None or inspect.iscoroutinefunction(function):
        raise Unwritable("not a plain function")
    function = inspect.unwrap(function)
    file = inspect.getsourcefile(function)
    tree = _parsed(function)
    line = _failing_line(failure, function) - function.__code__.co_firstlineno + 1
    module = ast.parse(Path(file).read_bytes())
    writer = _Writer(item, module)
    body = writer.statements(tree, line)
    script = writer.whole(body)
    if len(script) > _LONGEST:
        raise Unwritable("too long")
    return script


def _parsed(function):
    source = textwrap.dedent(inspect.getsource(function))
    found = ast.parse(source).body[0]
    if not isinstance(found, ast.FunctionDef):
        raise Unwritable("not a plain function")
    return found


def _failing_line(failure, function):
    """Return the line of a test's own file in which it failed."""
    for entry in reversed(list(failure.traceback)):
        if entry.frame.code.raw is function.__code__:
            return entry.lineno + 1
    raise Unwritable("it failed outside of the test's own lines")


class _Writer:
    """Collects what a script needs."""

    def __init__(self, item, module):
        self._item = item
        self._module = module
        self._globals = item.function.__globals__
        self._setup = []
        self._given = set()
        self._top = {}
        for node in module.body:
            for name in _bound(node):
                self._top[name] = node

    def statements(self, tree, line):
        """Return the test's statements up to the failing one, checks turned into calls, the last into output."""
        kept = []
        for node in _without_docstring(tree.body):
            if node.lineno <= line <= node.end_lineno:
                kept += _Printing().visit_all([node])
                break
            if node.lineno > line:
                raise Unwritable("it failed outside of the test's own lines")
            kept += _Plain().visit_all([node])
        else:
            raise Unwritable("it failed outside of the test's own lines")
        self._provide(tree, kept)
        return [*self._setup, *kept]

    def _provide(self, tree, kept):
        """Write where the arguments come from: parameters as assignments, fixtures as their own statements."""
        names = [one.arg for one in tree.args.args if one.arg != "self"]
        if any(one.arg == "self" for one in tree.args.args) and "self" in _used(kept):
            raise Unwritable("the test uses its class")
        used = _used(kept)
        for name in names:
            if name in used:
                self._argument(name)

    def _argument(self, name):
        if name in self._given:
            return
        self._given.add(name)
        params = getattr(getattr(self._item, "callspec", None), "params", {})
        if name in params:
            self._setup.append(_assignment(name, self._literal(params[name], name)))
            return
        if name == "tmp_path":
            self._setup += ast.parse(
                "import tempfile\nfrom pathlib import Path\ntmp_path = Path(tempfile.mkdtemp())"
            ).body
            return
        found = self._item._fixtureinfo.name2fixturedefs.get(name)
        if not found:
            raise Unwritable(f"no fixture {name}")
        self._fixture(name, found[-1])

    def _fixture(self, name, definition):
        function = inspect.unwrap(definition.func)
        if function.__globals__ is not self._globals:
            raise Unwritable(f"the fixture {name} is defined elsewhere")
        tree = _parsed(function)
        body = _without_docstring(tree.body)
        if not body or any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(tree)):
            raise Unwritable(f"the fixture {name} cleans up")
        last = body[-1]
        if not isinstance(last, ast.Return) or last.value is None:
            raise Unwritable(f"the fixture {name} returns nothing")
        if sum(isinstance(node, ast.Return) for node in ast.walk(tree)) > 1:
            raise Unwritable(f"the fixture {name} returns in several places")
        for argument in tree.args.args:
            self._argument(argument.arg)
        if isinstance(last.value, ast.Name) and last.value.id == name:
            self._setup += body[:-1]
        else:
            self._setup += [*body[:-1], _assignment(name, last.value)]

    def _literal(self, value, name):
        """Return an expression for a value. Raises Unwritable for a value whose text does not give it back."""
        text = repr(value)
        try:
            if eval(text, dict(self._globals)) == value:
                return ast.parse(text, mode="eval").body
        except Exception:
            pass
        raise Unwritable(f"the parameter {name} has no text that gives it back")

    def whole(self, body):
        """Return the script with its imports and what it uses of the test's file."""
        imports, definitions = [], []
        waiting, seen = sorted(_used(body)), set()
        local = {name for node in body for name in _bound(node, deep=True)}
        while waiting:
            name = waiting.pop(0)
            if name in seen or name in local or hasattr(builtins, name):
                continue
            seen.add(name)
            node = self._top.get(name)
            if node is None:
                raise Unwritable(f"{name} comes from elsewhere")
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                if getattr(node, "level", 0):
                    raise Unwritable("a relative import")
                imports.append((name, node))
            else:
                if isinstance(node, ast.FunctionDef) and node.decorator_list:
                    raise Unwritable(f"{name} is decorated")
                definitions.append(node)
                waiting += sorted(_used([node]) - set(_bound(node, deep=True)))
        lines = [*_written_imports(imports)]
        for node in sorted(_distinct(definitions), key=lambda one: one.lineno):
            lines += (
                ["", ast.unparse(node)] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else [ast.unparse(node)]
            )
        text = "\n".join(lines).strip("\n")
        body_text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in body)
        return f"{text}\n\n{body_text}\n" if text else f"{body_text}\n"


def _written_imports(imports):
    """Return the import statements, of each only the names that are used."""
    plain, named = [], {}
    for name, node in imports:
        alias = next(
            one for one in node.names if (one.asname or one.name.partition(".")[0]) == name or one.asname == name
        )
        if isinstance(node, ast.Import):
            plain.append(ast.unparse(ast.Import([alias])))
        elif node.module == "__future__":
            continue
        else:
            named.setdefault(node.module, []).append(alias)
    lines = sorted(set(plain))
    for module in sorted(named):
        aliases = sorted(named[module], key=lambda one: one.name)
        lines.append(ast.unparse(ast.ImportFrom(module, aliases, 0)))
    return lines


def _distinct(nodes):
    return {id(node): node for node in nodes}.values()


def _without_docstring(body):
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def _assignment(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)


def _bound(node, *, deep=False):
    """Return the names that a statement binds; `deep`: within it, too."""
    found = []
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        found += [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        found.append(node.name)
    if deep or isinstance(node, (ast.Assign, ast.AnnAssign)):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                found.append(inner.id)
            elif isinstance(inner, ast.arg) and deep:
                found.append(inner.arg)
            elif deep and isinstance(inner, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)) and inner.name:
                found.append(inner.name)
    return found


def _used(nodes):
    return {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def _calls(node):
    return any(isinstance(inner, (ast.Call, ast.Await)) for inner in ast.walk(node))


def _raises(node):
    """Return whether a `with` expects an error."""
    if not isinstance(node, ast.With) or len(node.items) != 1:
        return False
    call = node.items[0].context_expr
    return isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("raises", "assertRaises"))


class _Plain(ast.NodeTransformer):
    """Keeps what a test does before it fails: checks go, unless they call something."""

    def visit_all(self, nodes):
        """Return the statements that remain."""
        found = []
        for node in nodes:
            made = self.visit(node)
            found += made if isinstance(made, list) else [made] if made is not None else []
        return found

    def visit_FunctionDef(self, node):
        """Leave functions of the test alone."""
        return node

    def visit_Assert(self, node):
        """Drop a check, or keep its call."""
        side = _side(node.test)
        return ast.Expr(side) if _changes_something(side) else None

    def visit_With(self, node):
        """Keep what is expected to fail out: it did fail, and left nothing."""
        if _raises(node):
            if node.items[0].optional_vars is not None:
                raise Unwritable("it looks at an error")
            return None
        self.generic_visit(node)
        return node if node.body else None

    def visit_For(self, node):
        """Drop loops that only check."""
        self.generic_visit(node)
        return node if node.body else None


def _changes_something(node):
    """Return whether a checked expression is a call that might change what follows."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


class _Printing(_Plain):
    """Turns the failing statement into output."""

    def visit_Assert(self, node):
        """Print what is checked."""
        return _printed(_side(node.test))

    def visit_With(self, node):
        """Do what should fail; if it does not, print what it gives."""
        if not _raises(node):
            self.generic_visit(node)
            return node
        return [_printed(one.value) if isinstance(one, ast.Expr) and one is node.body[-1] else one for one in node.body]


def _printed(value):
    return ast.Expr(ast.Call(ast.Name("print", ast.Load()), [_repr(value)], []))


def _repr(value):
    return ast.Call(ast.Name("repr", ast.Load()), [value], [])


def _side(test):
    """Return the part of a check that is worth printing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _side(test.operand)
    if isinstance(test, ast.Call) and ast.unparse(test.func) in ("all", "any"):
        return test
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if (
            not _calls(left)
            and (_calls(right) or isinstance(left, ast.Constant))
            and not isinstance(test.ops[0], ast.Eq)
        ):
            return right
        if isinstance(left, ast.Constant) or (
            not _calls(left)
            and _calls(right)
            and not isinstance(left, (ast.Name, ast.Attribute, ast.Tuple, ast.Subscript))
        ):
            return right
        return left
    return test

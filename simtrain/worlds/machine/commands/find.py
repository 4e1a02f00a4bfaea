"""find: walks through directories and tests, lists or changes what is there."""

from simtrain.worlds.machine.accounts import READ, SEARCH
from simtrain.worlds.machine.commands.find_expression import Expression
from simtrain.worlds.machine.commands.find_tests import ExpressionError, Found, Search
from simtrain.worlds.machine.invocation import Invocation, Result, quoted

MOST_FILES = 200_000


def find(call: Invocation) -> Result:
    """Walk below the starting points, names in order, and carry out the expression for each file."""
    words = list(call.arguments)
    follow = False
    while words and words[0] in ("-L", "-H", "-P"):
        follow = words.pop(0) == "-L"
    starts: list[str] = []
    while words and not words[0].startswith("-") and words[0] not in ("(", "!", ")"):
        starts.append(words.pop(0))
    expression = Expression(words=words, call=call)
    try:
        expression.parse()
    except ExpressionError as error:
        return Result(stderr=f"{error}\n", exit_code=1)
    search = Search(call, call.now)
    walk = _Walk(search, expression, follow=follow)
    for start in starts or ["."]:
        walk.visit(start, call.path(start), 0, start)
    for command, paths in search.batches.values():
        result = call.run(quoted([*command, *paths]))
        search.output.append(result.stdout)
        search.errors.append(result.stderr)
        search.failed = search.failed or result.exit_code != 0
    return Result("".join(search.output), "".join(search.errors), 1 if search.failed else 0)


class _Walk:
    def __init__(self, search: Search, expression: Expression, *, follow: bool) -> None:
        self.search = search
        self.expression = expression
        self.follow = follow
        self.count = 0

    def visit(self, shown: str, path: str, depth: int, start: str) -> None:
        """Test a file and, if it is a directory, what is below it."""
        search, expression, files = self.search, self.expression, self.search.call.files
        if search.stopped:
            return
        try:
            node = files.node(path, follow=self.follow and files.exists(path))
        except OSError as error:
            self._complain(shown, error.strerror or "")
            return
        self.count += 1
        found = Found(shown, path, node, depth, start)
        if not expression.deepest_first:
            self._test(found)
        pruned, search.pruned = search.pruned, False
        if node.kind == "directory" and depth < expression.most and not pruned and not search.stopped:
            self._below(found)
        if expression.deepest_first:
            self._test(found)
            search.pruned = False

    def _below(self, found: Found) -> None:
        files = self.search.call.files
        if self.count > MOST_FILES or not files.user.may(READ, found.node) or not files.user.may(SEARCH, found.node):
            self._complain(found.shown, "Permission denied")
            return
        for name in files.names(found.path):
            shown = f"{found.shown}{name}" if found.shown.endswith("/") else f"{found.shown}/{name}"
            self.visit(shown, f"{found.path.rstrip('/')}/{name}", found.depth + 1, found.start)

    def _test(self, found: Found) -> None:
        expression = self.expression
        if found.depth < expression.least or self.search.stopped:
            return
        if expression.test(self.search, found) and not expression.acts:
            self.search.output.append(f"{found.shown}\n")

    def _complain(self, shown: str, text: str) -> None:
        self.search.errors.append(f"find: '{shown}': {text}\n")
        self.search.failed = True

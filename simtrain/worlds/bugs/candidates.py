"""All ways in which the operators and the history of a repository can break it, in an order that the seed decides."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from simtrain.values.errors import InputError
from simtrain.values.seeding import Root
from simtrain.worlds.bugs.healthy import HealthyRepository
from simtrain.worlds.bugs.operators import OPERATORS
from simtrain.worlds.bugs.source import Function, SourceFile, Splice, dump
from simtrain.worlds.repositories.history import CommittedTree
from simtrain.worlds.repositories.patches import applied, patch_between

REVERTED = "reverted_commit"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to break a repository: the files as they would be, and the lines (of the good files) that differ."""

    operator: str
    function: str
    changed: Mapping[str, bytes]
    spans: tuple[tuple[str, int, int], ...]


@dataclass(slots=True)
class Candidates:
    """The candidates by operator. `unread` are files that this Python cannot parse; `equivalent` counts what changes nothing."""

    by_operator: dict[str, list[Candidate]]
    equivalent: dict[str, int]
    unread: list[str]


def find_candidates(healthy: HealthyRepository, trees: Sequence[CommittedTree], *, seed: int) -> Candidates:
    """Return all candidates over the files that tests run."""
    found = Candidates({name: [] for name in (*OPERATORS, REVERTED)}, {}, [])
    seen: set[str] = set()
    for path in sorted(healthy.by_file):
        # Lines of a doctest in a page count as run, too.
        if path in healthy.test_files or path not in healthy.folder.files or not path.endswith(".py"):
            continue
        try:
            source = SourceFile(path, healthy.folder.text(path).encode())
        except (SyntaxError, ValueError, RecursionError):
            found.unread.append(path)
            continue
        for name, operator in OPERATORS.items():
            for splices in operator(source):
                if splices and not _in_the_dark(source, splices):
                    _note(found, seen, source, name, splices)
    for candidate in reverted(healthy, trees):
        found.by_operator[REVERTED].append(candidate)
    root = Root(seed, "bugs")
    for name, candidates in found.by_operator.items():
        found.by_operator[name] = root.stream(name).shuffled(candidates)
    return found


def _note(found: Candidates, seen: set[str], source: SourceFile, operator: str, splices: tuple[Splice, ...]) -> None:
    content = source.spliced(splices)
    try:
        meaning = source.path + dump(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if meaning in seen or meaning == source.path + ast.dump(source.tree):
        found.equivalent[operator] = found.equivalent.get(operator, 0) + 1
        return
    seen.add(meaning)
    main = splices[0]
    found.by_operator[operator].append(
        Candidate(operator, source.name_at(main.start), {source.path: content}, tuple(_spans(source, splices)))
    )


def _in_the_dark(source: SourceFile, splices: tuple[Splice, ...]) -> bool:
    """Return whether a change is one that no test can be asked about: words for people, what only type checkers read."""
    line = source.line_of(splices[0].start)
    text = source.content.split(b"\n")[line - 1].strip()
    return text.startswith((b"import ", b"from ", b"__all__", b"@overload"))


def _spans(source: SourceFile, splices: tuple[Splice, ...]) -> Iterator[tuple[str, int, int]]:
    """Yield the lines whose tests can notice a change: those of the statements, the body where a head changes."""
    for splice in splices:
        line = source.line_of(splice.start)
        inner = _innermost(source.tree.body, line)
        if inner is None or isinstance(inner, ast.Import | ast.ImportFrom):
            continue
        if isinstance(inner, Function):
            yield source.path, inner.body[0].lineno, inner.end_lineno or line
        else:
            yield source.path, inner.lineno, max(inner.lineno, source.line_of(splice.end), _head_end(inner))


def _head_end(node: ast.stmt) -> int:
    """Return the last line of a statement, of a compound one the last before its block."""
    body: list[ast.stmt] = getattr(node, "body", [])
    return max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno


def _innermost(body: list[ast.stmt], line: int) -> ast.stmt | None:
    """Return the innermost statement of a line; for the head of a block the statement with the block."""
    for node in body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        if not first <= line <= (node.end_lineno or first):
            continue
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block: list[ast.stmt | ast.ExceptHandler | ast.match_case] = getattr(node, name, [])
            for part in block:
                inner = _innermost([part] if isinstance(part, ast.stmt) else part.body, line)
                if inner is not None:
                    return inner
        return node
    return None


def reverted(healthy: HealthyRepository, trees: Sequence[CommittedTree]) -> Iterator[Candidate]:
    """Yield what the files would be without one commit: its changes to the code, not those to the tests, are taken back."""
    files = healthy.folder.texts
    for before, after in pairwise(trees):
        touched = [
            path
            for path in sorted({*before.files, *after.files})
            if path.endswith(".py")
            and path not in healthy.test_files
            and before.files.get(path) != after.files.get(path)
            # A whole new file is a feature, which nobody would report as broken.
            and path in before.files
            and path in after.files
        ]
        if not touched:
            continue
        patch = patch_between(
            {path: before.files[path] for path in touched}, {path: after.files[path] for path in touched}
        )
        try:
            reverted_files = applied(files, patch, back=True)
        except InputError:
            # Later commits changed the same lines.
            continue
        changed = {path: reverted_files[path].encode() for path in touched if reverted_files[path] != files[path]}
        spans = tuple(span for path in changed for span in _differing(path, files[path], reverted_files[path]))
        if changed and spans:
            first = spans[0]
            try:
                source = SourceFile(first[0], files[first[0]].encode())
            except (SyntaxError, ValueError, RecursionError):
                continue
            yield Candidate(REVERTED, source.name_at(source.at(first[1], 0)), changed, spans)


def _differing(path: str, good: str, bad: str) -> Iterator[tuple[str, int, int]]:
    old, new = good.split("\n"), bad.split("\n")
    for kind, low, high, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            # What was taken out shows on the lines about it.
            yield path, max(1, low), max(high, low + 1)

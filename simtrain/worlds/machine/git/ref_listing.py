"""for-each-ref, and the choice and order of refs that branch and tag share with it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from shlex import quote

from simtrain.worlds.handlers.git.branches import detached
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.repository import HEADS, SYMBOLIC
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.git.bisect_state import Bisection
from simtrain.worlds.machine.git.peeling import named_object, peeled
from simtrain.worlds.machine.git.ref_format import Ref, RefWriter, check_field, field_text, person
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_USAGE = "usage: git for-each-ref [<options>] [<pattern>]"
_VALUES = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
_NUMBERS = ("objectsize", "numparent")
_FORM = "%(objectname) %(objecttype)\t%(refname)"


@dataclass(slots=True)
class RefChoice:
    """Which refs are asked for, and in which order."""

    tests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    keys: list[str] = field(default_factory=list[str])
    form: str | None = None
    ignores_case: bool = False

    def take(self, word: str, rest: list[str]) -> bool:
        """Return whether a word is an option about the choice of refs, and note it with its value."""
        name, equals, value = word.partition("=")
        if name in _VALUES:
            self.tests.append((name, value if equals else rest.pop(0) if rest else "HEAD"))
        elif name in ("--sort", "--format"):
            if not equals and not rest:
                raise GitStop(f"error: option `{name[2:]}' requires a value", 129)
            given = value if equals else rest.pop(0)
            if name == "--sort":
                self.keys.append(given)
            else:
                self.form = given
        elif word in ("-i", "--ignore-case"):
            self.ignores_case = True
        else:
            return False
        return True

    def chosen(self, session: GitSession, found: Sequence[Ref]) -> list[Ref]:
        """Return those of some refs that fit, in order."""
        for name, value in self.tests:
            fits = _test(session, name, value)
            found = [ref for ref in found if fits(ref.sha)]
        return ordered(session, found, self.keys, ignores_case=self.ignores_case)


def _test(session: GitSession, name: str, value: str) -> Callable[[str], bool]:
    repository = session.repository
    sha = named_object(session, value)
    if sha is None:
        if name in ("--merged", "--no-merged"):
            raise GitStop(f"fatal: malformed object name {value}")
        shown = f"'{value}'" if name == "--points-at" else value
        raise GitStop(f"error: malformed object name {shown}", 129)
    if name == "--points-at":
        return lambda one: sha in (one, peeled(repository, one))
    target = peeled(repository, sha)
    if repository.kind(target) != "commit":
        raise GitStop(f"error: no such commit {value}", 129)
    above = reachable(repository, target) if "merged" in name else set[str]()

    def fits(one: str) -> bool:
        commit = peeled(repository, one)
        if repository.kind(commit) != "commit":
            return False
        found = commit in above if "merged" in name else target in reachable(repository, commit)
        return found != name.startswith("--no-")

    return fits


def ordered(session: GitSession, found: Sequence[Ref], keys: Sequence[str], *, ignores_case: bool = False) -> list[Ref]:
    """Return refs sorted by fields, of which the last counts most, and by name. Raises GitStop for a field that is none."""
    kept = sorted(found, key=lambda ref: ref.name.encode())
    for key in keys:
        plain = key.removeprefix("-")
        check_field("version:refname" if plain in ("v:refname", "version:refname") else plain)
        # The text of a date says nothing of its order.
        kept.sort(key=_sort_key(session, plain, ignores_case=ignores_case), reverse=key.startswith("-"))
    return kept


def _sort_key(session: GitSession, key: str, *, ignores_case: bool) -> Callable[[Ref], tuple[int | str, ...]]:
    plain = key.partition(":")[0].removeprefix("*")

    def value(ref: Ref) -> tuple[int | str, ...]:
        if key in ("v:refname", "version:refname"):
            parts = re.split(r"(\d+)", ref.name)
            return tuple(int(part) if number % 2 else part for number, part in enumerate(parts))
        if plain.endswith("date"):
            sha = peeled(session.repository, ref.sha) if key.startswith("*") else ref.sha
            role = plain.removesuffix("date")
            if role == "creator":
                role = "tagger" if session.repository.kind(sha) == "tag" else "committer"
            who = person(session, sha, role)
            return (who.seconds if who else 0,)
        text = field_text(session, ref, key)
        if plain in _NUMBERS:
            return (int(text or 0),)
        return (text.lower() if ignores_case else text,)

    return value


def all_refs(session: GitSession, below: str | tuple[str, ...] = "refs/") -> list[Ref]:
    """Return the refs whose names begin so. Raises GitStop for one whose object is missing."""
    repository = session.repository
    found: list[Ref] = []
    for name, held in repository.refs().items():
        if not name.startswith(below):
            continue
        sha = repository.ref(name)
        if sha is None or not re.fullmatch("[0-9a-f]{40}", sha):
            session.warn(f"warning: ignoring broken ref {name}")
            continue
        if repository.kind(sha) is None:
            raise GitStop(f"fatal: missing object {sha} for {name}")
        found.append(Ref(name, sha, held.removeprefix(SYMBOLIC) if held.startswith(SYMBOLIC) else ""))
    return found


def for_each_ref(session: GitSession) -> None:
    """List refs in a format."""
    choice, words, patterns = RefChoice(), list(session.words), list[str]()
    count, how = 0, str
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if choice.take(word, words) or word in ("--color", "--no-color") or name == "--color":
            continue
        if name == "--count":
            value = value if equals else words.pop(0) if words else ""
            if not value.isdigit():
                raise GitStop("error: option `count' expects a numerical value", 129)
            count = int(value)
        elif word in ("-s", "--shell", "-p", "--perl", "--python", "--tcl"):
            how = _quote if word in ("-s", "--shell") else _escaped if word != "--tcl" else _in_tcl
        elif word == "--":
            patterns += words
            break
        elif word.startswith("-"):
            raise unknown_option(word, _USAGE)
        else:
            patterns.append(word)
    writer = RefWriter(session, _FORM if choice.form is None else choice.form, quote=how)
    found = [ref for ref in all_refs(session) if not patterns or any(fits_pattern(ref.name, one) for one in patterns)]
    chosen = choice.chosen(session, found)
    session.output += [f"{writer.text(ref)}\n" for ref in (chosen[:count] if count else chosen)]


def fits_pattern(name: str, pattern: str) -> bool:
    """Return whether a full name is a pattern, lies below it, or fits it; `*` stops at a slash."""
    plain = pattern.rstrip("/")
    if name == plain or name.startswith(f"{plain}/"):
        return True
    try:
        return expression("".join(_regular(part) for part in _PARTS.findall(pattern)), syntax="perl").fits(name)
    except ExpressionProblem:
        return False


_PARTS = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|\\.|.", re.DOTALL)
_MARKS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _regular(part: str) -> str:
    """Return a part of a pattern as a regular expression."""
    if part in _MARKS:
        return _MARKS[part]
    if len(part) > 2 and part.startswith("["):
        return f"[^{part[2:]}" if part[1] in "!^" else part
    return re.escape(part[-1] if part.startswith("\\") else part)


def _quote(text: str) -> str:
    return quote(text) if "'" in text else f"'{text}'"


def _escaped(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _in_tcl(text: str) -> str:
    return '"' + re.sub(r'([\[\]{}$\\"])', r"\\\1", text).replace("\n", "\\n") + '"'


# What branch and tag list.


def list_in_form(
    session: GitSession, choice: RefChoice, kinds: tuple[str, ...], patterns: Sequence[str], form: str
) -> list[str]:
    """Return the branches or tags that are asked for, each in the format of the call, or else in this one."""
    writer = RefWriter(session, form if choice.form is None else choice.form)
    found = [ref for ref in all_refs(session, kinds) if not patterns or _fits_short(ref.name, kinds, patterns)]
    chosen = choice.chosen(session, found)
    head = session.head
    if HEADS in kinds and head and session.branch is None and not patterns:
        state = Bisection(session.repository)
        place = f"no branch, bisect started on {state.began_on}" if state.begun else detached(session.repository)
        own = Ref(f"({place})", head)
        chosen = [*choice.chosen(session, [own]), *chosen]
    return [writer.text(ref) for ref in chosen]


def _fits_short(name: str, kinds: Sequence[str], patterns: Sequence[str]) -> bool:
    short = next(name.removeprefix(kind) for kind in kinds if name.startswith(kind))
    return any(fnmatchcase(short, pattern) for pattern in patterns)

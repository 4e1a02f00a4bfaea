"""name-rev: commits named by the refs that lead to them, such as `tags/v1.0~3`."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from simtrain.worlds.handlers.git.repository import HEADS, TAGS
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.peeling import named_object, peeled
from simtrain.worlds.machine.git.ref_format import Ref
from simtrain.worlds.machine.git.ref_listing import all_refs
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_ASIDE = 65_535
"""What a step to another parent than the first counts, so that ways along first parents win."""
_USAGE = "usage: git name-rev [<options>] <commit>..."
_KNOWN = {
    "--name-only", "--tags", "--all", "--stdin", "--annotate-stdin", "--undefined", "--no-undefined", "--always",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of a commit: the one that its way begins at, the steps to first parents behind that, and how long the way is."""

    start: str
    steps: int
    distance: int
    is_tag: bool
    date: int

    @property
    def rank(self) -> tuple[bool, int, int]:
        """What decides between two names: the smaller one counts. Of tags, the nearer one counts whatever its date is."""
        return not self.is_tag, self.distance, 0 if self.is_tag else self.date

    @property
    def text(self) -> str:
        return f"{self.start.removesuffix('^0')}~{self.steps}" if self.steps else self.start


def name_rev(session: GitSession) -> None:
    """Name commits by refs."""
    flags = {word for word in session.words if word.startswith("-")}
    for flag in flags:
        if flag not in _KNOWN and not flag.startswith(("--refs=", "--exclude=", "--no-refs", "--no-exclude")):
            raise unknown_option(flag, _USAGE)
    names = _Names(session, flags)
    if flags & {"--stdin", "--annotate-stdin"}:
        if "--stdin" in flags:
            session.warn(
                "warning: --stdin is deprecated. Please use --annotate-stdin instead, which is functionally equivalent.\n"
                "This option will be removed in a future release."
            )
        session.output.append(names.annotated(session.call.stdin or ""))
    elif "--all" in flags:
        session.output += [f"{names.line(sha, sha)}\n" for sha in sorted(names.found)]
    else:
        for word in session.words:
            if word.startswith("-"):
                continue
            sha = named_object(session, word)
            if sha is None:
                session.warn(f"Could not get sha1 for {word}. Skipping.")
                continue
            session.say(names.line(sha, word))


class _Names:
    """The best name of each commit."""

    def __init__(self, session: GitSession, flags: set[str]) -> None:
        self._repository = session.repository
        self._flags = flags
        self.found: dict[str, _Name] = {}
        self._exact: dict[str, str] = {}
        starts: list[tuple[bool, int, str, str]] = []
        for ref in all_refs(session):
            shown = _shown(ref, flags)
            if shown is None:
                continue
            end = peeled(self._repository, ref.sha)
            self._exact.setdefault(ref.sha, shown)
            if self._repository.kind(end) != "commit":
                continue
            if end != ref.sha:
                date, start = self._repository.tag_text(ref.sha).tagger.seconds, f"{shown}^0"
            else:
                date, start = self._repository.commit(end).committer.seconds, shown
            starts.append((not ref.name.startswith(TAGS), date, start, end))
        for is_other, date, start, end in sorted(starts, key=lambda one: one[:2]):
            _spread(self._repository, self.found, end, _Name(start, 0, 0, not is_other, date))

    def text(self, sha: str) -> str | None:
        """Return the name of an object; None if no ref leads to it."""
        name = self.found.get(sha)
        return name.text if name else self._exact.get(sha)

    def line(self, sha: str, shown: str) -> str:
        """Return a line of the list. Raises GitStop for an object without a name where one is required."""
        name = self.text(sha)
        if name is None and "--no-undefined" in self._flags:
            if "--always" not in self._flags:
                raise GitStop(f"fatal: cannot describe '{sha}'")
            name = self._repository.abbreviated(sha)
        name = name or "undefined"
        return name if "--name-only" in self._flags else f"{shown} {name}"

    def annotated(self, text: str) -> str:
        """Return a text with a name behind each id in it."""

        def put(found: re.Match[str]) -> str:
            name = self.text(found[0])
            if name is None:
                return found[0]
            return name if "--name-only" in self._flags else f"{found[0]} ({name})"

        return re.sub(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", put, text)


def _shown(ref: Ref, flags: set[str]) -> str | None:
    """Return how names that begin at a ref call it; None for a ref that none may begin at."""
    name = ref.name
    if "--tags" in flags and not name.startswith(TAGS):
        return None
    wanted = [flag.partition("=")[2] for flag in flags if flag.startswith("--refs=")]
    unwanted = [flag.partition("=")[2] for flag in flags if flag.startswith("--exclude=")]
    parts = name.split("/")
    ends = ["/".join(parts[place:]) for place in range(len(parts))]
    if any(fnmatchcase(end, pattern) for end in ends for pattern in unwanted):
        return None
    if wanted and not any(fnmatchcase(end, pattern) for end in ends for pattern in wanted):
        return None
    inner = any(fnmatchcase(end, pattern) for end in ends[1:] for pattern in wanted)
    if "--name-only" in flags and ("--tags" in flags or inner):
        return name.removeprefix(TAGS).removeprefix(HEADS)
    return name.removeprefix(HEADS) if name.startswith(HEADS) else name.removeprefix("refs/")


def _spread(repository: FolderRepository, found: dict[str, _Name], start: str, name: _Name) -> None:
    """Give a commit and those behind it names that begin at a ref, where they have no better ones."""
    waiting = [(start, name)]
    while waiting:
        sha, name = waiting.pop()
        held = found.get(sha)
        if held is not None and held.rank <= name.rank:
            continue
        found[sha] = name
        for number, parent in reversed(list(enumerate(repository.commit(sha).parents, 1))):
            if number == 1:
                below = _Name(name.start, name.steps + 1, name.distance + 1, name.is_tag, name.date)
            else:
                begin = f"{name.text.removesuffix('^0')}^{number}"
                below = _Name(begin, 0, name.distance + _ASIDE, name.is_tag, name.date)
            waiting.append((parent, below))

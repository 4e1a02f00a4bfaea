"""The state of a bisection, in the files in which git keeps it."""

from collections.abc import Sequence
from shlex import split

from simtrain.worlds.handlers.git.repository import HEADS
from simtrain.worlds.machine.git.folder import FolderRepository

_FILES = ("BISECT_START", "BISECT_LOG", "BISECT_TERMS", "BISECT_NAMES", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
          "BISECT_RUN")  # fmt: skip
_REFS = "refs/bisect/"


def quoted_words(words: Sequence[str]) -> str:
    """Return words as git quotes them: each behind a space and in single quotes."""
    return "".join(" '" + word.replace("'", "'\\''").replace("!", "'\\!'") + "'" for word in words)


class Bisection:
    """The state of the bisection of a repository, which may not have begun."""

    def __init__(self, repository: FolderRepository) -> None:
        self._repository = repository

    @property
    def begun(self) -> bool:
        """Whether a bisection is under way."""
        return self._repository.text("BISECT_START") is not None

    @property
    def origin(self) -> str:
        """The branch or commit from which it began."""
        return (self._repository.text("BISECT_START") or "").strip()

    @property
    def began_on(self) -> str:
        """The same as git shows it: a branch's name, or a short id."""
        repository, origin = self._repository, self.origin
        return origin if repository.ref(f"{HEADS}{origin}") else repository.abbreviated(origin)

    @property
    def terms(self) -> tuple[str, str]:
        """The words for the state after the change and for the one before it."""
        words = (self._repository.text("BISECT_TERMS") or "").split()
        return (words[0], words[1]) if len(words) == 2 else ("bad", "good")

    @property
    def paths(self) -> list[str]:
        """The paths that it is limited to, from the root of the working tree."""
        return [word for word in split(self._repository.text("BISECT_NAMES") or "") if word != "--"]

    @property
    def bad(self) -> str | None:
        """The commit known to be bad."""
        return self._repository.target(f"{_REFS}{self.terms[0]}")

    @property
    def good(self) -> dict[str, None]:
        """The commits known to be good."""
        return self._marked(self.terms[1])

    @property
    def skipped(self) -> set[str]:
        """The commits that cannot be tested."""
        return {*self._marked("skip")}

    def _marked(self, word: str) -> dict[str, None]:
        prefix = f"{_REFS}{word}-"
        return {sha: None for ref, sha in self._repository.refs(_REFS).items() if ref.startswith(prefix)}

    def begin(self, origin: str, paths: Sequence[str], written: Sequence[str]) -> None:
        """Begin anew."""
        self._repository.put_text("BISECT_START", f"{origin}\n")
        self._repository.put_text("BISECT_NAMES", f"{quoted_words(written)}\n")
        self._repository.put_text("BISECT_LOG", "")

    def clear(self) -> None:
        """Forget everything."""
        for ref in self._repository.refs(_REFS):
            self._repository.remove_ref(ref)
        for name in _FILES:
            self._repository.drop(name)

    def accepts(self, word: str) -> bool:
        """Return True for a word that fits those used so far: bad and good, or new and old."""
        return self._repository.text("BISECT_TERMS") is None or word in self.terms

    def take_terms(self, word: str) -> None:
        """Keep to the pair of words that a word belongs to."""
        if self._repository.text("BISECT_TERMS") is None:
            self._repository.put_text("BISECT_TERMS", "new\nold\n" if word in ("new", "old") else "bad\ngood\n")

    def mark(self, kind: str, sha: str) -> None:
        """Mark a commit as `bad`, `good` or `skip`."""
        if kind != "skip":
            self.take_terms("bad")
        word = {"bad": self.terms[0], "good": self.terms[1]}.get(kind, kind)
        self._repository.set_ref(f"{_REFS}{word}" if kind == "bad" else f"{_REFS}{word}-{sha}", sha)
        self.log(f"# {word}: {self.named(sha)}")

    def log(self, line: str) -> None:
        """Add a line to the log."""
        self._repository.put_text("BISECT_LOG", f"{self._repository.text('BISECT_LOG') or ''}{line}\n")

    def named(self, sha: str) -> str:
        """Return a commit's id in brackets, and its subject."""
        return f"[{sha}] {self._repository.commit(sha).message.partition(chr(10))[0]}"

    def expects(self, sha: str) -> bool:
        """Return True for the commit that was checked out to be tested."""
        return (self._repository.text("BISECT_EXPECTED_REV") or "").strip() == sha

    def unexpected(self, sha: str) -> None:
        """Forget what was checked of ancestors if a commit is marked that was not to be tested."""
        if not self.expects(sha):
            self._repository.drop("BISECT_ANCESTORS_OK")
            self._repository.drop("BISECT_EXPECTED_REV")

    def waiting(self) -> str | None:
        """Return what the bisection waits for; None if it can go on."""
        # In these words whatever the terms are.
        count = len(self.good)
        if self.bad is not None:
            return None if count else "status: waiting for good commit(s), bad commit known"
        if count:
            return f"status: waiting for bad commit, {count} good commit{'s' if count != 1 else ''} known"
        return "status: waiting for both good and bad commits"

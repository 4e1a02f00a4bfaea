"""The commits of a folder of code, made anew in a git repository of a machine."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.worlds.bugs.task import LaterCommit
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.invocation import Result
from simtrain.worlds.repositories.commits import CommittedPast
from simtrain.worlds.repositories.patches import applied


class Committing(Protocol):
    """Carries out commands of git at moments of the past."""

    def run(
        self, files: Files, path: str, words: Sequence[str], who: tuple[str, str], moment: tuple[float, str]
    ) -> Result: ...

    def set_time(self, moment: float) -> None: ...


class PastCommits:
    """Commits made one after the other in a new repository; `who` and `moment` are those of the last."""

    def __init__(self, maker: Committing, files: Files, path: str, branch: str) -> None:
        self._maker = maker
        self._files = files
        self._path = path
        self._branch = branch
        self._repository = FolderRepository(files, path)
        self.who = ("", "")
        self.moment = (0.0, "+0000")
        self.made: list[tuple[int, str, str]] = []
        """Number of the tree, name of the commit, and subject."""

    def make(self, past: CommittedPast) -> None:
        """Make the commits; one that changes nothing is left out. Raises InputError for files that cannot be written."""
        before: Mapping[str, str] = {}
        for number, tree in enumerate(past.trees):
            self._person(tree.commit.author, tree.commit.date)
            changed = {path: text for path, text in tree.files.items() if before.get(path) != text}
            gone = [path for path in before if path not in tree.files]
            if number == 0:
                self._git("init", "-q", "-b", self._branch)
                for path, content in past.further.items():
                    self._put(path, content)
            elif not changed and not gone:
                continue
            for path, text in changed.items():
                self._put(path, text.encode())
            self._repository.put_files(dict.fromkeys(gone))
            self._git("add", "-A")
            self._git("commit", "-q", "-m", tree.commit.message)
            self.made.append((number, self._repository.ref("HEAD") or "", tree.commit.subject))
            before = tree.files

    def make_later(self, later: Sequence[LaterCommit], files: Mapping[str, str]) -> None:
        """Make each commit on a branch that begins where the history ended; what is checked out in the end is the first branch."""
        for commit in later:
            self._person(commit.author, commit.date)
            self._git("checkout", "-q", *([] if commit.branch == self._branch else ["-b"]), commit.branch)
            for path, text in applied(files, commit.changes).items():
                if files.get(path) != text:
                    self._put(path, text.encode())
            self._git("add", "-A")
            self._git("commit", "-q", "-m", commit.message)
            self._git("checkout", "-q", "--detach", f"{commit.branch}~1")
        if later:
            self._git("checkout", "-q", self._branch)

    def _person(self, author: str, date: str) -> None:
        name, _, mail = author.rpartition(" <")
        self.who = name or author, mail.removesuffix(">")
        self.moment = instant(date), "+0000"
        self._maker.set_time(self.moment[0])

    def _put(self, path: str, content: bytes) -> None:
        try:
            self._repository.put_file(path, "100644", content)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    def _git(self, *words: str) -> None:
        result = self._maker.run(self._files, self._path, words, self.who, self.moment)
        if result.exit_code:
            said = (result.stderr.strip() or result.stdout.strip() or "?").splitlines()[0]
            raise InputError(f"git {words[0]} fails: {said}")

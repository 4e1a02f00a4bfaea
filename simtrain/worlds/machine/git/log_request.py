"""What the words after `git log` and `git show` ask for."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.deltas import Delta, Side
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import EMPTY_TREE, TreeEntry
from simtrain.worlds.handlers.git.patch import edits
from simtrain.worlds.handlers.git.revisions import full_name
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.expressions import RegularExpression
from simtrain.worlds.machine.git.folder import signed
from simtrain.worlds.machine.git.formats import CommitWriter, Move
from simtrain.worlds.machine.git.listing import Wish
from simtrain.worlds.machine.git.notes import noted
from simtrain.worlds.machine.git.session import GitSession, GitStop, expression_of, matching
from simtrain.worlds.machine.git.walking import Range, commits, in_graph_order, touching

T = TypeVar("T")

AMBIGUOUS = (
    "fatal: ambiguous argument '{}': unknown revision or path not in the working tree.\n"
    "Use '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'"
)


class LogRequest:
    """What is asked of a log."""

    def __init__(self, session: GitSession) -> None:
        self.session = session
        self.range = Range()
        self.wish = Wish()
        self.specs: list[str] = []
        self.objects: list[str] = []
        self.form = session.setting("format.pretty") or "medium"
        self.formed = False
        self.date = session.setting("log.date") or "default"
        self.most: int | None = None
        self.skip = 0
        self.flags: set[str] = set()
        self.texts: dict[str, str] = {}
        # The name that a followed file has in each commit.
        self.names: dict[str, str] = {}
        # All commits that a graph leads through, also those that are not shown for their number.
        self.walked: list[str] = []
        self._right: set[str] | None = None
        self._read(list(session.words))

    def _read(self, words: list[str]) -> None:
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if word == "--":
                self.specs += self.session.paths(words)
                return
            if re.fullmatch(r"-\d+", word):
                self.most = int(word[1:])
            elif re.fullmatch(r"-n\d*", word) or name == "--max-count":
                self.most = int(word[2:] or words.pop(0)) if word.startswith("-n") else int(value or words.pop(0))
            elif word == "--oneline":
                self.form, self.formed = "oneline", True
                self.flags.add("--abbrev-commit")
            elif name in ("--format", "--pretty"):
                # A format without a name of its own ends each commit with a newline.
                self.form, self.formed = value if equals else "medium", True
            elif name in (
                "--author",
                "--committer",
                "--grep",
                "--since",
                "--after",
                "--until",
                "--before",
                "--skip",
                "--date",
                "-S",
                "-G",
            ):
                self.texts[name] = value if equals else words.pop(0)
            elif word[:2] in ("-S", "-G") and len(word) > 2:
                self.texts[word[:2]] = word[2:]
            elif name == "--decorate":
                self.flags.discard("--decorate")
                if value != "no":
                    self.flags.add("--decorate")
            elif word in _FLAGS:
                self.flags.add(word)
            elif word in ("--all", "--branches", "--tags", "--remotes"):
                self.flags.add(word)
                self.range.take_refs(self.session, word)
            elif self.wish.take(word, words) or (
                word.startswith("-") and not word.startswith("--") and word != "-" and word[1:2] in "SG"
            ):
                continue
            elif word.startswith("-"):
                raise GitStop(f"fatal: unrecognized argument: {word}")
            else:
                self._revision_or_path(word)
        self.date = self.texts.get("--date", self.date)
        self.skip = int(self.texts.get("--skip", 0))

    def _revision_or_path(self, word: str) -> None:
        session = self.session
        found = session.maybe(word) if ".." not in word or word.startswith("..") else None
        if found is not None and found.kind != "commit":
            self.objects.append(word)
            return
        if not self.specs and self.range.take(session, word):
            self.objects.append(word)
            return
        path = session.paths([word])[0]
        if not session.call.files.exists(f"{session.repository.path}/{path}", follow=False):
            if session.head is None:
                raise GitStop(f"fatal: your current branch '{session.branch}' does not have any commits yet")
            raise GitStop(AMBIGUOUS.format(word))
        self.specs.append(path)

    def chosen(self) -> list[str]:
        """Return the commits to be shown, in order."""
        session, flags = self.session, self.flags
        repository = session.repository
        if "--no-walk" in flags:
            return list(self.range.wanted)
        found = commits(session, self.range)
        if "--first-parent" in flags:
            found = self._first_parents(found)
        found = self._fitting(found)
        if "--graph" in flags or "--topo-order" in flags:
            found = in_graph_order(repository, found)
        self.walked = found
        return self._part(found)

    def moves(self) -> list[tuple[str, Move]]:
        """Return the commits that a log of a ref leads through, the last one first, each with its entry (-g)."""
        name = self.objects[0] if self.objects else "HEAD"
        repository = self.session.repository
        ref = "HEAD" if name == "HEAD" else full_name(repository, name)
        if ref is None:
            raise GitStop(AMBIGUOUS.format(name))
        entries = [entry for entry in repository.log(ref) if repository.kind(entry["new"]) == "commit"]
        fitting = set(self._fitting(list(dict.fromkeys(str(entry["new"]) for entry in entries))))
        found = [
            (str(entry["new"]), Move(f"{name}@{{{number}}}", signed(entry["by"]), entry["message"]))
            for number, entry in enumerate(entries)
            if entry["new"] in fitting
        ]
        return self._part(found)

    def _fitting(self, found: list[str]) -> list[str]:
        """Return those of some commits that have what is asked for."""
        session, texts, flags = self.session, self.texts, self.flags
        repository = session.repository
        since = texts.get("--since") or texts.get("--after")
        until = texts.get("--until") or texts.get("--before")
        if since:
            first = _seconds(session, since)
            found = [sha for sha in found if repository.commit(sha).committer.seconds >= first]
        if until:
            last = _seconds(session, until)
            found = [sha for sha in found if repository.commit(sha).committer.seconds <= last]
        for name, role in (("--author", "author"), ("--committer", "committer")):
            if name in texts:
                pattern = self._expression(texts[name])
                found = [
                    sha
                    for sha in found
                    if pattern.finds(
                        f"{getattr(repository.commit(sha), role).name} <{getattr(repository.commit(sha), role).email}>"
                    )
                ]
        if "--grep" in texts:
            pattern = self._expression(texts["--grep"])
            inverted = "--invert-grep" in flags
            found = [
                sha
                for sha in found
                if any(pattern.finds(line) for line in repository.commit(sha).message.splitlines()) != inverted
            ]
        if "--merges" in flags:
            found = [sha for sha in found if len(repository.commit(sha).parents) > 1]
        if "--no-merges" in flags:
            found = [sha for sha in found if len(repository.commit(sha).parents) < 2]
        if "--follow" in flags and len(self.specs) == 1:
            found = self._following(found, self.specs[0])
        elif self.specs:
            found = touching(session, found, self.specs)
        if "-S" in texts or "-G" in texts:
            found = [sha for sha in found if self._picked(sha)]
        if self.wish.letters:
            found = [sha for sha in found if self.wish.kept(self.deltas(sha))]
        return found

    def _part(self, found: list[T]) -> list[T]:
        """Return the part that is asked for of what was found."""
        found = found[self.skip :]
        if self.most is not None and self.most >= 0:
            found = found[: self.most]
        return list(reversed(found)) if "--reverse" in self.flags else found

    def _first_parents(self, found: Sequence[str]) -> list[str]:
        kept, repository = list[str](), self.session.repository
        at: str | None = found[0] if found else None
        while at is not None and at in set(found):
            kept.append(at)
            parents = repository.commit(at).parents
            at = parents[0] if parents else None
        return kept

    def _expression(self, text: str) -> RegularExpression:
        flags = self.flags
        fixed, extended = flags & {"-F", "--fixed-strings"}, flags & {"-E", "--extended-regexp"}
        syntax = "fixed" if fixed else "perl" if "-P" in flags else "extended" if extended else "basic"
        return expression_of(text, syntax=syntax, ignore_case=bool(flags & {"-i", "--regexp-ignore-case"}))

    def _picked(self, sha: str) -> bool:
        for delta in self.deltas(sha):
            old, new = delta.old.content if delta.old else b"", delta.new.content if delta.new else b""
            if "-S" in self.texts and old.count(self.texts["-S"].encode()) != new.count(self.texts["-S"].encode()):
                return True
            if "-G" in self.texts:
                pattern = self._expression(self.texts["-G"])
                left, right = lines_of(old), lines_of(new)
                for one in edits(left, right):
                    changed = [*left[one.old : one.old + one.old_count], *right[one.new : one.new + one.new_count]]
                    if any(pattern.finds(line) for line in changed):
                        return True
        return False

    def _following(self, found: Sequence[str], path: str) -> list[str]:
        """Return the commits that change a file, also under the names that it had before."""
        kept: list[str] = []
        for sha in found:
            if len(self.session.repository.commit(sha).parents) > 1:
                continue
            change = next((delta for delta in self.deltas(sha) if delta.path == path), None)
            if change is None:
                continue
            kept.append(sha)
            self.names[sha] = path
            if change.alike is not None and change.old is not None:
                path = change.old.path
        return kept

    def deltas(self, sha: str, parent: int = 0) -> list[Delta]:
        """Return the differences of a commit from one of its parents."""
        repository = self.session.repository
        commit = repository.commit(sha)
        before = repository.commit(commit.parents[parent]).tree if commit.parents else EMPTY_TREE
        return compared(repository, repository.files(before), repository.files(commit.tree))

    def merged(self, sha: str) -> list[tuple[str, list[Side | None], Side | None]]:
        """Return the files in which a merge differs from all its parents: path, each parent's, and its own."""
        repository, commit = self.session.repository, self.session.repository.commit(sha)
        trees = [repository.files(repository.commit(parent).tree) for parent in commit.parents]
        own = repository.files(commit.tree)

        def side(path: str, held: Mapping[str, TreeEntry]) -> Side | None:
            entry = held.get(path)
            return None if entry is None else Side(path, entry, repository.blob(entry.sha))

        paths = [
            path
            for path in sorted({*own}.union(*trees), key=lambda one: one.encode())
            if all(tree.get(path) != own.get(path) for tree in trees)
        ]
        return [(path, [side(path, tree) for tree in trees], side(path, own)) for path in matching(paths, self.specs)]

    def writer(self) -> CommitWriter:
        """Return what writes the commits."""
        flags = self.flags
        writer = CommitWriter(
            self.session,
            self.form,
            date=self.date,
            short_ids="--abbrev-commit" in flags,
            decorate="--decorate" in flags,
        )
        # git shows them by itself only where no form is asked for.
        if "%N" in self.form or ("--no-notes" not in flags and (not self.formed or "--notes" in flags)):
            writer.notes = noted(self.session)
        return writer

    def mark(self, sha: str) -> str:
        """Return the mark of the side from which a commit is reached (`--left-right`)."""
        if "--left-right" not in self.flags or self.range.sides is None:
            return ""
        if self._right is None:
            self._right = reachable(self.session.repository, self.range.sides[1])
        return ">" if sha in self._right else "<"


_FLAGS = {
    "--graph", "--reverse", "--merges", "--no-merges", "--first-parent", "--no-decorate", "--abbrev-commit", "-i", "--topo-order",
    "--regexp-ignore-case", "--invert-grep", "--follow", "--date-order", "--no-walk", "-E", "--extended-regexp", "-F",
    "--fixed-strings", "--full-history", "--no-notes", "--notes", "--no-abbrev-commit", "--left-right",
    "-g", "--walk-reflogs", "--no-expand-tabs", "--no-show-signature", "--count", "--parents", "--simplify-by-decoration", "-P", "-q",
    "--quiet",
}  # fmt: skip


def _seconds(session: GitSession, text: str) -> int:
    from simtrain.worlds.handlers.git.dates import seconds_at

    return seconds_at(text, session.now)

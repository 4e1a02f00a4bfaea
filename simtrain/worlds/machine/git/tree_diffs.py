"""diff-tree, diff-index and diff-files: differences for scripts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from simtrain.worlds.handlers.git.deltas import Delta, Side, deltas
from simtrain.worlds.handlers.git.objects import EMPTY_TREE, NOTHING, TreeEntry, blob_id
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.formats import CommitWriter
from simtrain.worlds.machine.git.listing import Wish, written
from simtrain.worlds.machine.git.raw_changes import RawChange, between_trees, raw_of, without_renames
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching

_LISTS = {"--raw": "raw", "--name-only": "name-only", "--name-status": "name-status"}
_TREE_USAGE = (
    "usage: git diff-tree [--stdin] [-m] [-s] [-v] [--no-commit-id] [--pretty]\n"
    "              [-t] [-r] [-c | --cc] [--combined-all-paths] [--root] [--merge-base]\n"
    "              [<common-diff-options>] <tree-ish> [<tree-ish>] [<path>...]"
)
_INDEX_USAGE = "usage: git diff-index [-m] [--cached] [--merge-base] [<common-diff-options>] <tree-ish> [<path>...]"
_FILES_USAGE = "usage: git diff-files [-q] [-0 | -1 | -2 | -3 | -c | --cc] [<common-diff-options>] [<path>...]"
_FLAGS = {
    "-r", "-t", "-m", "-c", "--cc", "--root", "--no-commit-id", "--cached", "--stdin", "-z", "-q", "--quiet",
    "--exit-code", "-v", "--full-index", "--no-renames", "-0", "--merge-base",
}  # fmt: skip
_DETECTING = ("-M", "--find-renames")


@dataclass(slots=True)
class _Request:
    """What is asked for: forms, flags, revisions and paths."""

    session: GitSession
    usage: str
    wish: Wish = field(default_factory=Wish)
    lists: list[str] = field(default_factory=list[str])
    flags: set[str] = field(default_factory=set[str])
    names: list[str] = field(default_factory=list[str])
    specs: list[str] = field(default_factory=list[str])
    digits: int | None = None
    form: str | None = None

    def read(self, *, most: int) -> None:
        """Read the words, of which as many as `most` may be revisions."""
        words = list(self.session.words)
        while words:
            word = words.pop(0)
            if word == "--":
                self.specs += self.session.paths(words)
                break
            if self._option(word, words):
                continue
            if word.startswith("-") and word != "-":
                raise GitStop(self.usage, 129)
            if len(self.names) < most and not self.specs and self.session.maybe(word) is not None:
                self.names.append(word)
                continue
            path = self.session.paths([word])[0]
            if not self.session.call.files.exists(f"{self.session.repository.path}/{path}", follow=False):
                self.session.object(word)
            self.specs.append(path)

    def _option(self, word: str, words: list[str]) -> bool:
        name, _, value = word.partition("=")
        if word in _LISTS:
            self.lists.append(_LISTS[word])
        elif word == "--patch-with-raw":
            self.lists.append("raw")
            self.wish.forms.append("patch")
        elif name == "--abbrev":
            self.digits = int(value) if value.isdigit() else 7
        elif name in ("--pretty", "--format"):
            self.form = value or "medium"
        elif word.startswith(_DETECTING):
            self.flags.add("-M")
        elif word in _FLAGS or re.fullmatch(r"--diff-filter=\w+", word):
            self.flags.add(word)
            if word == "-v":
                self.form = "medium"
        else:
            return self.wish.take(word, words)
        return True

    def kept(self, found: list[Delta]) -> list[Delta]:
        """Return the differences of files that are asked for."""
        plain = found if "-M" in self.flags else without_renames(found)
        chosen = set(matching([delta.path for delta in plain], self.specs))
        letters = next((flag.partition("=")[2] for flag in self.flags if flag.startswith("--diff-filter=")), "")
        return [
            delta
            for delta in plain
            if delta.path in chosen and (not letters or raw_of(delta).sign[0] in letters.upper())
        ]

    def text(self, found: Sequence[Delta], raw: Sequence[RawChange]) -> str:
        """Return differences in all forms that are asked for, raw if there is none."""
        if self.wish.none:
            return ""
        end = "\0" if "-z" in self.flags else "\n"
        lists = self.lists if self.lists or self.wish.forms else ["raw"]
        parts: list[str] = []
        for form in lists:
            if form == "raw":
                parts += [change.line(digits=self.digits, end=end) for change in raw]
            elif form == "name-status":
                parts += [change.status(end) for change in raw]
            else:
                parts += [change.status(end).partition("\t" if end == "\n" else "\0")[2] for change in raw]
        if self.wish.forms:
            body = written(self.session, found, self.wish)
            parts.append(f"\n{body}" if parts and body else body)
        return "".join(parts)

    def tell(self, found: Sequence[Delta], raw: Sequence[RawChange], *, before: str = "") -> None:
        """Print differences, with a text before them if there are any, and set the exit code if that is asked for."""
        quiet = bool(self.flags & {"--quiet"})
        if raw and not quiet:
            self.session.output.append(before + self.text(found, raw))
        if raw and self.flags & {"--quiet", "--exit-code"}:
            self.session.code = 1


def diff_tree(session: GitSession) -> None:
    """Print what differs between two trees, or between a commit and its parents."""
    asked = _Request(session, _TREE_USAGE)
    asked.read(most=2)
    if "--stdin" in asked.flags:
        for line in (session.call.stdin or "").splitlines():
            _one(session, asked, line.split()[0] if line.split() else line)
        return
    if not asked.names:
        raise GitStop(_TREE_USAGE, 129)
    if len(asked.names) == 2:
        _compare(session, asked, *(_tree(session, name) for name in asked.names))
    else:
        _one(session, asked, asked.names[0])


def _tree(session: GitSession, name: str) -> str:
    found = session.object(name)
    if found.kind == "blob":
        raise GitStop(f"fatal: object {found.sha} is a blob, not a tree")
    return session.repository.commit(found.sha).tree if found.kind == "commit" else found.sha


def _one(session: GitSession, asked: _Request, name: str) -> None:
    """Print what a commit changes."""
    repository = session.repository
    found = session.object(name)
    if found.kind != "commit":
        # A tree alone has nothing to be compared with.
        return
    commit = repository.commit(found.sha)
    parents = [repository.commit(one).tree for one in commit.parents]
    before = "" if "--no-commit-id" in asked.flags else f"{found.sha}\n"
    if asked.form is not None and before:
        writer = CommitWriter(session, asked.form)
        gap = "" if writer.is_line else "\n"
        before = writer.text(found.sha) + gap
        if "patch" in asked.wish.forms and writer.is_line:
            before += "\n" if writer.custom else ""
    if asked.wish.none:
        session.output.append(before)
    elif len(parents) > 1 and "-m" not in asked.flags:
        # What differs from all parents at once is not shown.
        session.output += [before] if asked.flags & {"-c", "--cc"} else []
    elif not parents and "--root" not in asked.flags:
        return
    else:
        for tree in parents or [EMPTY_TREE]:
            _compare(session, asked, tree, commit.tree, before=before)


def _compare(session: GitSession, asked: _Request, old: str, new: str, *, before: str = "") -> None:
    repository = session.repository
    found = asked.kept(compared(repository, repository.files(old), repository.files(new)))
    if "-M" in asked.flags and "-t" not in asked.flags:
        asked.tell(found, [raw_of(delta) for delta in found], before=before)
        return
    # A list of folders goes as deep as the paths that are asked for.
    deep = bool(asked.flags & {"-r", "-t"} or asked.wish.forms)
    raw = between_trees(repository, repository.tree(old), repository.tree(new), deep=deep, trees="-t" in asked.flags)
    kept = {delta.path for delta in found}
    if deep:
        raw = [
            change for change in raw if change.path in kept or any(one.startswith(f"{change.path}/") for one in kept)
        ]
    elif asked.specs:
        paths = [change.path for change in raw]
        tops = [spec.partition("/")[0] for spec in asked.specs]
        chosen = {*matching(paths, asked.specs), *(path for path in paths if path in tops)}
        raw = [change for change in raw if change.path in chosen]
    asked.tell(found, raw, before=before)


def diff_index(session: GitSession) -> None:
    """Print what differs between a tree and the index, or the working tree."""
    asked = _Request(session, _INDEX_USAGE)
    asked.read(most=1)
    if not asked.names:
        raise GitStop(_INDEX_USAGE, 129)
    repository = session.repository
    old, index = repository.files(_tree(session, asked.names[0])), repository.index()
    conflicts = repository.conflicts()
    if "--cached" in asked.flags:
        found = asked.kept(compared(repository, old, index))
        raw = [raw_of(delta) for delta in found]
        asked.tell(found, [replace(one, sign="U") if one.path in conflicts else one for one in raw])
        return
    found = asked.kept(_against_worktree(session, old))
    raw = [
        raw_of(delta, new_id=None if delta.new is None or index.get(delta.path) == delta.new.entry else NOTHING)
        for delta in found
    ]
    asked.tell(found, raw)


def diff_files(session: GitSession) -> None:
    """Print what differs between the index and the working tree."""
    asked = _Request(session, _FILES_USAGE)
    asked.read(most=0)
    repository = session.repository
    conflicts = {path: stages[2] for path, stages in repository.conflicts().items() if 2 in stages}
    found = asked.kept(_against_worktree(session, {**repository.index(), **conflicts}))
    raw: list[RawChange] = []
    for delta in found:
        change = raw_of(delta, new_id=NOTHING)
        if change.path in conflicts and change.new is not None:
            raw.append(RawChange(change.path, None, TreeEntry(change.new.mode, NOTHING), "U"))
        raw.append(change)
    asked.tell(found, raw)


def _against_worktree(session: GitSession, old: Mapping[str, TreeEntry]) -> list[Delta]:
    """Return the differences from stored files to those of the working tree that the index knows, in conflict or not."""
    repository = session.repository
    known = {path for path, _ in repository.stages()}
    now = {
        path: Side(path, TreeEntry(mode, blob_id(content)), content)
        for path, (mode, content) in repository.worktree().items()
        if path in known
    }
    before = {path: Side(path, entry, repository.blob(entry.sha)) for path, entry in old.items()}
    return deltas(before, now)

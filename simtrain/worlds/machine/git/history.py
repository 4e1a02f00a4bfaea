"""log, show, reflog and shortlog."""

import re
from collections.abc import Sequence
from typing import TypeVar

from simtrain.worlds.handlers.git.deltas import Delta, lines_of
from simtrain.worlds.handlers.git.objects import EMPTY_TREE
from simtrain.worlds.handlers.git.patch import edits
from simtrain.worlds.handlers.git.revisions import full_name
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.folder import signed
from simtrain.worlds.machine.git.formats import CommitWriter, Move, date_text
from simtrain.worlds.machine.git.listing import Wish, written
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Graph, Range, commits, in_graph_order, touching

T = TypeVar("T")

_AMBIGUOUS = (
    "fatal: ambiguous argument '{}': unknown revision or path not in the working tree.\n"
    "Use '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'"
)


class _Request:
    """What is asked of a log."""

    def __init__(self, session: GitSession) -> None:
        self.session = session
        self.range = Range()
        self.wish = Wish()
        self.specs: list[str] = []
        self.objects: list[str] = []
        self.form = session.setting("format.pretty") or "medium"
        self.date = session.setting("log.date") or "default"
        self.most: int | None = None
        self.skip = 0
        self.flags: set[str] = set()
        self.texts: dict[str, str] = {}
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
                self.form = "oneline"
                self.flags.add("--abbrev-commit")
            elif name in ("--format", "--pretty"):
                # A format without a name of its own ends each commit with a newline.
                self.form = value if equals else "medium"
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
            raise GitStop(_AMBIGUOUS.format(word))
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
        return self._part(found)

    def moves(self) -> list[tuple[str, Move]]:
        """Return the commits that a log of a ref leads through, the last one first, each with its entry (-g)."""
        name = self.objects[0] if self.objects else "HEAD"
        repository = self.session.repository
        ref = "HEAD" if name == "HEAD" else full_name(repository, name)
        if ref is None:
            raise GitStop(_AMBIGUOUS.format(name))
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
        how = re.IGNORECASE if "-i" in flags or "--regexp-ignore-case" in flags else 0
        for name, role in (("--author", "author"), ("--committer", "committer")):
            if name in texts:
                pattern = re.compile(regular(texts[name]), how)
                found = [
                    sha
                    for sha in found
                    if pattern.search(
                        f"{getattr(repository.commit(sha), role).name} <{getattr(repository.commit(sha), role).email}>"
                    )
                ]
        if "--grep" in texts:
            pattern = re.compile(regular(texts["--grep"]), how)
            inverted = "--invert-grep" in flags
            found = [sha for sha in found if bool(pattern.search(repository.commit(sha).message)) != inverted]
        if "--merges" in flags:
            found = [sha for sha in found if len(repository.commit(sha).parents) > 1]
        if "--no-merges" in flags:
            found = [sha for sha in found if len(repository.commit(sha).parents) < 2]
        if self.specs:
            found = touching(session, found, self.specs)
        if "-S" in texts or "-G" in texts:
            found = [sha for sha in found if self._picked(sha)]
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

    def _picked(self, sha: str) -> bool:
        for delta in self.deltas(sha):
            old, new = delta.old.content if delta.old else b"", delta.new.content if delta.new else b""
            if "-S" in self.texts and old.count(self.texts["-S"].encode()) != new.count(self.texts["-S"].encode()):
                return True
            if "-G" in self.texts:
                pattern = re.compile(regular(self.texts["-G"]).encode())
                left, right = lines_of(old), lines_of(new)
                for one in edits(left, right):
                    changed = [*left[one.old : one.old + one.old_count], *right[one.new : one.new + one.new_count]]
                    if any(pattern.search(line) for line in changed):
                        return True
        return False

    def deltas(self, sha: str) -> list[Delta]:
        """Return the differences of a commit from its first parent."""
        repository = self.session.repository
        commit = repository.commit(sha)
        before = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
        return compared(repository, repository.files(before), repository.files(commit.tree))

    def writer(self) -> CommitWriter:
        decorate = "--decorate" in self.flags
        return CommitWriter(
            self.session, self.form, date=self.date, short_ids="--abbrev-commit" in self.flags, decorate=decorate
        )


_FLAGS = {
    "--graph", "--reverse", "--merges", "--no-merges", "--first-parent", "--no-decorate", "--abbrev-commit", "-i", "--topo-order",
    "--regexp-ignore-case", "--invert-grep", "--follow", "--date-order", "--no-walk", "-E", "--extended-regexp", "-F",
    "--fixed-strings", "--full-history", "-m", "-c", "--cc", "--no-notes", "--no-abbrev-commit", "--left-right", "--source",
    "-g", "--walk-reflogs", "--no-expand-tabs", "--no-show-signature", "--count", "--parents", "--simplify-by-decoration", "-P", "-q",
    "--quiet",
}  # fmt: skip


def regular(text: str) -> str:
    """Return a basic regular expression as one of Python's."""
    return re.sub(r"\\?([+?|(){}])", lambda found: found[1] if found[0][0] == "\\" else "\\" + found[1], text)


def _seconds(session: GitSession, text: str) -> int:
    from simtrain.worlds.handlers.git.dates import seconds_at

    return seconds_at(text, session.now)


def log(session: GitSession) -> None:
    """Show commits."""
    asked = _Request(session)
    writer = asked.writer()
    walks = bool(asked.flags & {"-g", "--walk-reflogs"})
    if walks and "--graph" in asked.flags:
        raise GitStop("fatal: options '--graph' and '--walk-reflogs' cannot be used together")
    if "--graph" in asked.flags:
        _graph(session, asked, writer, asked.chosen())
        return
    found: list[tuple[str, Move | None]] = [*asked.moves()] if walks else [(sha, None) for sha in asked.chosen()]
    shows = bool(asked.wish.forms) and not asked.wish.none
    for number, (sha, writer.move) in enumerate(found):
        if number and (not writer.is_line or writer.separated):
            session.output.append("\n")
        text = writer.text(sha)
        session.output.append(text.removesuffix("\n") if writer.separated else text)
        if shows:
            merge = len(session.repository.commit(sha).parents) > 1
            body = (
                ""
                if merge and "-m" not in asked.flags
                else written(session, asked.deltas(sha), asked.wish, specs=asked.specs)
            )
            if body:
                gap = "" if writer.form == "oneline" and not writer.custom else "\n"
                session.output.append(gap + body)
    if writer.separated and found:
        session.output.append("\n")


def _graph(session: GitSession, asked: _Request, writer: CommitWriter, found: Sequence[str]) -> None:
    graph = Graph(session.repository, found)
    for number, sha in enumerate(found):
        first, rows, further = graph.rows(sha)
        text = writer.text(sha)
        if not writer.is_line and number < len(found) - 1:
            text += "\n"
        if asked.wish.forms and not asked.wish.none and len(session.repository.commit(sha).parents) < 2:
            body = written(session, asked.deltas(sha), asked.wish, specs=asked.specs)
            text += body if writer.is_line else f"{body}\n" if text.endswith("\n\n") else f"\n{body}"
        lines = text.removesuffix("\n").split("\n")
        session.say(first + lines[0])
        waiting = list(rows)
        for line in lines[1:]:
            prefix = waiting.pop(0) if waiting else further
            session.say((prefix + line).rstrip() if not line else prefix + line)
        for row in waiting:
            session.say(row)


def show(session: GitSession) -> None:
    """Show commits with their differences, tags, folders and files."""
    asked = _Request(session)
    repository = session.repository
    writer = asked.writer()
    names = asked.objects or ["HEAD"]
    if session.head is None and names == ["HEAD"]:
        raise GitStop(f"fatal: your current branch '{session.branch}' does not have any commits yet")
    for number, name in enumerate(names):
        ranged = ".." in name
        found = None if ranged else session.object(name)
        if found is not None and found.kind == "blob":
            session.output.append(repository.blob(found.sha).decode("utf-8", "surrogateescape"))
            continue
        if found is not None and found.kind == "tree":
            session.say(f"tree {name}\n")
            for entry, what in repository.tree(found.sha).items():
                session.say(f"{entry}/" if what.mode == "40000" else entry)
            continue
        if number and not writer.is_line:
            session.say("")
        ref = full_name(repository, name)
        target = repository.ref(ref) if ref else None
        if target is not None and repository.kind(target) == "tag":
            tag = repository.tag_text(target)
            when = date_text(tag.tagger, asked.date, session.call.now)
            session.say(
                f"tag {tag.name}\nTagger: {tag.tagger.name} <{tag.tagger.email}>\nDate:   {when}\n\n{tag.message}"
            )
        for sha in commits(session, asked.range) if ranged else [found.sha if found else ""]:
            _show_commit(session, asked, writer, sha)


def _show_commit(session: GitSession, asked: _Request, writer: CommitWriter, sha: str) -> None:
    text = writer.text(sha)
    session.output.append(text)
    merge = len(session.repository.commit(sha).parents) > 1
    body = "" if merge and not asked.wish.forms else written(session, asked.deltas(sha), asked.wish, specs=asked.specs)
    if body:
        gap = "" if writer.form == "oneline" and not writer.custom else "\n"
        session.output.append(gap + body)


def reflog(session: GitSession) -> None:
    """Show where HEAD, or a branch, has been."""
    words = [word for word in session.words if word not in ("show", "-q")]
    most = next((int(word.lstrip("-n")) for word in words if re.fullmatch(r"-n?\d+", word)), None)
    names = [word for word in words if not word.startswith("-")]
    if names[:1] == ["expire"] or names[:1] == ["delete"]:
        return
    name = names[0] if names else "HEAD"
    ref = "HEAD" if name == "HEAD" else full_name(session.repository, name)
    if ref is None:
        raise GitStop(_AMBIGUOUS.format(name))
    entries = session.repository.log(ref)
    for number, entry in enumerate(entries[:most] if most else entries):
        session.say(f"{session.repository.abbreviated(entry['new'])} {name}@{{{number}}}: {entry['message']}")


def shortlog(session: GitSession) -> None:
    """Show who made how many commits, or their subjects by person."""
    flags = {word for word in session.words if word.startswith("-")}
    letters = {letter for flag in flags if not flag.startswith("--") for letter in flag[1:]}
    letters |= {"s" for flag in flags if flag == "--summary"} | {"n" for flag in flags if flag == "--numbered"}
    session.words = [word for word in session.words if word not in flags]
    asked = _Request(session)
    if not asked.objects and session.call.stdin is not None and not asked.specs:
        return
    found: dict[str, list[str]] = {}
    for sha in reversed(asked.chosen()):
        commit = session.repository.commit(sha)
        name = f"{commit.author.name} <{commit.author.email}>" if "e" in letters else commit.author.name
        found.setdefault(name, []).append(commit.message.partition("\n")[0])
    order = sorted(found, key=lambda name: (-len(found[name]) if "n" in letters else 0, name.lower()))
    for name in order:
        if "s" in letters:
            session.say(f"{len(found[name]):6}\t{name}")
        else:
            session.say(f"{name} ({len(found[name])}):")
            session.output += [f"      {subject}\n" for subject in found[name]] + ["\n"]

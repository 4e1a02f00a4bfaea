"""blame: who last changed each line of a file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.objects import NOTHING, Commit, Signature
from simtrain.worlds.handlers.git.patch import edits
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_FLAGS = {
    "-s": "s", "-e": "e", "--show-email": "e", "-l": "l", "-t": "t", "-n": "n", "--show-number": "n", "-f": "f", "--show-name": "f",
    "-p": "porcelain", "--porcelain": "porcelain", "--line-porcelain": "each", "-w": "", "-M": "", "-C": "", "--root": "root",
    "--no-progress": "", "-c": "",
}  # fmt: skip
_USAGE = "usage: git blame [<options>] [<rev-opts>] [<rev>] [--] <file>"
_RANGE = re.compile(r"(?:(\d+)|/((?:[^/\\]|\\.)*)/)?(?:,(?:([+-]?)(\d+)|/((?:[^/\\]|\\.)*)/)?)?")


@dataclass(frozen=True, slots=True)
class _Owner:
    """Where a line comes from: the commit (None: not committed yet), the path there, and the number of the line there."""

    sha: str | None
    path: str
    number: int


@dataclass(slots=True)
class _Asked:
    flags: set[str] = field(default_factory=set[str])
    ranges: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    date: str | None = None


@dataclass(frozen=True, slots=True)
class _Blamed:
    """What is told: the lines of a file, who they come from, and the numbers of those that are asked for."""

    asked: _Asked
    path: str
    start: str
    lines: Sequence[bytes]
    owners: Sequence[_Owner]
    chosen: Sequence[int]


def blame(session: GitSession) -> None:
    """Show who last changed each line of a file."""
    asked = _read(session)
    path = session.paths([asked.names[-1]])[0]
    revision = asked.names[0] if len(asked.names) > 1 else None
    repository = session.repository
    start = session.commit_id(revision or "HEAD")
    files = repository.files(repository.commit(start).tree)
    if path not in files:
        raise GitStop(f"fatal: no such path '{path}' in {revision or 'HEAD'}")
    own = repository.worktree().get(path) if revision is None else None
    if revision is None and own is None:
        raise GitStop(f"fatal: Cannot lstat '{path}': No such file or directory")
    content = repository.blob(files[path].sha) if own is None else own[1]
    lines = lines_of(content)
    owners = _owners(session, start, path, lines)
    chosen = sorted({number for text in asked.ranges or [","] for number in _chosen(path, text, lines)})
    say = _say_porcelain if asked.flags & {"porcelain", "each"} else _say_lines
    say(session, _Blamed(asked, path, start, lines, owners, chosen))


def _read(session: GitSession) -> _Asked:
    asked, words = _Asked(), list(session.words)
    asked.date = session.setting("blame.date")
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            asked.names += words
            break
        if word == "-L":
            asked.ranges.append(next_word(words, word))
        elif word.startswith("-L"):
            asked.ranges.append(word[2:])
        elif name == "--date":
            asked.date = value if equals else next_word(words, word)
        elif word in _FLAGS:
            asked.flags.add(_FLAGS[word])
        elif re.fullmatch("-[selntfwp]{2,}", word):
            asked.flags |= {_FLAGS[f"-{letter}"] for letter in word[1:]}
        elif word.startswith("-"):
            raise unknown_option(word, _USAGE)
        else:
            asked.names.append(word)
    if not asked.names:
        raise GitStop(_USAGE, 129)
    return asked


def _chosen(path: str, text: str, lines: Sequence[bytes]) -> range:
    """Return the numbers of the lines that a range asks for: `2,4`, `2,+3`, `/text/,+1`."""
    found = _RANGE.fullmatch(text)
    if found is None:
        raise GitStop(_USAGE, 129)
    first, begin, sign, last, end = found.groups()
    start = _line_with(begin, lines, 0) if begin is not None else int(first or 1)
    if start > len(lines):
        count = len(lines)
        raise GitStop(f"fatal: file {path} has only {count} line{'s' if count != 1 else ''}")
    if end is not None:
        stop = _line_with(end, lines, start)
    elif last is None:
        stop = len(lines)
    elif sign == "-":
        start, stop = max(1, start - int(last) + 1), start
    else:
        stop = start + int(last) - 1 if sign else int(last)
    start, stop = min(start, stop), max(start, stop)
    return range(start, min(stop, len(lines)) + 1)


def _line_with(pattern: str, lines: Sequence[bytes], behind: int) -> int:
    try:
        wanted = expression(pattern)
    except ExpressionProblem as problem:
        raise GitStop(f"fatal: -L parameter '{pattern}': {problem}") from None
    found = next((number for number, line in enumerate(lines, 1) if number > behind and wanted.finds(line)), None)
    if found is None:
        raise GitStop(f"fatal: -L parameter '{pattern}' starting at line {behind + 1}: No match")
    return found


def _say_lines(session: GitSession, told: _Blamed) -> None:
    repository, asked, flags = session.repository, told.asked, told.asked.flags
    owners, chosen = told.owners, told.chosen
    rows: list[tuple[str, str, str, str]] = []
    for owner in (owners[number - 1] for number in chosen):
        commit = None if owner.sha is None else repository.commit(owner.sha)
        mark = "^" if commit is not None and not commit.parents and "root" not in flags else ""
        length = (40 if "l" in flags else 8) - len(mark)
        who = _nobody(session) if commit is None else commit.author
        style = "raw" if "t" in flags else asked.date or "iso"
        when = date_text(who, style, session.call.now)
        rows.append(
            (mark + (owner.sha or NOTHING)[:length], f"<{who.email}>" if "e" in flags else who.name, when, owner.path)
        )
    if not rows:
        return
    wide, wide_date, wide_path = (max(len(row[place]) for row in rows) for place in (1, 2, 3))
    digits, old_digits = len(str(chosen[-1])), len(str(max(owners[number - 1].number for number in chosen)))
    names = "f" in flags or any(row[3] != told.path for row in rows)
    for number, (shown, name, when, old_path) in zip(chosen, rows, strict=True):
        text = told.lines[number - 1].decode("utf-8", "surrogateescape").rstrip("\n")
        head = shown + (f" {old_path.ljust(wide_path)}" if names else "")
        head += f" {str(owners[number - 1].number).rjust(old_digits)}" if "n" in flags else ""
        who = "" if "s" in flags else f"({name.ljust(wide)} {when.ljust(wide_date)} "
        session.say(f"{head} {who}{str(number).rjust(digits)}) {text}")


def _say_porcelain(session: GitSession, told: _Blamed) -> None:
    owners, chosen = told.owners, told.chosen
    known: set[str | None] = set()
    for place, number in enumerate(chosen):
        owner = owners[number - 1]
        head = f"{owner.sha or NOTHING} {owner.number} {number}"
        if place == 0 or not _continues(owners, chosen[place - 1], number):
            behind = place + 1
            while behind < len(chosen) and _continues(owners, chosen[behind - 1], chosen[behind]):
                behind += 1
            head += f" {behind - place}"
        session.say(head)
        if owner.sha not in known or "each" in told.asked.flags:
            _say_commit(session, owner, told.path, told.start)
            known.add(owner.sha)
        text = told.lines[number - 1].decode("utf-8", "surrogateescape").rstrip("\n")
        session.say(f"\t{text}")


def _continues(owners: Sequence[_Owner], before: int, number: int) -> bool:
    one, other = owners[before - 1], owners[number - 1]
    return number == before + 1 and one.sha == other.sha and other.number == one.number + 1


def _say_commit(session: GitSession, owner: _Owner, path: str, start: str) -> None:
    repository = session.repository
    if owner.sha is None:
        who = by = _nobody(session)
        subject, previous, root = f"Version of {path} from {path}", (start, path), False
    else:
        commit = repository.commit(owner.sha)
        who, by, subject = commit.author, commit.committer, commit.message.partition("\n")[0]
        previous, root = _before(session, commit, owner.path), not commit.parents
    for role, one in (("author", who), ("committer", by)):
        seconds, zone = one.encode().rsplit(" ", 2)[1:]
        session.say(f"{role} {one.name}\n{role}-mail <{one.email}>\n{role}-time {seconds}\n{role}-tz {zone}")
    session.say(f"summary {subject}")
    if root:
        session.say("boundary")
    if previous is not None:
        session.say(f"previous {previous[0]} {previous[1]}")
    session.say(f"filename {owner.path}")


def _nobody(session: GitSession) -> Signature:
    """Return who has written what is not committed."""
    return Signature("Not Committed Yet", "not.committed.yet", session.now)


def _before(session: GitSession, commit: Commit, path: str) -> tuple[str, str] | None:
    """Return the parent in which a file is there, and its path in it."""
    repository = session.repository
    for parent in commit.parents:
        if path in repository.files(repository.commit(parent).tree):
            return parent, path
    for parent in commit.parents:
        found = compared(repository, repository.files(repository.commit(parent).tree), repository.files(commit.tree))
        old = next((delta.old.path for delta in found if delta.path == path and delta.old and delta.alike), None)
        if old is not None:
            return parent, old
    return None


def _owners(session: GitSession, start: str, path: str, lines: Sequence[bytes]) -> list[_Owner]:
    repository = session.repository
    owners = [_Owner(None, path, number) for number in range(1, len(lines) + 1)]
    here = lines_of(repository.blob(repository.files(repository.commit(start).tree)[path].sha))
    waiting = dict(_kept(here, lines))
    sha = start
    while waiting:
        older = _before(session, repository.commit(sha), path)
        if older is None:
            for place, target in waiting.items():
                owners[target] = _Owner(sha, path, place + 1)
            break
        parent, old_path = older
        before = lines_of(repository.blob(repository.files(repository.commit(parent).tree)[old_path].sha))
        same = {new: old for old, new in _kept(before, here)}
        for place in [place for place in waiting if place not in same]:
            owners[waiting.pop(place)] = _Owner(sha, path, place + 1)
        waiting = {same[place]: target for place, target in waiting.items()}
        here, sha, path = before, parent, old_path
    return owners


def _kept(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the pairs of places of lines that two texts share."""
    found: list[tuple[int, int]] = []
    left = right = 0
    for edit in [*edits(old, new), None]:
        end = edit.old if edit else len(old)
        while left < end:
            found.append((left, right))
            left, right = left + 1, right + 1
        if edit:
            left, right = edit.old + edit.old_count, edit.new + edit.new_count
    return found

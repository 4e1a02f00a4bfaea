"""diff: what differs between commits, index and working tree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.deltas import Delta, Side
from simtrain.worlds.handlers.git.objects import TreeEntry, blob_id
from simtrain.worlds.handlers.git.patch import differs_in_spaces, edits
from simtrain.worlds.handlers.git.paths import quoted
from simtrain.worlds.handlers.git.states import against_worktree, compared
from simtrain.worlds.machine.git.combined import combined
from simtrain.worlds.machine.git.listing import Wish, written
from simtrain.worlds.machine.git.resetting import head_files
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching
from simtrain.worlds.machine.git.walking import merge_bases

_STAGES = {"-1": 1, "--base": 1, "-2": 2, "--ours": 2, "-3": 3, "--theirs": 3}
_MARKS = (b"<" * 7, b"=" * 7, b">" * 7, b"|" * 7)


@dataclass(slots=True)
class _Asked:
    """The words of a call."""

    wish: Wish = field(default_factory=Wish)
    names: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])
    flags: set[str] = field(default_factory=set[str])
    stage: int | None = None


def diff(session: GitSession) -> None:
    """Show differences: working tree, index, commits."""
    asked = _read(session)
    specs = session.paths(asked.paths)
    cached = bool(asked.flags & {"--cached", "--staged"})
    found = compared_states(session, asked.names, cached=cached)
    conflicts = {} if asked.names else session.repository.conflicts()
    chosen = set(matching(sorted({*(delta.path for delta in found), *conflicts}), specs))
    conflicts = {path: conflicts[path] for path in sorted(conflicts, key=lambda one: one.encode()) if path in chosen}
    if "--check" in asked.flags:
        _check(session, [delta for delta in found if delta.path in chosen])
        return
    if asked.flags & {"--quiet", "--exit-code"}:
        spaces = asked.wish.style.ignored
        kept = [delta for delta in asked.wish.kept(found) if delta.path in chosen]
        kept = [delta for delta in kept if not spaces or not differs_in_spaces(delta, spaces)]
        session.code = int(bool(kept) or bool(conflicts))
    if "--quiet" in asked.flags:
        return
    if not conflicts:
        session.output.append(written(session, found, asked.wish, specs=specs))
        return
    _with_conflicts(session, [delta for delta in found if delta.path in chosen], conflicts, asked, cached=cached)


def _read(session: GitSession) -> _Asked:
    asked, words = _Asked(), list(session.words)
    if "--no-index" in words:
        raise GitStop("error: Could not access '--no-index'", 128)
    while words:
        word = words.pop(0)
        if word == "--":
            asked.paths += words
            break
        if word in ("--cached", "--staged", "--quiet", "--exit-code", "--check"):
            asked.flags.add(word)
        elif word in _STAGES:
            asked.stage = _STAGES[word]
        elif word.startswith("-") and asked.wish.take(word, words):
            continue
        elif word.startswith("-"):
            raise GitStop(f"error: invalid option: {word}", 129)
        elif not asked.paths and (".." in word or session.maybe(word) is not None):
            asked.names.append(word)
        else:
            if not session.call.files.exists(f"{session.directory}/{word}", follow=False) and not any(
                one in word for one in "*?["
            ):
                session.object(word)
            asked.paths.append(word)
    return asked


# Conflicts.


def _with_conflicts(
    session: GitSession,
    found: Sequence[Delta],
    conflicts: Mapping[str, Mapping[int, TreeEntry]],
    asked: _Asked,
    *,
    cached: bool,
) -> None:
    """Show differences where some paths are in conflict: these have no entry of their own, and stand among the others by their paths."""
    own = {path: [delta for delta in found if delta.path == path] for path in (delta.path for delta in found)}
    for path, stages in conflicts.items():
        own[path] = [] if cached else _from_stage(session, path, stages, asked.stage or 2)
    order = sorted(own, key=lambda one: one.encode())
    forms = asked.wish.forms or ["patch"]
    if forms == ["patch"]:
        for path in order:
            text = _conflict(session, path, conflicts[path], asked, cached=cached) if path in conflicts else None
            session.output.append(written(session, own[path], asked.wish) if text is None else text)
    elif forms[-1] in ("name-only", "name-status"):
        for path in order:
            mark = "U\t" if forms[-1] == "name-status" else ""
            session.output.append(f"{mark}{quoted(path)}\n" if path in conflicts else "")
            session.output.append(written(session, own[path], asked.wish))
    else:
        # git ends no line here.
        marks = [f" {quoted(path)} | Unmerged" if "stat" in forms else f"0\t0\t{quoted(path)}\n" for path in conflicts]
        session.output += [*marks, written(session, [delta for path in order for delta in own[path]], asked.wish)]


def _from_stage(session: GitSession, path: str, stages: Mapping[int, TreeEntry], stage: int) -> list[Delta]:
    now = _worktree_side(session, path)
    if stage not in stages:
        return []
    old = Side(path, stages[stage], session.repository.blob(stages[stage].sha))
    return [] if old == now else [Delta(old, now)]


def _conflict(session: GitSession, path: str, stages: Mapping[int, TreeEntry], asked: _Asked, *, cached: bool) -> str:
    """Return what a patch shows of a path in conflict."""
    repository, now = session.repository, _worktree_side(session, path)
    if not cached and asked.stage is None and now is not None and 2 in stages and 3 in stages:
        sides = [Side(path, stages[stage], repository.blob(stages[stage].sha)) for stage in (2, 3)]
        dense = asked.wish.merges != "combined"
        return combined(path, sides, now, repository.abbreviated, dense=dense, unstored=True)
    first = f"* Unmerged path {quoted(path)}\n"
    if cached or asked.stage is None:
        return first
    return first + written(session, _from_stage(session, path, stages, asked.stage), asked.wish)


def _worktree_side(session: GitSession, path: str) -> Side | None:
    found = session.repository.worktree().get(path)
    return Side(path, TreeEntry(found[0], blob_id(found[1])), found[1]) if found else None


# Spaces.


def _check(session: GitSession, found: Sequence[Delta]) -> None:
    """Say which new lines have spaces that nobody wants, or marks of a conflict."""
    for delta in found:
        old = lines_of(delta.old.content) if delta.old else []
        new = lines_of(delta.new.content) if delta.new else []
        for edit in edits(old, new):
            for number in range(edit.new, edit.new + edit.new_count):
                if why := _complaint(new[number]):
                    session.say(f"{delta.path}:{number + 1}: {why}.")
                    if not why.startswith("leftover"):
                        session.say("+" + new[number].decode(errors="replace").rstrip("\n"))
                    session.code = 2
            first = _blank_from(new)
            if edit.new_count and edit.new + edit.new_count == len(new) and first < len(new) and first >= edit.new:
                session.say(f"{delta.path}:{first + 1}: new blank line at EOF.")
                session.code = 2


def _complaint(line: bytes) -> str:
    text = line.rstrip(b"\n")
    if text[:7] in _MARKS and (len(text) == 7 or text[7:8].isspace()):
        return "leftover conflict marker"
    whys = ["trailing whitespace"] if text != text.rstrip() and text.strip() else []
    if text and not text.strip():
        whys = ["trailing whitespace"]
    if re.match(rb"\s* \t", text):
        whys.append("space before tab in indent")
    return ", ".join(whys)


def _blank_from(lines: Sequence[bytes]) -> int:
    """Return the number of the first of the blank lines at the end."""
    first = len(lines)
    while first and not lines[first - 1].strip():
        first -= 1
    return first


def compared_states(session: GitSession, names: Sequence[str], *, cached: bool) -> list[Delta]:
    """Return the differences between two commits, a commit and the index or working tree, or index and working tree."""
    repository = session.repository

    def files(name: str) -> Mapping[str, TreeEntry]:
        found = session.object(name)
        if found.kind == "blob":
            return {name.partition(":")[2]: TreeEntry("100644", found.sha)}
        return repository.files(repository.commit(found.sha).tree if found.kind == "commit" else found.sha)

    if len(names) == 1 and ".." in names[0]:
        left, dots, right = names[0].partition("...") if "..." in names[0] else names[0].partition("..")
        left, right = left or "HEAD", right or "HEAD"
        if dots == "...":
            bases = merge_bases(repository, session.commit_id(left), session.commit_id(right))
            left = bases[0] if bases else left
        return compared(repository, files(left), files(right))
    if len(names) > 1:
        return compared(repository, files(names[0]), files(names[1]))
    if cached:
        return compared(repository, files(names[0]) if names else head_files(session), repository.index())
    if not names:
        return against_worktree(repository, repository.index())
    return against_worktree(repository, files(names[0]), conflicts=repository.conflicts())

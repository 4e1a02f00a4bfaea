"""blame and describe."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from simtrain.worlds.handlers.git.branches import shortened
from simtrain.worlds.handlers.git.deltas import lines_of
from simtrain.worlds.handlers.git.patch import edits
from simtrain.worlds.handlers.git.repository import TAGS
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Range, commits


def blame(session: GitSession) -> None:
    """Show who last changed each line of a file."""
    words = [word for word in session.words if word not in ("--", "-w", "-M", "-C")]
    lines_asked = None
    if "-L" in words:
        at = words.index("-L")
        lines_asked = words[at + 1]
        del words[at : at + 2]
    names = [word for word in words if not word.startswith("-")]
    if not names:
        raise GitStop("usage: git blame [<options>] [<rev-opts>] [<rev>] [--] <file>", 129)
    path = session.paths([names[-1]])[0]
    revision = names[0] if len(names) > 1 else None
    repository = session.repository
    start = session.commit_id(revision or "HEAD")
    content = repository.worktree().get(path, ("", b""))[1] if revision is None else None
    files = repository.files(repository.commit(start).tree)
    if path not in files:
        raise GitStop(f"fatal: no such path '{path}' in HEAD")
    if content is None:
        content = repository.blob(files[path].sha)
    owners = _owners(session, start, path, lines_of(content))
    first, last = 1, len(owners)
    if lines_asked:
        left, _, right = lines_asked.partition(",")
        first = int(left or 1)
        last = first + int(right[1:]) - 1 if right.startswith("+") else int(right or last)
    rows: list[tuple[str, str, str, int, bytes]] = []
    for number, (sha, line) in enumerate(zip(owners, lines_of(content), strict=True), 1):
        if sha is None:
            rows.append(
                ("00000000", "Not Committed Yet", date_text(repository.by, "iso", session.call.now), number, line)
            )
            continue
        commit = repository.commit(sha)
        mark = "" if commit.parents else "^"
        shown = f"{mark}{sha[: 7 if mark else 8]}"
        rows.append((shown, commit.author.name, date_text(commit.author, "iso", session.call.now), number, line))
    wide, digits = max(len(row[1]) for row in rows), len(str(last))
    for sha_text, name, when, number, line in rows[first - 1 : last]:
        text = line.decode("utf-8", "surrogateescape").rstrip("\n")
        session.say(f"{sha_text} ({name.ljust(wide)} {when} {str(number).rjust(digits)}) {text}")


def _owners(session: GitSession, start: str, path: str, lines: Sequence[bytes]) -> list[str | None]:
    repository = session.repository
    owners: list[str | None] = [None] * len(lines)
    entry = repository.files(repository.commit(start).tree)[path]
    here = lines_of(repository.blob(entry.sha))
    waiting = dict(_kept(here, lines))
    sha = start
    while waiting:
        commit = repository.commit(sha)
        older = next(
            (parent for parent in commit.parents if path in repository.files(repository.commit(parent).tree)), None
        )
        if older is None:
            for place in waiting.values():
                owners[place] = sha
            break
        before = lines_of(repository.blob(repository.files(repository.commit(older).tree)[path].sha))
        same = {new: old for old, new in _kept(before, here)}
        for place in list(waiting):
            if place not in same:
                owners[waiting.pop(place)] = sha
        waiting = {same[place]: target for place, target in waiting.items()}
        here, sha = before, older
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


def describe(session: GitSession) -> None:
    """Name a commit after the nearest tag."""
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    repository = session.repository
    start = session.commit_id(names[0] if names else "HEAD")
    tags: dict[str, str] = {}
    for ref in repository.refs():
        sha = repository.ref(ref)
        if not ref.startswith(TAGS) or sha is None:
            continue
        annotated = repository.kind(sha) == "tag"
        if annotated or "--tags" in flags or "--all" in flags:
            tags[repository.tag(sha) if annotated else sha] = shortened(ref)
    pattern = next((flag.partition("=")[2] for flag in flags if flag.startswith("--match=")), None)
    if pattern:
        tags = {sha: name for sha, name in tags.items() if fnmatchcase(name, pattern)}
    found = Range(wanted=[start])
    for number, sha in enumerate(commits(session, found)):
        if sha in tags:
            plain = not number and "--long" not in flags
            short = repository.abbreviated(start)
            session.say(tags[sha] if plain or "--abbrev=0" in flags else f"{tags[sha]}-{number}-g{short}")
            return
    if "--always" in flags:
        session.say(repository.abbreviated(start))
        return
    if not tags:
        why = (
            "No names found, cannot describe anything."
            if "--tags" in flags or not any(ref.startswith(TAGS) for ref in repository.refs())
            else f"No annotated tags can describe '{start}'.\nHowever, there were unannotated tags: try --tags."
        )
        raise GitStop(f"fatal: {why}")
    raise GitStop(f"fatal: No tags can describe '{start}'.\nTry --always, or create some tags.")

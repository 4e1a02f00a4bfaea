"""stash: lists what was put aside, brings it back, and forgets it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simtrain.worlds.handlers.git.objects import Commit, TreeEntry
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.applying import check_local, put_result
from simtrain.worlds.machine.git.checkouts import create as create_branch
from simtrain.worlds.machine.git.history import log
from simtrain.worlds.machine.git.listing import Wish, written
from simtrain.worlds.machine.git.locking import is_locked
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.stash_making import REF, create, push, store
from simtrain.worlds.machine.git.status import long_status
from simtrain.worlds.machine.git.three_way import merge as merge_trees

_LOG = f"logs/{REF}"
_KEPT = "The stash entry is kept in case you need it again."


def stash(session: GitSession) -> None:
    """Put changes aside, and bring them back."""
    words = session.words
    action = words[0] if words and not words[0].startswith("-") else "push"
    rest = words[1:] if words and not words[0].startswith("-") else words
    actions: dict[str, Callable[[GitSession, Sequence[str]], None]] = {
        "push": push, "save": _save, "pop": _pop, "apply": _apply, "list": _list, "drop": _drop, "show": _show,
        "clear": _clear, "create": create, "store": _store, "branch": _branch,
    }  # fmt: skip
    if action not in actions:
        raise GitStop(f"fatal: subcommand wasn't specified; 'push' can't be assumed due to unexpected token '{action}'")
    actions[action](session, rest)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A stash: its number, what it is called, and its commit."""

    number: int
    called: str
    sha: str
    commit: Commit

    @property
    def loose(self) -> str | None:
        """The commit with the files that are not tracked."""
        return self.commit.parents[2] if len(self.commit.parents) > 2 else None


def _found(session: GitSession, words: Sequence[str]) -> _Entry:
    names = [word for word in words if not word.startswith("-")]
    if len(names) > 1:
        raise GitStop(f"Too many revisions specified: {' '.join(f'{chr(39)}{name}{chr(39)}' for name in names)}", 1)
    text = names[0].removeprefix(f"{REF}@{{").removeprefix("stash@{").removesuffix("}") if names else "0"
    if not text.isdigit():
        raise GitStop(f"error: {names[0]} is not a valid reference", 1)
    entries = session.repository.log(REF)
    if not entries:
        raise GitStop("No stash entries found.", 1)
    called = names[0] if names and not names[0].isdigit() else f"{REF}@{{{text}}}"
    if int(text) >= len(entries):
        raise GitStop(f"fatal: log for '{called.partition('@')[0]}' only has {len(entries)} entries")
    sha = entries[int(text)]["new"]
    return _Entry(int(text), called, sha, session.repository.commit(sha))


def _save(session: GitSession, words: Sequence[str]) -> None:
    push(session, words, saves=True)


def _pop(session: GitSession, words: Sequence[str]) -> None:
    found = _found(session, words)
    if is_locked(session):
        session.say(_KEPT)
        raise GitStop("", 1)
    if _brought_back(session, found, words):
        _forget(session, found, quiet=_is_quiet(words))
    else:
        session.say(_KEPT)


def _apply(session: GitSession, words: Sequence[str]) -> None:
    found = _found(session, words)
    if is_locked(session):
        raise GitStop("", 1)
    _brought_back(session, found, words)


def _is_quiet(words: Sequence[str]) -> bool:
    return bool({"-q", "--quiet"} & set(words))


def _brought_back(session: GitSession, found: _Entry, words: Sequence[str]) -> bool:
    """Bring changes back, say so, and return whether all came back."""
    repository = session.repository
    if repository.conflicts():
        raise GitStop("error: Cannot apply a stash in the middle of a merge", 1)
    before = repository.index()
    staged = _staged(session, found, before) if "--index" in words else None
    fine = _carried(session, found, before)
    if fine and staged is not None:
        repository.put_stages({(path, 0): entry for path, entry in staged.items()})
    if found.loose is not None:
        fine = _loose_back(session, found.loose) and fine
    if not fine:
        session.code = 1
    if not _is_quiet(words):
        session.output.append(long_status(session))
    return fine


def _staged(session: GitSession, found: _Entry, now: dict[str, TreeEntry]) -> dict[str, TreeEntry]:
    """Return the index with what was staged when the changes were put aside."""
    repository = session.repository
    base, other = (repository.files(repository.commit(sha).tree) for sha in found.commit.parents[:2])
    done = merge_trees(repository, base, now, other, names=("ours", "theirs"))
    if done.conflicts:
        raise GitStop("error: conflicts in index. Try without --index.", 1)
    return {path: entry for (path, _), entry in done.stages.items()}


def _carried(session: GitSession, found: _Entry, before: dict[str, TreeEntry]) -> bool:
    """Merge the changes into the working tree; return whether that went without a conflict, and nothing was in the way."""
    repository = session.repository
    base = repository.files(repository.commit(found.commit.parents[0]).tree)
    mine = dict(repository.files(found.commit.tree))
    done = merge_trees(repository, base, before, mine, names=("Updated upstream", "Stashed changes"))
    try:
        check_local(session, before, done, "merge", "merge")
    except GitStop as stop:
        session.warn(stop.text)
        return False
    put_result(session, before, done)
    session.output += [f"{note}\n" for note in done.notes]
    if done.conflicts:
        return False
    # Changes come back unstaged; files that are new stay staged.
    index = repository.index()
    repository.put_stages(
        {(path, 0): before.get(path, entry) for path, entry in index.items()}
        | {(path, 0): entry for path, entry in before.items()}
    )
    return True


def _loose_back(session: GitSession, sha: str) -> bool:
    repository = session.repository
    files, tree = repository.files(repository.commit(sha).tree), repository.worktree()
    there = [path for path in files if path in tree]
    repository.put_files({path: entry for path, entry in files.items() if path not in tree})
    for path in there:
        session.warn(f"{path} already exists, no checkout")
    if there:
        session.warn("error: could not restore untracked files from stash")
    return not there


def _forget(session: GitSession, found: _Entry, *, quiet: bool = False) -> None:
    repository = session.repository
    lines = (repository.text(_LOG) or "").splitlines()
    del lines[len(lines) - 1 - found.number]
    if lines:
        repository.put_text(_LOG, "".join(f"{line}\n" for line in lines))
        repository.set_ref(REF, lines[-1][41:81])
    else:
        _clear(session, ())
    if not quiet:
        session.say(f"Dropped {found.called} ({found.sha})")


def _drop(session: GitSession, words: Sequence[str]) -> None:
    _forget(session, _found(session, words), quiet=_is_quiet(words))


def _list(session: GitSession, words: Sequence[str]) -> None:
    if session.repository.ref(REF) is None:
        return
    if words:
        session.words = ["--format=%gd: %gs", "-g", "--first-parent", *words, REF, "--"]
        log(session)
        return
    for number, entry in enumerate(session.repository.log(REF)):
        session.say(f"stash@{{{number}}}: {entry['message']}")


def _show(session: GitSession, words: Sequence[str]) -> None:
    repository = session.repository
    wish, names, flags = Wish(), list[str](), set[str]()
    for word in words:
        if word in ("-u", "--include-untracked", "--only-untracked"):
            flags.add(word)
        elif not wish.take(word, []):
            names.append(word)
    found = _found(session, names)
    old, new = repository.files(repository.commit(found.commit.parents[0]).tree), dict[str, TreeEntry]()
    if "--only-untracked" in flags:
        old = {}
    else:
        new |= repository.files(found.commit.tree)
    if flags and found.loose is not None:
        new |= repository.files(repository.commit(found.loose).tree)
    session.output.append(written(session, compared(repository, old, new), wish, default="stat"))


def _clear(session: GitSession, words: Sequence[str]) -> None:
    session.repository.drop(REF)
    session.repository.drop(_LOG)


def _store(session: GitSession, words: Sequence[str]) -> None:
    rest, message = list(words), 'Created via "git stash store".'
    if rest[:1] in (["-m"], ["--message"]) and len(rest) > 1:
        message, rest = rest[1], rest[2:]
    names = [word for word in rest if not word.startswith("-")]
    if len(names) != 1:
        raise GitStop('"git stash store" requires one <commit> argument', 1)
    store(session, session.commit_id(names[0]), message)


def _branch(session: GitSession, words: Sequence[str]) -> None:
    """Make a branch where the changes were put aside, and bring them back there."""
    if not words:
        raise GitStop("No branch name specified", 1)
    found = _found(session, words[1:])
    create_branch(session, words[0], found.commit.parents[0], force=False, quiet=False)
    if _brought_back(session, found, ["--index"]):
        _forget(session, found)

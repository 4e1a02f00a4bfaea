"""reset and restore: take changes back."""

from collections.abc import Mapping, Sequence

from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.handlers.git.states import against_worktree, worktree_entries
from simtrain.worlds.machine.git.listing import letter
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching


def next_word(words: list[str], option: str) -> str:
    """Take the value of an option. Raises GitStop where there is none."""
    if not words:
        kind = "option" if option.startswith("--") else "switch"
        raise GitStop(f"error: {kind} `{option.lstrip('-')}' requires a value", 129)
    return words.pop(0)


def head_files(session: GitSession) -> Mapping[str, TreeEntry]:
    """Return the files of the commit at HEAD; none before the first commit."""
    head = session.head
    return session.repository.files(session.repository.commit(head).tree) if head else {}


def reset(session: GitSession) -> None:
    """Move the branch to a commit (--soft, --mixed, --hard), or take back what is staged."""
    repository = session.repository
    words = list(session.words)
    modes = [word for word in words if word in ("--soft", "--mixed", "--hard", "--merge", "--keep")]
    quiet = "-q" in words or "--quiet" in words
    behind = words[words.index("--") + 1 :] if "--" in words else []
    front = words[: words.index("--")] if "--" in words else words
    rest = [word for word in front if not word.startswith("-")]
    unknown = [word for word in front if word.startswith("-") and word not in (*modes, "-q", "--quiet", "--no-refresh")]
    if unknown:
        raise GitStop(f"error: unknown option `{unknown[0].lstrip('-')}'", 129)
    target = (
        rest.pop(0)
        if rest and session.maybe(rest[0]) is not None and session.object(rest[0]).kind == "commit"
        else None
    )
    if rest and target is None and not behind:
        for name in rest:
            path = session.paths([name])[0]
            if (
                path not in repository.index()
                and path not in head_files(session)
                and not session.call.files.exists(f"{repository.path}/{path}")
            ):
                session.object(name)
    paths = [*rest, *behind]
    sha = session.commit_id(target or "HEAD") if session.head else None
    files = repository.files(repository.commit(sha).tree) if sha else {}
    if paths:
        if modes and modes[0] != "--mixed":
            raise GitStop(f"fatal: Cannot do {modes[0][2:]} reset with paths.")
        require_unlocked(session)
        chosen = matching(list({**repository.index(), **files, **repository.conflicts()}), session.paths(paths))
        repository.stage({path: files.get(path) for path in chosen})
        _say_unstaged(session, quiet)
        return
    mode = modes[-1] if modes else "--mixed"
    if mode != "--soft":
        require_unlocked(session)
    if sha is None:
        repository.put_stages({})
        return
    old = session.head
    if mode == "--hard":
        index = repository.index()
        now = worktree_entries(repository)
        tracked = {*index, *repository.conflicts(), *head_files(session)}
        changes = {path: files.get(path) for path in {*tracked, *files} if now.get(path) != files.get(path)}
        repository.put_files(dict(sorted(changes.items())))
    elif mode in ("--keep", "--merge"):
        _carry_local(session, files, target or "HEAD", keep=mode == "--keep")
    if mode != "--soft":
        repository.put_stages({(path, 0): entry for path, entry in files.items()})
    if old:
        repository.put_text("ORIG_HEAD", f"{old}\n")
    session.move(sha, f"reset: moving to {target or 'HEAD'}")
    for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG"):
        repository.drop(name)
    if mode == "--hard" and not quiet:
        made = repository.commit(sha)
        session.say(f"HEAD is now at {repository.abbreviated(sha)} {made.message.partition(chr(10))[0]}")
    elif mode == "--mixed":
        _say_unstaged(session, quiet)


def _carry_local(session: GitSession, files: Mapping[str, TreeEntry], target: str, *, keep: bool) -> None:
    """Update the working tree for a reset that leaves local changes. Raises GitStop where one is in the way.

    With `keep` that are the files that differ from HEAD, and nothing of them may have changed since; else those that differ from the
    index, of which only what is staged may have.
    """
    repository = session.repository
    index, now = repository.index(), worktree_entries(repository)
    before, conflicts = head_files(session) if keep else index, repository.conflicts()
    touched = sorted(path for path in {*before, *files} if before.get(path) != files.get(path))
    for path in touched:
        if now.get(path) == index.get(path) and (not keep or index.get(path) == before.get(path)):
            continue
        if not keep and path in conflicts:
            continue
        loose = f"Untracked working tree file '{path}' would be overwritten by merge."
        why = loose if path not in index else f"Entry '{path}' not uptodate. Cannot merge."
        raise GitStop(f"error: {why}\nfatal: Could not reset index file to revision '{target}'.")
    repository.put_files({path: files.get(path) for path in touched})


def _say_unstaged(session: GitSession, quiet: bool) -> None:
    found = against_worktree(session.repository, session.repository.index())
    if found and not quiet:
        session.say("Unstaged changes after reset:")
        session.output += [f"{letter(delta)}\t{session.relative(delta.path)}\n" for delta in found]


def restore(session: GitSession) -> None:
    """Restore files of the working tree or the index (git restore)."""
    words, source = list(session.words), None
    names: list[str] = []
    flags: set[str] = set()
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in ("--source", "-s"):
            source = value if equals else next_word(words, word)
        elif word == "--":
            names += words
            break
        elif word in ("--staged", "-S", "--worktree", "-W", "-q", "--quiet", "--ours", "--theirs"):
            flags.add(word)
        elif word.startswith("-"):
            raise GitStop(f"error: unknown option `{word.lstrip('-')}'", 129)
        else:
            names.append(word)
    if not names:
        raise GitStop("fatal: you must specify path(s) to restore")
    index_too = bool(flags & {"--staged", "-S"})
    restore_paths(
        session,
        names,
        source=source or ("HEAD" if index_too else None),
        index=index_too,
        tree=not index_too or bool(flags & {"--worktree", "-W"}),
        side=2 if "--ours" in flags else 3 if "--theirs" in flags else None,
    )


def restore_paths(
    session: GitSession, names: Sequence[str], *, source: str | None, index: bool, tree: bool, side: int | None = None
) -> int:
    """Restore paths from a commit, or from the index, and return how many were restored. Raises GitStop for an unknown path."""
    repository = session.repository
    require_unlocked(session)
    conflicts = repository.conflicts()
    files: Mapping[str, TreeEntry]
    if source is None:
        files = repository.index()
        if side is not None:
            files = {**files, **{path: stages[side] for path, stages in conflicts.items() if side in stages}}
    else:
        found = session.object(source)
        files = repository.files(repository.commit(found.sha).tree if found.kind == "commit" else found.sha)
    now = repository.index()
    count = 0
    for name, spec in zip(names, session.paths(names), strict=True):
        chosen = matching(list({**files, **(now if index else {})}), [spec])
        if not chosen:
            if spec in conflicts:
                raise GitStop(f"error: path '{name}' is unmerged", 1)
            raise GitStop(f"error: pathspec '{name}' did not match any file(s) known to git", 1)
        if index:
            repository.stage({path: files.get(path) for path in chosen})
        if tree:
            entries = worktree_entries(repository)
            changes = {path: files.get(path) for path in chosen if entries.get(path) != files.get(path)}
            repository.put_files(changes)
            count += len(changes)
    return count

"""commit: records what is staged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Commit, Signature, TreeEntry
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.commit_message import written_message
from simtrain.worlds.machine.git.commit_request import CommitRequest, requested
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.hooks import require_hook, run_hook
from simtrain.worlds.machine.git.listing import shortstat, summary
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.resetting import head_files
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching
from simtrain.worlds.machine.git.status import long_status, short_status
from simtrain.worlds.machine.git.walking import Range, commits

UNMERGED = (
    "error: {} is not possible because you have unmerged files.\n"
    "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
    "hint: as appropriate to mark resolution and make a commit.\n"
    "fatal: {}"
)
"""What git says where conflicts are in the way: of what, and how it ends."""
_EMPTY_AMEND = (
    "You asked to amend the most recent commit, but doing so would make\n"
    "it empty. You can repeat your command with --allow-empty, or you can\n"
    'remove the commit entirely with "git reset HEAD^".'
)
_EMPTY_PICK = (
    "The previous cherry-pick is now empty, possibly due to conflict resolution.\n"
    "If you wish to commit it anyway, use:\n\n    git commit --allow-empty\n"
)
_STATES = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "AUTO_MERGE")


def commit(session: GitSession, *, action: str | None = None, author: Signature | None = None) -> None:
    """Record what is staged. `action` is what the logs of refs note instead, `author` who made it instead of the user."""
    asked = requested(session)
    repository = session.repository
    require_unlocked(session)
    before = repository.stages()
    try:
        _commit(session, asked, action, author)
    except GitStop:
        if asked.stages or asked.dry:
            repository.put_stages(before)
        raise
    if asked.dry and asked.stages:
        repository.put_stages(before)


def _commit(session: GitSession, asked: CommitRequest, action: str | None, by: Signature | None) -> None:
    repository, head = session.repository, session.head
    old = repository.commit(head) if head else None
    merging = (repository.text("MERGE_HEAD") or "").split()
    picked = (repository.text("CHERRY_PICK_HEAD") or "").strip()
    if asked.amend:
        _check_amend(session, old, bool(merging), bool(picked))
    shape = _taken_over(session, asked, old, picked)
    left = _stage(session, asked, bool(merging))
    require_merged(session)
    if asked.dry:
        _say_status(session, asked, old)
        return
    if not asked.unverified:
        require_hook(session, "pre-commit")
    author = by or _author(session, asked, shape)
    parents = (old.parents if old else ()) if asked.amend else ((head,) if head else ()) + tuple(merging)
    base = repository.commit(parents[0]).tree if parents else EMPTY_TREE
    if repository.keep_tree(repository.index()) == base and not merging and not _may_be_empty(asked, parents):
        _refuse_empty(session, asked, old, bool(picked))
    message = written_message(session, asked, author, dated=shape is not None or "date" in asked.values)
    made = Commit(repository.keep_tree(repository.index()), parents, author, session.signature("COMMITTER"), message)
    sha = repository.keep_commit(made)
    pick = " (cherry-pick)" if picked else ""
    kind = " (amend)" if asked.amend else " (initial)" if not parents else " (merge)" if merging else pick
    session.move(sha, f"{action or f'commit{kind}'}: {message.partition(chr(10))[0]}")
    if left is not None:
        repository.put_stages(left)
    forget_progress(session)
    run_hook(session, "post-commit")
    if not asked.quiet:
        report_commit(session, sha, dated=shape is not None or "date" in asked.values, rooted=head is None)


def require_merged(session: GitSession) -> None:
    """Raise GitStop, in the words of commit, while the index holds conflicts."""
    conflicts = session.repository.conflicts()
    if conflicts:
        session.output += [f"U\t{session.relative(path)}\n" for path in sorted(conflicts)]
        raise GitStop(UNMERGED.format("Committing", "Exiting because of an unresolved conflict."))


def forget_progress(session: GitSession) -> None:
    """Remove the notes on a merge or pick, which a commit concludes."""
    repository = session.repository
    picking = any(repository.text(name) is not None for name in ("CHERRY_PICK_HEAD", "REVERT_HEAD"))
    if picking and len((repository.text("sequencer/todo") or "").splitlines()) == 1:
        repository.drop("sequencer")
    for name in _STATES:
        repository.drop(name)


def _check_amend(session: GitSession, old: Commit | None, merging: bool, picked: bool) -> None:
    if old is None:
        raise GitStop("fatal: You have nothing to amend.")
    if merging:
        raise GitStop("fatal: You are in the middle of a merge -- cannot amend.")
    if picked and session.repository.text("rebase-merge/onto") is None:
        raise GitStop("fatal: You are in the middle of a cherry-pick -- cannot amend.")


def _taken_over(session: GitSession, asked: CommitRequest, old: Commit | None, picked: str) -> Commit | None:
    """Return the commit whose author the new one gets; None for an author of its own."""
    name = asked.values.get("reuse") or asked.values.get("reedit")
    found = (
        old if asked.amend and "fixup" not in asked.values else session.repository.commit(picked) if picked else None
    )
    if name is not None:
        if session.maybe(name) is None:
            raise GitStop(f"fatal: could not lookup commit {name}")
        found = session.commit(name)
    return None if asked.reset_author else found


def _author(session: GitSession, asked: CommitRequest, shape: Commit | None) -> Signature:
    author = shape.author if shape else None
    named = asked.values.get("author")
    if author is None:
        author = session.signature("AUTHOR")
    if named is not None:
        name, mail = _person(session, named)
        author = replace(author, name=name, email=mail)
    if "date" in asked.values:
        author = replace(author, at=session.date(asked.values["date"]))
    return author


def _person(session: GitSession, written: str) -> tuple[str, str]:
    """Return name and mail of `NAME <MAIL>`, or those of an author whom a part of that names. Raises GitStop."""
    name, found, mail = written.partition("<")
    if found and mail.endswith(">"):
        return name.strip(), mail[:-1].strip()
    repository, everywhere = session.repository, Range()
    everywhere.take_refs(session, "--all")
    for sha in commits(session, everywhere) if everywhere.wanted else []:
        author = repository.commit(sha).author
        if written.lower() in f"{author.name} <{author.email}>".lower():
            return author.name, author.email
    raise GitStop(f"fatal: --author '{written}' is not 'Name <email>' and matches no existing author")


def _may_be_empty(asked: CommitRequest, parents: Sequence[str]) -> bool:
    rewording = asked.values.get("fixup", "").startswith("reword:")
    return asked.empty or rewording or (asked.amend and len(parents) > 1)


def _refuse_empty(session: GitSession, asked: CommitRequest, old: Commit | None, picked: bool) -> None:
    session.output.append(_status(session, asked, old))
    if asked.amend:
        raise GitStop(_EMPTY_AMEND, 1)
    raise GitStop(f"{_EMPTY_PICK}\nOtherwise, please use 'git cherry-pick --skip'" if picked else "", 1)


def _status(session: GitSession, asked: CommitRequest, old: Commit | None) -> str:
    tree = None
    if asked.amend and old:
        tree = session.repository.commit(old.parents[0]).tree if old.parents else EMPTY_TREE
    return long_status(session, untracked=asked.untracked != "no", amending=tree, committing=True)


def _say_status(session: GitSession, asked: CommitRequest, old: Commit | None) -> None:
    """Print what would be committed; the exit code tells whether that is anything."""
    if asked.form == "long":
        session.output.append(_status(session, asked, old))
    else:
        end = "\0" if asked.form == "null" else "\n"
        untracked, full = asked.untracked != "no", asked.untracked == "all"
        lines = short_status(session, untracked=untracked, full=full, relative=asked.form == "short")
        session.output += [f"{line}{end}" for line in lines]
    repository = session.repository
    base = head_files(session)
    if asked.amend and old:
        base = repository.files(repository.commit(old.parents[0]).tree) if old.parents else {}
    unchanged = repository.index() == base and repository.text("MERGE_HEAD") is None
    session.code = 1 if unchanged else 0


def _stage(session: GitSession, asked: CommitRequest, merging: bool) -> Mapping[tuple[str, int], TreeEntry] | None:
    """Stage what the call itself names; return the index that it leaves, where that is not the one of the commit."""
    repository = session.repository
    if asked.all:
        index, tree = repository.index(), repository.worktree()
        _stage_files(session, [*index, *repository.conflicts()], tree)
    if not asked.paths:
        return None
    if asked.partial and merging:
        raise GitStop("fatal: cannot do a partial commit during a merge.")
    chosen = _named(session, asked.paths)
    _stage_files(session, chosen, repository.worktree())
    if not asked.partial:
        return None
    left = repository.stages()
    entries = {**head_files(session)}
    for path in chosen:
        entries.pop(path, None)
        if (path, 0) in left:
            entries[path] = left[path, 0]
    repository.put_stages({(path, 0): entry for path, entry in entries.items()})
    return left


def _stage_files(session: GitSession, paths: Sequence[str], tree: Mapping[str, tuple[str, bytes]]) -> None:
    repository = session.repository
    repository.stage(
        {
            path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) if path in tree else None
            for path in paths
        }
    )


def _named(session: GitSession, names: Sequence[str]) -> list[str]:
    known = list(dict.fromkeys([*session.repository.index(), *session.repository.conflicts(), *head_files(session)]))
    chosen: list[str] = []
    for name, spec in zip(names, session.paths(names), strict=True):
        found = matching(known, [spec])
        if not found:
            raise GitStop(f"error: pathspec '{name}' did not match any file(s) known to git", 1)
        chosen += found
    return chosen


def report_commit(session: GitSession, sha: str, *, dated: bool = False, rooted: bool | None = None) -> None:
    """Say what was committed: branch, id, subject, and a sum of the changes."""
    repository = session.repository
    made = repository.commit(sha)
    where = session.branch or "detached HEAD"
    root = " (root-commit)" if (not made.parents if rooted is None else rooted) else ""
    subject = " ".join(made.message.strip("\n").partition("\n\n")[0].split("\n"))
    session.say(f"[{where}{root} {repository.abbreviated(sha)}] {subject}")
    if (made.author.name, made.author.email) != (made.committer.name, made.committer.email):
        session.say(f" Author: {made.author.name} <{made.author.email}>")
    if dated:
        session.say(f" Date: {date_text(made.author, 'default', session.call.now)}")
    if len(made.parents) > 1:
        return
    base = repository.commit(made.parents[0]).tree if made.parents else EMPTY_TREE
    found = compared(repository, repository.files(base), repository.files(made.tree))
    session.output.append(shortstat(found) + summary(found))

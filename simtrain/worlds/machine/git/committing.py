"""commit: records what is staged."""

from collections.abc import Sequence
from dataclasses import replace

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Commit, TreeEntry
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.listing import shortstat, summary
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching
from simtrain.worlds.machine.git.status import long_status


def commit(session: GitSession) -> None:
    """Record what is staged."""
    asked = _CommitRequest(session)
    repository = session.repository
    require_unlocked(session)
    if asked.all:
        index, tree = repository.index(), repository.worktree()
        known = {*index, *repository.conflicts()}
        repository.stage(
            {
                path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) if path in tree else None
                for path in known
            }
        )
    if repository.conflicts():
        listed = "\n".join(f"U\t{path}" for path in sorted(repository.conflicts()))
        session.say(listed)
        raise GitStop(
            "error: Committing is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\n"
            "fatal: Exiting because of an unresolved conflict.",
            128,
        )
    head = session.head
    old = repository.commit(head) if head else None
    merging = (repository.text("MERGE_HEAD") or "").split()
    if asked.paths:
        _stage_paths(session, asked.paths)
    parents = (old.parents if old else ()) if asked.amend else ((head,) if head else ()) + tuple(merging)
    base = repository.commit(parents[0]).tree if parents else EMPTY_TREE
    tree_id = repository.keep_tree(repository.index())
    if asked.amend and old is None:
        raise GitStop("fatal: You have nothing to amend.")
    unchanged = (
        tree_id == base
        and not merging
        and not asked.empty
        and not (asked.amend and old and tree_id == old.tree and len(parents) != 1)
    )
    if unchanged and not asked.amend:
        session.output.append(long_status(session))
        raise GitStop("", 1)
    message = asked.message
    if message is None:
        held = repository.text("MERGE_MSG")
        message = old.message if asked.amend and old else held
        if message is not None and held is not None and not asked.amend:
            message = "\n".join(line for line in message.splitlines() if not line.startswith("#"))
    if message is None:
        raise GitStop(
            "error: Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.", 1
        )
    message = cleaned(message)
    if not message and not asked.empty_message:
        raise GitStop("Aborting commit due to empty commit message.", 1)
    author = old.author if asked.amend and old and not asked.reset_author else session.signature("AUTHOR")
    picked = (repository.text("CHERRY_PICK_HEAD") or "").strip()
    if picked and not asked.amend:
        author = repository.commit(picked).author
    if asked.author:
        name, _, mail = asked.author.partition(" <")
        author = replace(author, name=name.strip(), email=mail.rstrip(">"))
    if asked.date:
        author = replace(author, at=session.date(asked.date))
    committer = session.signature("COMMITTER")
    made = Commit(tree_id, parents, author, committer, message)
    sha = repository.keep_commit(made)
    kind = (
        " (amend)"
        if asked.amend
        else " (initial)"
        if not parents
        else " (merge)"
        if merging
        else " (cherry-pick)"
        if picked
        else ""
    )
    session.move(sha, f"commit{kind}: {message.partition(chr(10))[0]}")
    for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD"):
        repository.drop(name)
    if not asked.quiet:
        report_commit(session, sha, dated=asked.amend or bool(asked.date))


def report_commit(session: GitSession, sha: str, *, dated: bool = False) -> None:
    """Say what was committed: branch, id, subject, and a sum of the changes."""
    repository = session.repository
    made = repository.commit(sha)
    where = session.branch or "detached HEAD"
    root = " (root-commit)" if not made.parents else ""
    session.say(f"[{where}{root} {repository.abbreviated(sha)}] {made.message.partition(chr(10))[0]}")
    if (made.author.name, made.author.email) != (made.committer.name, made.committer.email):
        session.say(f" Author: {made.author.name} <{made.author.email}>")
    if dated:
        session.say(f" Date: {date_text(made.author, 'default', session.call.now)}")
    if len(made.parents) > 1:
        return
    base = repository.commit(made.parents[0]).tree if made.parents else EMPTY_TREE
    found = compared(repository, repository.files(base), repository.files(made.tree))
    session.output.append(shortstat(found) + summary(found))


def cleaned(message: str) -> str:
    """Return a message without space at line ends and blank lines around it; ends in a newline unless empty."""
    lines = [line.rstrip() for line in message.split("\n")]
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    text = "\n".join(kept).strip("\n")
    return f"{text}\n" if text else ""


class _CommitRequest:
    def __init__(self, session: GitSession) -> None:
        self.all = self.amend = self.empty = self.quiet = self.reset_author = self.empty_message = False
        self.author: str | None = None
        self.date: str | None = None
        self.paths: list[str] = []
        parts: list[str] = []
        words = list(session.words)
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if word == "--":
                self.paths += words
                break
            if name in ("--message", "--author", "--date", "--file", "--reuse-message") or word in ("-F", "-C"):
                value = value if equals else next_word(words, word)
                if name == "--message":
                    parts.append(value)
                elif name == "--author":
                    self.author = value
                elif name == "--date":
                    self.date = value
                elif name in ("--file", "-F"):
                    parts.append(
                        (session.call.stdin or "")
                        if value == "-"
                        else session.call.files.read(f"{session.directory}/{value}").decode()
                    )
                else:
                    parts.append(session.commit(value).message)
            elif word.startswith("--"):
                self._flag(word)
            elif word.startswith("-") and len(word) > 1:
                self._letters(word[1:], words, parts)
            else:
                self.paths.append(word)
        self.message = "\n\n".join(part.rstrip("\n") for part in parts) if parts else None

    def _flag(self, word: str) -> None:
        simple = {"--all": "all", "--amend": "amend", "--allow-empty": "empty", "--quiet": "quiet", "--reset-author": "reset_author",
                  "--allow-empty-message": "empty_message"}  # fmt: skip
        if word in simple:
            setattr(self, simple[word], True)
        elif word not in (
            "--no-edit",
            "--no-verify",
            "--signoff",
            "--no-gpg-sign",
            "--verbose",
            "--no-status",
            "--only",
            "--include",
        ):
            raise GitStop(f"error: unknown option `{word[2:]}'\nusage: git commit [<options>] [--] <pathspec>...", 129)

    def _letters(self, letters: str, words: list[str], parts: list[str]) -> None:
        for place, letter_ in enumerate(letters):
            if letter_ == "m":
                parts.append(letters[place + 1 :] or next_word(words, "-m"))
                return
            if letter_ == "a":
                self.all = True
            elif letter_ == "q":
                self.quiet = True
            elif letter_ not in "nvso":
                raise GitStop(
                    f"error: unknown switch `{letter_}'\nusage: git commit [<options>] [--] <pathspec>...", 129
                )


def _stage_paths(session: GitSession, names: Sequence[str]) -> None:
    repository = session.repository
    index, tree = repository.index(), repository.worktree()
    for name, spec in zip(names, session.paths(names), strict=True):
        found = matching(list(index), [spec])
        if not found:
            raise GitStop(f"error: pathspec '{name}' did not match any file(s) known to git", 1)
        repository.stage(
            {
                path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) if path in tree else None
                for path in found
            }
        )

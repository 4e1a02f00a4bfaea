"""status, add, rm, mv, commit, reset, restore, clean and diff: the working tree and the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from simtrain.worlds.handlers.git.deltas import Delta
from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Commit, TreeEntry
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.handlers.git.states import against_worktree, compared, staged, worktree_entries
from simtrain.worlds.handlers.git.status import status as status_text
from simtrain.worlds.handlers.git.status import tracked_remote, untracked_files
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.listing import Wish, letter, shortstat, summary, written
from simtrain.worlds.machine.git.session import Session, Stop, matching

_CONFLICTS = {
    (1, 2, 3): ("both modified", "UU"), (2, 3): ("both added", "AA"), (1, 2): ("deleted by them", "UD"),
    (1, 3): ("deleted by us", "DU"), (1,): ("both deleted", "DD"), (2,): ("added by us", "AU"), (3,): ("added by them", "UA"),
}  # fmt: skip


def status(session: Session) -> None:
    """Show what is staged, changed and untracked."""
    words = session.words
    short = any(word in ("-s", "--short", "-sb", "-bs", "--porcelain", "--porcelain=v1") for word in words)
    known = {"-s", "--short", "-b", "--branch", "-sb", "-bs", "--porcelain", "--porcelain=v1", "--long", "-v", "-uno", "-uall",
             "-u", "--untracked-files=no", "--untracked-files=all", "--untracked-files", "--ignored", "--show-stash", "-z"}  # fmt: skip
    for word in words:
        if word.startswith("-") and word not in known and word != "--":
            raise Stop(
                f"error: unknown {'switch' if not word.startswith('--') else 'option'} `{word.lstrip('-')}'\n"
                "usage: git status [<options>] [--] [<pathspec>...]",
                129,
            )
    hidden = "-uno" in words or "--untracked-files=no" in words
    full = any(word in ("-u", "-uall", "--untracked-files=all", "--untracked-files") for word in words)
    if short:
        porcelain = any(word.startswith("--porcelain") for word in words)
        if any(word in ("-b", "--branch", "-sb", "-bs") for word in words):
            session.say(_short_branch(session))
        for line in short_status(session, untracked=not hidden, full=full, relative=not porcelain):
            session.say(line)
        return
    session.output.append(long_status(session, untracked=not hidden))


def long_status(session: Session, *, untracked: bool = True) -> str:
    """Return the text of `git status`."""
    repository = session.repository
    conflicts = repository.conflicts()
    unmerged = [
        f"\t{(_CONFLICTS[tuple(sorted(stages))][0] + ':').ljust(17)}{quoted(session.relative(path))}"
        for path, stages in sorted(conflicts.items())
    ]
    return status_text(
        repository,
        shown=lambda path: quoted(session.relative(path)),
        notes=_notes(session, bool(conflicts)),
        unmerged=unmerged,
        hidden=set(conflicts),
        untracked=untracked,
    )


def _notes(session: Session, conflicts: bool) -> list[str]:
    """Return what git says of a merge, rebase or pick that is not finished."""
    repository = session.repository
    if repository.text("MERGE_HEAD") is not None:
        if conflicts:
            return [
                "You have unmerged paths.",
                '  (fix conflicts and run "git commit")',
                '  (use "git merge --abort" to abort the merge)',
                "",
            ]
        return ["All conflicts fixed but you are still merging.", '  (use "git commit" to conclude merge)', ""]
    for name, verb in (("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")):
        sha = (repository.text(name) or "").strip()
        if sha:
            short = repository.abbreviated(sha)
            what = f"You are currently {'cherry-picking' if verb == 'cherry-pick' else 'reverting'} commit {short}."
            first = (
                f'  (fix conflicts and run "git {verb} --continue")'
                if conflicts
                else f'  (all conflicts fixed: run "git {verb} --continue")'
            )
            return [
                what,
                first,
                f'  (use "git {verb} --skip" to skip this patch)',
                f'  (use "git {verb} --abort" to cancel the {verb} operation)',
                "",
            ]
    if repository.text("rebase-merge/onto") is not None:
        onto = repository.abbreviated((repository.text("rebase-merge/onto") or "").strip())
        branch = (repository.text("rebase-merge/head-name") or "").strip().removeprefix("refs/heads/")
        first = (
            '  (fix conflicts and then run "git rebase --continue")'
            if conflicts
            else '  (all conflicts fixed: run "git rebase --continue")'
        )
        return [
            f"You are currently rebasing branch '{branch}' on '{onto}'.",
            first,
            '  (use "git rebase --skip" to skip this patch)',
            '  (use "git rebase --abort" to check out the original branch)',
            "",
        ]
    return []


def _short_branch(session: Session) -> str:
    repository, branch = session.repository, session.branch
    if branch is None:
        return "## HEAD (no branch)"
    if session.head is None:
        return f"## No commits yet on {branch}"
    found = tracked_remote(repository)
    if found is None:
        return f"## {branch}"
    name, ahead, behind = found
    parts = [f"ahead {ahead}"] * bool(ahead) + [f"behind {behind}"] * bool(behind)
    return f"## {branch}...{name}" + (f" [{', '.join(parts)}]" if parts else "")


def short_status(session: Session, *, untracked: bool = True, full: bool = False, relative: bool = True) -> list[str]:
    """Return the lines of `git status --short`."""
    repository = session.repository
    conflicts = repository.conflicts()
    marks: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    shown: Callable[[str], str] = (lambda path: quoted(session.relative(path))) if relative else quoted
    for place, found in ((0, staged(repository)), (1, against_worktree(repository, repository.index()))):
        for delta in found:
            if delta.path in conflicts:
                continue
            marks.setdefault(delta.path, [" ", " "])[place] = letter(delta)
            if delta.alike is not None and delta.old is not None:
                names[delta.path] = f"{shown(delta.old.path)} -> {shown(delta.path)}"
    for path, stages in conflicts.items():
        marks[path] = list(_CONFLICTS[tuple(sorted(stages))][1])
    lines = [
        "".join(marks[path]) + " " + names.get(path, shown(path))
        for path in sorted(marks, key=lambda one: one.encode())
    ]
    if untracked:
        index, ignored = repository.index(), Ignored(repository.worktree())
        found_files = (
            [path for path in repository.worktree() if path not in index and ignored.cause(path) is None]
            if full
            else untracked_files(repository)
        )
        lines += [f"?? {shown(path)}" for path in found_files if path not in conflicts]
    return lines


def add(session: Session) -> None:
    """Stage files."""
    flags = {word for word in session.words if word.startswith("-") and word != "--"}
    names = [word for word in session.words if not word.startswith("-")]
    for flag in flags - {
        "-A",
        "--all",
        "-u",
        "--update",
        "-f",
        "--force",
        "-v",
        "--verbose",
        "-n",
        "--dry-run",
        "-N",
        "--intent-to-add",
    }:
        kind = "option" if flag.startswith("--") else "switch"
        raise Stop(f"error: unknown {kind} `{flag.lstrip('-')}'\nusage: git add [<options>] [--] <pathspec>...", 129)
    everything, update = bool(flags & {"-A", "--all"}), bool(flags & {"-u", "--update"})
    if not names and not everything and not update:
        session.warn(
            "Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?\n"
            'hint: Turn this message off by running\nhint: "git config advice.addEmptyPathspec false"'
        )
        return
    repository = session.repository
    specs = session.paths(names) if names else [""]
    index, tree = repository.index(), repository.worktree()
    known = {*index, *repository.conflicts()}
    ignored = Ignored(tree)
    force = bool(flags & {"-f", "--force"})
    open_files = [path for path in tree if path in known or force or ignored.cause(path) is None]
    candidates = list(dict.fromkeys([*known, *open_files])) if not update else list(known)
    refused: list[str] = []
    chosen: dict[str, None] = {}
    for name, spec in zip(names or ["."], specs, strict=True):
        found = matching(candidates, [spec])
        if not found and spec and not update:
            below = matching(list(tree), [spec])
            if not below and not session.call.files.is_directory(f"{repository.path}/{spec}"):
                raise Stop(f"fatal: pathspec '{name}' did not match any files")
            refused += [ignored.cause(below[0]) or spec] if below else []
        chosen.update(dict.fromkeys(found))
    changes: dict[str, TreeEntry | None] = {}
    conflicts = repository.conflicts()
    for path in sorted(chosen, key=lambda one: one.encode()):
        entry = TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) if path in tree else None
        if entry != index.get(path) or path in conflicts:
            changes[path] = entry
            if flags & {"-v", "--verbose", "-n", "--dry-run"}:
                session.say(f"{'add' if entry else 'remove'} '{path}'")
    if not flags & {"-n", "--dry-run"}:
        repository.stage(changes)
    if refused:
        listed = "\n".join(dict.fromkeys(refused))
        hint = (
            "hint: Use -f if you really want to add them.\nhint: Turn this message off by running\n"
            'hint: "git config advice.addIgnoredFile false"'
        )
        raise Stop(f"The following paths are ignored by one of your .gitignore files:\n{listed}\n{hint}", 1)


def remove(session: Session) -> None:
    """Remove files from the index and the working tree (git rm)."""
    flags = {
        letter for word in session.words if word.startswith("-") and not word.startswith("--") for letter in word[1:]
    }
    cached, quiet = "--cached" in session.words, "q" in flags or "--quiet" in session.words
    names = [word for word in session.words if not word.startswith("-")]
    if not names:
        raise Stop("fatal: No pathspec was given. Which files should I remove?", 128)
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    head = _head_files(session)
    removed: dict[str, None] = {}
    for name, spec in zip(names, session.paths(names), strict=True):
        found = matching(list(index), [spec])
        if not found:
            raise Stop(f"fatal: pathspec '{name}' did not match any files")
        if spec not in index and "r" not in flags and not any(letter in spec for letter in "*?["):
            raise Stop(f"fatal: not removing '{name}' recursively without -r")
        removed.update(dict.fromkeys(found))
    if "f" not in flags and "--force" not in session.words:
        _check_removable(removed, index, tree, head, cached=cached)
    repository.stage(dict.fromkeys(removed))
    if not cached:
        repository.put_files(dict.fromkeys(removed))
    if not quiet:
        session.output += [f"rm '{path}'\n" for path in removed]


def _check_removable(
    removed: Mapping[str, None],
    index: Mapping[str, TreeEntry],
    tree: Mapping[str, TreeEntry],
    head: Mapping[str, TreeEntry],
    *,
    cached: bool,
) -> None:
    for path in removed:
        local = path in tree and tree[path] != index[path]
        stage = head.get(path) != index[path]
        if cached:
            if local and stage:
                raise Stop(
                    "error: the following file has staged content different from both the\nfile and the HEAD:\n"
                    f"    {path}\n(use -f to force removal)",
                    1,
                )
        elif stage:
            raise Stop(
                f"error: the following file has changes staged in the index:\n    {path}\n"
                "(use --cached to keep the file, or -f to force removal)",
                1,
            )
        elif local:
            raise Stop(
                f"error: the following file has local modifications:\n    {path}\n(use --cached to keep the file, or -f to force removal)",
                1,
            )


def move(session: Session) -> None:
    """Move files in the index and the working tree (git mv)."""
    names = [word for word in session.words if not word.startswith("-")]
    force = "-f" in session.words or "--force" in session.words
    if len(names) < 2:
        raise Stop("usage: git mv [<options>] <source>... <destination>", 129)
    repository = session.repository
    *sources, target = session.paths(names)
    files = session.call.files
    into = files.is_directory(f"{repository.path}/{target}")
    if len(sources) > 1 and not into:
        raise Stop(f"fatal: destination '{names[-1]}' is not a directory")
    for name, source in zip(names[:-1], sources, strict=True):
        place = f"{target}/{source.rpartition('/')[2]}".lstrip("/") if into else target
        index = repository.index()
        moved = matching(list(index), [source])
        if not moved:
            exists = files.exists(f"{repository.path}/{source}")
            why = "not under version control" if exists else "bad source"
            raise Stop(f"fatal: {why}, source={name}, destination={place}")
        if files.exists(f"{repository.path}/{place}") and not force:
            raise Stop(f"fatal: destination exists, source={name}, destination={place}")
        files.rename(f"{repository.path}/{source}", f"{repository.path}/{place}")
        changes: dict[str, TreeEntry | None] = dict.fromkeys(moved)
        repository.stage(changes | {place + path[len(source) :]: index[path] for path in moved})


def commit(session: Session) -> None:
    """Record what is staged."""
    asked = _CommitRequest(session)
    repository = session.repository
    if asked.all:
        index, tree = repository.index(), repository.worktree()
        known = {*index, *repository.conflicts()}
        repository.stage({path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) if path in tree else None for path in known})  # fmt: skip
    if repository.conflicts():
        listed = "\n".join(f"U\t{path}" for path in sorted(repository.conflicts()))
        session.say(listed)
        raise Stop(
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
        raise Stop("fatal: You have nothing to amend.")
    unchanged = (
        tree_id == base
        and not merging
        and not asked.empty
        and not (asked.amend and old and tree_id == old.tree and len(parents) != 1)
    )
    if unchanged and not asked.amend:
        session.output.append(long_status(session))
        raise Stop("", 1)
    message = asked.message
    if message is None:
        held = repository.text("MERGE_MSG")
        message = old.message if asked.amend and old else held
        if message is not None and held is not None and not asked.amend:
            message = "\n".join(line for line in message.splitlines() if not line.startswith("#"))
    if message is None:
        raise Stop(
            "error: Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.", 1
        )
    message = cleaned(message)
    if not message and not asked.empty_message:
        raise Stop("Aborting commit due to empty commit message.", 1)
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


def report_commit(session: Session, sha: str, *, dated: bool = False) -> None:
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
    def __init__(self, session: Session) -> None:
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
                value = value if equals else _next(words, word)
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
            raise Stop(f"error: unknown option `{word[2:]}'\nusage: git commit [<options>] [--] <pathspec>...", 129)

    def _letters(self, letters: str, words: list[str], parts: list[str]) -> None:
        for place, letter_ in enumerate(letters):
            if letter_ == "m":
                parts.append(letters[place + 1 :] or _next(words, "-m"))
                return
            if letter_ == "a":
                self.all = True
            elif letter_ == "q":
                self.quiet = True
            elif letter_ not in "nvso":
                raise Stop(f"error: unknown switch `{letter_}'\nusage: git commit [<options>] [--] <pathspec>...", 129)


def _next(words: list[str], option: str) -> str:
    if not words:
        kind = "option" if option.startswith("--") else "switch"
        raise Stop(f"error: {kind} `{option.lstrip('-')}' requires a value", 129)
    return words.pop(0)


def _stage_paths(session: Session, names: Sequence[str]) -> None:
    repository = session.repository
    index, tree = repository.index(), repository.worktree()
    for name, spec in zip(names, session.paths(names), strict=True):
        found = matching(list(index), [spec])
        if not found:
            raise Stop(f"error: pathspec '{name}' did not match any file(s) known to git", 1)
        repository.stage(
            {
                path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) if path in tree else None
                for path in found
            }
        )


def _head_files(session: Session) -> Mapping[str, TreeEntry]:
    head = session.head
    return session.repository.files(session.repository.commit(head).tree) if head else {}


def reset(session: Session) -> None:
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
        raise Stop(f"error: unknown option `{unknown[0].lstrip('-')}'", 129)
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
                and path not in _head_files(session)
                and not session.call.files.exists(f"{repository.path}/{path}")
            ):
                session.object(name)
    paths = [*rest, *behind]
    sha = session.commit_id(target or "HEAD") if session.head else None
    files = repository.files(repository.commit(sha).tree) if sha else {}
    if paths:
        if modes and modes[0] != "--mixed":
            raise Stop(f"fatal: Cannot do {modes[0][2:]} reset with paths.")
        chosen = matching(list({**repository.index(), **files, **repository.conflicts()}), session.paths(paths))
        repository.stage({path: files.get(path) for path in chosen})
        _say_unstaged(session, quiet)
        return
    mode = modes[-1] if modes else "--mixed"
    if sha is None:
        repository.put_stages({})
        return
    old = session.head
    if mode == "--hard":
        index = repository.index()
        now = worktree_entries(repository)
        tracked = {*index, *repository.conflicts(), *_head_files(session)}
        changes = {path: files.get(path) for path in {*tracked, *files} if now.get(path) != files.get(path)}
        repository.put_files(dict(sorted(changes.items())))
    if mode != "--soft":
        repository.put_stages({(path, 0): entry for path, entry in files.items()})
    if old:
        repository.put_text("ORIG_HEAD", f"{old}\n")
    session.move(sha, f"reset: moving to {target or 'HEAD'}")
    for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD"):
        repository.drop(name)
    if mode == "--hard" and not quiet:
        made = repository.commit(sha)
        session.say(f"HEAD is now at {repository.abbreviated(sha)} {made.message.partition(chr(10))[0]}")
    elif mode == "--mixed":
        _say_unstaged(session, quiet)


def _say_unstaged(session: Session, quiet: bool) -> None:
    found = against_worktree(session.repository, session.repository.index())
    if found and not quiet:
        session.say("Unstaged changes after reset:")
        session.output += [f"{letter(delta)}\t{session.relative(delta.path)}\n" for delta in found]


def restore(session: Session) -> None:
    """Restore files of the working tree or the index (git restore)."""
    words, source = list(session.words), None
    names: list[str] = []
    flags: set[str] = set()
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in ("--source", "-s"):
            source = value if equals else _next(words, word)
        elif word == "--":
            names += words
            break
        elif word in ("--staged", "-S", "--worktree", "-W", "-q", "--quiet", "--ours", "--theirs"):
            flags.add(word)
        elif word.startswith("-"):
            raise Stop(f"error: unknown option `{word.lstrip('-')}'", 129)
        else:
            names.append(word)
    if not names:
        raise Stop("fatal: you must specify path(s) to restore")
    index_too = bool(flags & {"--staged", "-S"})
    restore_paths(session, names, source=source or ("HEAD" if index_too else None), index=index_too,
                  tree=not index_too or bool(flags & {"--worktree", "-W"}), side=2 if "--ours" in flags else 3 if "--theirs" in flags else None)  # fmt: skip


def restore_paths(
    session: Session, names: Sequence[str], *, source: str | None, index: bool, tree: bool, side: int | None = None
) -> int:
    """Restore paths from a commit, or from the index, and return how many were restored. Raises Stop for an unknown path."""
    repository = session.repository
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
                raise Stop(f"error: path '{name}' is unmerged", 1)
            raise Stop(f"error: pathspec '{name}' did not match any file(s) known to git", 1)
        if index:
            repository.stage({path: files.get(path) for path in chosen})
        if tree:
            entries = worktree_entries(repository)
            changes = {path: files.get(path) for path in chosen if entries.get(path) != files.get(path)}
            repository.put_files(changes)
            count += len(changes)
    return count


def clean(session: Session) -> None:
    """Remove untracked files."""
    letters = {
        letter_ for word in session.words if word.startswith("-") and not word.startswith("--") for letter_ in word[1:]
    }
    names = [word for word in session.words if not word.startswith("-")]
    dry = "n" in letters or "--dry-run" in session.words
    if "f" not in letters and not dry and "--force" not in session.words:
        raise Stop("fatal: clean.requireForce defaults to true and neither -i, -n, nor -f given; refusing to clean")
    repository = session.repository
    found = untracked_files(repository)
    if "x" in letters:
        index = repository.index()
        found = [path for path in repository.worktree() if path not in index]
    for path in found:
        if path.endswith("/") and "d" not in letters:
            continue
        if names and not matching([path.rstrip("/")], session.paths(names)):
            continue
        session.say(f"{'Would remove' if dry else 'Removing'} {quoted(session.relative(path))}")
        if not dry:
            session.call.files.remove(f"{repository.path}/{path.rstrip('/')}", recursive=True)


def diff(session: Session) -> None:
    """Show differences: working tree, index, commits."""
    wish, names, paths = Wish(), list[str](), list[str]()
    cached = quiet = code = False
    words = list(session.words)
    if "--no-index" in words:
        raise Stop("error: Could not access '--no-index'", 128)
    while words:
        word = words.pop(0)
        if word == "--":
            paths += words
            break
        if word in ("--cached", "--staged"):
            cached = True
        elif word in ("--quiet", "--exit-code"):
            quiet, code = quiet or word == "--quiet", True
        elif word.startswith("-") and wish.take(word, words):
            continue
        elif word.startswith("-"):
            raise Stop(f"error: invalid option: {word}", 129)
        elif not paths and (".." in word or session.maybe(word) is not None):
            names.append(word)
        else:
            if not session.call.files.exists(f"{session.directory}/{word}", follow=False) and not any(
                one in word for one in "*?["
            ):
                session.object(word)
            paths.append(word)
    found = compared_states(session, names, cached=cached)
    specs = session.paths(paths)
    if code:
        session.code = int(bool(matching([delta.path for delta in found], specs)))
    if not quiet:
        session.output.append(written(session, found, wish, specs=specs))


def compared_states(session: Session, names: Sequence[str], *, cached: bool) -> list[Delta]:
    """Return the differences between two commits, a commit and the index or working tree, or index and working tree."""
    from simtrain.worlds.machine.git.walking import merge_bases

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
        return compared(repository, files(names[0]) if names else _head_files(session), repository.index())
    return against_worktree(repository, files(names[0]) if names else repository.index())

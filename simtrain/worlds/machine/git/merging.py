"""merge, rebase, cherry-pick, revert and stash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import NOTHING, Commit, TreeEntry
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.handlers.git.states import compared, worktree_entries
from simtrain.worlds.machine.git.changes import cleaned, long_status, report_commit
from simtrain.worlds.machine.git.listing import stat, summary
from simtrain.worlds.machine.git.session import Session, Stop
from simtrain.worlds.machine.git.three_way import Merged
from simtrain.worlds.machine.git.three_way import merge as merge_trees
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases

_OVERWRITTEN = (
    "error: Your local changes to the following files would be overwritten by {0}:\n{1}\n"
    "Please commit your changes or stash them before you {2}.\nAborting"
)


def merge(session: Session) -> None:
    """Join another line of history into the branch."""
    words, message, names = list(session.words), None, list[str]()
    flags: set[str] = set()
    while words:
        word = words.pop(0)
        if word in ("-m", "--message") and words:
            message = words.pop(0)
        elif word.startswith("--message="):
            message = word.partition("=")[2]
        elif word in ("-s", "-X", "--strategy", "--strategy-option"):
            words.pop(0)
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    repository = session.repository
    if "--abort" in flags:
        if repository.text("MERGE_HEAD") is None:
            raise Stop("fatal: There is no merge to abort (MERGE_HEAD missing).")
        _back_to(session, session.head or "")
        return
    if "--continue" in flags:
        _conclude_merge(session)
        return
    if repository.text("MERGE_HEAD") is not None:
        raise Stop(
            "error: Merging is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\n"
            "fatal: Exiting because of an unresolved conflict."
        )
    if not names:
        raise Stop("fatal: No remote for the current branch.", 128)
    name = names[0]
    found = session.maybe(name)
    if found is None:
        raise Stop(f"merge: {name} - not something we can merge", 1)
    merge_commit(session, name, session.commit_id(name), message, flags)


def merge_commit(
    session: Session, name: str, theirs: str, message: str | None, flags: set[str], *, what: str | None = None
) -> None:
    """Merge a commit into HEAD."""
    repository, head = session.repository, session.head
    quiet = bool(flags & {"-q", "--quiet"})
    if head is None:
        _write_tree(session, {}, repository.files(repository.commit(theirs).tree), "merge", "merge")
        session.move(theirs, "initial pull")
        return
    if theirs in reachable(repository, head):
        if not quiet:
            session.say("Already up to date.")
        return
    files = {sha: repository.files(repository.commit(sha).tree) for sha in (head, theirs)}
    if head in reachable(repository, theirs) and not flags & {"--no-ff", "--squash"}:
        if not quiet:
            session.say(f"Updating {repository.abbreviated(head)}..{repository.abbreviated(theirs)}")
        _write_tree(session, files[head], files[theirs], "merge", "merge")
        repository.put_text("ORIG_HEAD", f"{head}\n")
        session.move(theirs, f"merge {name}: Fast-forward")
        if not quiet:
            session.say("Fast-forward")
            _say_changes(session, files[head], files[theirs])
        return
    if "--ff-only" in flags:
        raise Stop(
            "hint: Diverging branches can't be fast-forwarded, you need to either:\nhint:\n"
            "hint: \tgit merge --no-ff\nhint:\nhint: or:\nhint:\nhint: \tgit rebase\nhint:\n"
            'hint: Disable this message with "git config advice.diverging false"\n'
            "fatal: Not possible to fast-forward, aborting."
        )
    bases = merge_bases(repository, head, theirs)
    if not bases and "--allow-unrelated-histories" not in flags:
        raise Stop("fatal: refusing to merge unrelated histories")
    base = repository.files(repository.commit(bases[0]).tree) if bases else {}
    done = merge_trees(repository, base, files[head], files[theirs], names=("HEAD", name))
    _check_local(session, files[head], done, "merge", "merge")
    _put(session, files[head], done)
    if not quiet:
        session.output += [f"{note}\n" for note in done.notes]
    text = message if message is not None else _merge_message(session, name, what)
    if done.conflicts:
        repository.put_text("MERGE_HEAD", f"{theirs}\n")
        listed = "".join(f"#\t{path}\n" for path in done.conflicts)
        repository.put_text("MERGE_MSG", f"{text}\n\n# Conflicts:\n{listed}")
        repository.put_text("MERGE_MODE", "")
        session.say("Automatic merge failed; fix conflicts and then commit the result.")
        session.code = 1
        return
    if "--squash" in flags:
        session.say("Squash commit -- not updating HEAD")
        return
    if "--no-commit" in flags:
        repository.put_text("MERGE_HEAD", f"{theirs}\n")
        repository.put_text("MERGE_MSG", f"{text}\n")
        session.say("Automatic merge went well; stopped before committing as requested")
        return
    tree = repository.keep_tree(repository.index())
    made = Commit(tree, (head, theirs), session.signature("AUTHOR"), session.signature("COMMITTER"), cleaned(text))
    repository.put_text("ORIG_HEAD", f"{head}\n")
    session.move(repository.keep_commit(made), f"merge {name}: Merge made by the 'ort' strategy.")
    if not quiet:
        session.say("Merge made by the 'ort' strategy.")
        _say_changes(session, files[head], repository.files(tree))


def _merge_message(session: Session, name: str, what: str | None) -> str:
    repository = session.repository
    if what is None:
        kind = (
            "branch"
            if repository.ref(HEADS + name)
            else "remote-tracking branch"
            if repository.ref(REMOTES + name)
            else "tag"
            if repository.ref(TAGS + name)
            else "commit"
        )
        what = f"{kind} '{name}'"
    into = "" if session.branch in ("main", "master") else f" into {session.branch or 'HEAD'}"
    return f"Merge {what}{into}"


def _conclude_merge(session: Session) -> None:
    from simtrain.worlds.machine.git.changes import commit

    if session.repository.text("MERGE_HEAD") is None:
        raise Stop("fatal: There is no merge in progress (MERGE_HEAD missing).")
    session.words = ["--no-edit"]
    commit(session)


def _say_changes(session: Session, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> None:
    found = compared(session.repository, old, new)
    if found:
        session.output.append(stat(found) + summary(found))


def _write_tree(
    session: Session, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry], what: str, verb: str
) -> None:
    done = Merged(stages={(path, 0): entry for path, entry in new.items()})
    done.files = {path: (entry.mode, session.repository.blob(entry.sha)) for path, entry in new.items()}
    _check_local(session, old, done, what, verb)
    _put(session, old, done)


def _check_local(session: Session, head: Mapping[str, TreeEntry], done: Merged, what: str, verb: str) -> None:
    """Raise Stop where a merge would overwrite what is not committed."""
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    touched = {path for path in {*head, *done.files} if _entry(done, path) != head.get(path)}
    local = sorted(
        path
        for path in touched
        if path in head and (index.get(path) != head[path] or tree.get(path) not in (index.get(path), None))
    )
    if local:
        raise Stop(_OVERWRITTEN.format(what, "\n".join(f"\t{path}" for path in local), verb), 1)
    loose = sorted(path for path in touched if path not in head and path in tree and path not in index)
    if loose:
        raise Stop(
            "error: The following untracked working tree files would be overwritten by {}:\n{}\n"
            "Please move or remove them before you {}.\nAborting".format(
                what, "\n".join(f"\t{path}" for path in loose), verb
            ),
            1,
        )


def _entry(done: Merged, path: str) -> TreeEntry | None:
    return done.stages.get((path, 0))


def _put(session: Session, head: Mapping[str, TreeEntry], done: Merged) -> None:
    """Write the result of a merge into the index and the working tree; what it leaves as it was stays untouched."""
    repository = session.repository
    before = repository.index()
    stages = dict(done.stages)
    for path, entry in before.items():
        # What was staged beside the merge, and is not touched by it, stays staged.
        if ((path, 0) in stages and stages[path, 0] == head.get(path)) or (path not in done.files and path not in head):
            stages[path, 0] = entry
    for path in sorted({*head, *done.files}):
        if path not in done.files:
            repository.put_files({path: None})
        elif _entry(done, path) != head.get(path):
            repository.put_file(path, *done.files[path])
    repository.put_stages(stages)


def _back_to(session: Session, sha: str) -> None:
    """Make index and working tree as a commit has them, and forget what was in progress."""
    repository = session.repository
    files = repository.files(repository.commit(sha).tree)
    now = worktree_entries(repository)
    tracked = {*repository.index(), *repository.conflicts(), *files}
    repository.put_files({path: files.get(path) for path in sorted(tracked) if now.get(path) != files.get(path)})
    repository.put_stages({(path, 0): entry for path, entry in files.items()})
    for name in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD"):
        repository.drop(name)


def _apply(session: Session, sha: str, *, back: bool, names: tuple[str, str], what: str) -> Merged:
    """Carry the change of a commit, or its reverse, over to HEAD."""
    repository = session.repository
    commit = repository.commit(sha)
    parent = repository.files(repository.commit(commit.parents[0]).tree) if commit.parents else {}
    own = repository.files(commit.tree)
    head = repository.files(repository.commit(session.head or "").tree)
    done = merge_trees(repository, own if back else parent, head, parent if back else own, names=names)
    _check_local(session, head, done, what, what)
    _put(session, head, done)
    return done


def cherry_pick(session: Session) -> None:
    """Make the changes of other commits here as well."""
    _pick(session, "cherry-pick")


def revert(session: Session) -> None:
    """Undo commits by new ones."""
    _pick(session, "revert")


def _pick(session: Session, verb: str) -> None:
    repository = session.repository
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    mark = "CHERRY_PICK_HEAD" if verb == "cherry-pick" else "REVERT_HEAD"
    if flags & {"--abort", "--quit", "--skip"}:
        if repository.text(mark) is None:
            raise Stop(f"error: no cherry-pick or revert in progress\nfatal: {verb} failed")
        _back_to(session, session.head or "")
        return
    if "--continue" in flags:
        from simtrain.worlds.machine.git.changes import commit

        session.words = ["--no-edit"]
        commit(session)
        return
    if not names:
        raise Stop(f"usage: git {verb} [--edit] [-n] [-m <parent-number>] [-s] [-x] [--ff] <commit>...", 129)
    for name in names:
        picked = Range()
        if ".." in name and picked.take(session, name):
            chosen = list(reversed(commits(session, picked)))
        else:
            if session.maybe(name) is None:
                raise Stop(f"fatal: bad revision '{name}'")
            chosen = [session.commit_id(name)]
        for sha in chosen:
            if not _pick_one(session, sha, verb, mark, flags):
                return


def _pick_one(session: Session, sha: str, verb: str, mark: str, flags: set[str]) -> bool:
    repository = session.repository
    commit = repository.commit(sha)
    if len(commit.parents) > 1:
        raise Stop(f"error: commit {sha} is a merge but no -m option was given.\nfatal: {verb} failed")
    short, subject = repository.abbreviated(sha), commit.message.partition("\n")[0]
    names = ("HEAD", f"{short} ({subject})" if verb == "cherry-pick" else f"parent of {short} ({subject})")
    done = _apply(session, sha, back=verb == "revert", names=names, what=verb)
    session.output += [f"{note}\n" for note in done.notes]
    message = commit.message
    if verb == "revert":
        message = f'Revert "{subject}"\n\nThis reverts commit {sha}.\n'
    elif "-x" in flags:
        message = f"{message.rstrip(chr(10))}\n\n(cherry picked from commit {sha})\n"
    if done.conflicts:
        repository.put_text(mark, f"{sha}\n")
        listed = "".join(f"#\t{path}\n" for path in done.conflicts)
        repository.put_text("MERGE_MSG", f"{message}\n# Conflicts:\n{listed}")
        session.warn(f"error: could not {'apply' if verb == 'cherry-pick' else 'revert'} {short}... {subject}")
        session.warn(
            'hint: After resolving the conflicts, mark them with\nhint: "git add/rm <pathspec>", then run\n'
            f'hint: "git {verb} --continue".\n'
            f'hint: You can instead skip this commit with "git {verb} --skip".\n'
            f'hint: To abort and get back to the state before "git {verb}",\nhint: run "git {verb} --abort".'
        )
        session.code = 1
        return False
    if flags & {"-n", "--no-commit"}:
        return True
    tree = repository.keep_tree(repository.index())
    if tree == repository.commit(session.head or "").tree:
        repository.put_text(mark, f"{sha}\n")
        session.output.append(long_status(session))
        session.warn(
            f"The previous {verb} is now empty, possibly due to conflict resolution.\n"
            "If you wish to commit it anyway, use:\n\n    git commit --allow-empty\n"
        )
        session.code = 1
        return False
    author = commit.author if verb == "cherry-pick" else session.signature("AUTHOR")
    made = Commit(tree, (session.head or "",), author, session.signature("COMMITTER"), message)
    new = repository.keep_commit(made)
    session.move(new, f"{verb}: {message.partition(chr(10))[0]}")
    report_commit(session, new, dated=True)
    return True


def rebase(session: Session) -> None:
    """Move the commits of the branch on top of another commit."""
    repository = session.repository
    words, onto_name, names = list(session.words), None, list[str]()
    flags: set[str] = set()
    while words:
        word = words.pop(0)
        if word == "--onto" and words:
            onto_name = words.pop(0)
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if flags & {"--abort", "--continue", "--skip"}:
        _go_on_rebasing(session, flags)
        return
    if flags & {"-i", "--interactive"}:
        raise Stop("error: Terminal is dumb, but EDITOR unset", 1)
    if repository.text("rebase-merge/onto") is not None:
        raise Stop(
            "fatal: It seems that there is already a rebase-merge directory, and\n"
            "I wonder if you are in the middle of another rebase.  If that is the\ncase, please try\n"
            "\tgit rebase (--continue | --abort | --skip)\nIf that is not the case, please\n"
            f'\trm -fr "{repository.folder}/rebase-merge"\n'
            "and run me again.  I am stopping in case you still have something\nvaluable there."
        )
    upstream_name = names[0] if names else None
    if upstream_name is None:
        ref = repository.upstream(repository.head)
        if ref is None:
            raise Stop(
                "There is no tracking information for the current branch.\n"
                "Please specify which branch you want to rebase against.\nSee git-rebase(1) for details.\n\n"
                "    git rebase '<branch>'\n",
                1,
            )
        upstream_name = ref
    if session.maybe(upstream_name) is None:
        raise Stop(f"fatal: invalid upstream '{upstream_name}'")
    _check_clean(session, "rebase")
    upstream = session.commit_id(upstream_name)
    onto = session.commit_id(onto_name) if onto_name else upstream
    head = session.head or ""
    waiting = Range(wanted=[head], unwanted=[upstream])
    todo = [sha for sha in reversed(commits(session, waiting)) if len(repository.commit(sha).parents) < 2]
    bases = merge_bases(repository, head, upstream)
    branch = session.branch
    if (
        bases == [onto]
        and not flags & {"-f", "--force-rebase", "--no-ff"}
        and all(repository.commit(sha).parents for sha in todo)
    ):
        session.output += [] if flags & {"-q", "--quiet"} else [f"Current branch {branch or 'HEAD'} is up to date.\n"]
        return
    repository.put_text("ORIG_HEAD", f"{head}\n")
    files = repository.files(repository.commit(head).tree)
    _write_tree(session, files, repository.files(repository.commit(onto).tree), "checkout", "switch branches")
    repository.set_head(onto)
    repository.note(
        "HEAD",
        old=head,
        new=onto,
        message=f"rebase (start): checkout {onto_name or upstream_name}",
        at=session.reflog_time,
    )
    state = {"onto": onto, "head-name": f"{HEADS}{branch}" if branch else "detached HEAD", "orig-head": head}
    for name, text in state.items():
        repository.put_text(f"rebase-merge/{name}", f"{text}\n")
    _rebase_on(session, todo, len(todo), quiet=bool(flags & {"-q", "--quiet"}))


def _check_clean(session: Session, verb: str) -> None:
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    head = repository.files(repository.commit(session.head).tree) if session.head else {}
    unstaged = any(tree.get(path) != entry for path, entry in index.items())
    if unstaged or index != head:
        first = "You have unstaged changes." if unstaged else "Your index contains uncommitted changes."
        extra = "\nerror: additionally, your index contains uncommitted changes." if unstaged and index != head else ""
        raise Stop(f"error: cannot {verb}: {first}{extra}\nerror: Please commit or stash them.", 1)


def _rebase_on(session: Session, todo: Sequence[str], total: int, *, quiet: bool) -> None:
    repository = session.repository
    waiting = list(todo)
    while waiting:
        sha = waiting.pop(0)
        commit = repository.commit(sha)
        if not quiet:
            session.errors.append(f"Rebasing ({total - len(waiting)}/{total})\r")
        short, subject = repository.abbreviated(sha), commit.message.partition("\n")[0]
        if commit.parents == (session.head,):
            repository.set_head(sha)
            _write_tree(session, repository.index(), repository.files(commit.tree), "rebase", "rebase")
            continue
        done = _apply(session, sha, back=False, names=("HEAD", f"{short} ({subject})"), what="rebase")
        session.output += [f"{note}\n" for note in done.notes]
        if done.conflicts:
            repository.put_text("rebase-merge/git-rebase-todo", "".join(f"pick {one}\n" for one in waiting))
            repository.put_text("rebase-merge/stopped-sha", f"{sha}\n")
            repository.put_text("MERGE_MSG", commit.message)
            session.warn(f"error: could not apply {short}... {subject}")
            session.warn(
                "hint: Resolve all conflicts manually, mark them as resolved with\n"
                'hint: "git add/rm <conflicted_files>", then run "git rebase --continue".\n'
                'hint: You can instead skip this commit: run "git rebase --skip".\n'
                'hint: To abort and get back to the state before "git rebase", run "git rebase --abort".'
            )
            session.warn(f"Could not apply {short}... {subject}")
            session.code = 1
            return
        _record_picked(session, commit)
    branch = (repository.text("rebase-merge/head-name") or "").strip()
    tip = session.head or ""
    onto, old = ((repository.text(f"rebase-merge/{name}") or "").strip() for name in ("onto", "orig-head"))
    if branch.startswith("refs/"):
        repository.set_ref(branch, tip)
        repository.note(
            branch, old=old, new=tip, message=f"rebase (finish): {branch} onto {onto}", at=session.reflog_time
        )
        repository.set_head(branch)
        repository.note(
            "HEAD", old=tip, new=tip, message=f"rebase (finish): returning to {branch}", at=session.reflog_time
        )
    repository.drop("rebase-merge")
    if not quiet:
        session.warn(f"Successfully rebased and updated {branch}.")


def _record_picked(session: Session, commit: Commit) -> None:
    repository = session.repository
    tree = repository.keep_tree(repository.index())
    if tree == repository.commit(session.head or "").tree:
        return
    made = Commit(tree, (session.head or "",), commit.author, session.signature("COMMITTER"), commit.message)
    session.move(repository.keep_commit(made), f"rebase (pick): {commit.message.partition(chr(10))[0]}")


def _go_on_rebasing(session: Session, flags: set[str]) -> None:
    repository = session.repository
    if repository.text("rebase-merge/onto") is None:
        raise Stop("fatal: No rebase in progress?")
    branch, old = ((repository.text(f"rebase-merge/{name}") or "").strip() for name in ("head-name", "orig-head"))
    if "--abort" in flags:
        _back_to(session, old)
        repository.set_head(branch if branch.startswith("refs/") else old)
        repository.drop("rebase-merge")
        return
    stopped = (repository.text("rebase-merge/stopped-sha") or "").strip()
    if "--skip" in flags:
        _back_to(session, session.head or "")
    else:
        if repository.conflicts():
            raise Stop("error: Committing is not possible because you have unmerged files.", 1)
        _record_picked(session, repository.commit(stopped))
    repository.drop("MERGE_MSG")
    todo = [
        line.split()[1]
        for line in (repository.text("rebase-merge/git-rebase-todo") or "").splitlines()
        if line.startswith("pick")
    ]
    _rebase_on(session, todo, len(todo), quiet=False)


def stash(session: Session) -> None:
    """Put changes aside, and bring them back."""
    words = session.words
    action = words[0] if words and not words[0].startswith("-") else "push"
    rest = words[1:] if words and not words[0].startswith("-") else words
    actions: dict[str, Callable[[Session, list[str]], None]] = {
        "push": _stash_push, "save": _stash_push, "pop": _stash_pop, "apply": _stash_pop, "list": _stash_list,
        "drop": _stash_drop, "show": _stash_show, "clear": _stash_clear,
    }  # fmt: skip
    if action not in actions:
        raise Stop(f"fatal: subcommand wasn't specified; 'push' can't be assumed due to unexpected token '{action}'")
    session.words = words
    actions[action](session, rest)


def _stashes(session: Session) -> list[str]:
    return [entry["new"] for entry in session.repository.log("refs/stash")]


def _stash_push(session: Session, rest: list[str]) -> None:
    repository = session.repository
    message = None
    if "-m" in rest:
        message = rest[rest.index("-m") + 1]
    elif session.words[:1] == ["save"] and rest:
        message = " ".join(word for word in rest if not word.startswith("-"))
    head = session.head
    if head is None:
        raise Stop("You do not have the initial commit yet", 1)
    index, tree = repository.index(), repository.worktree()
    kept = repository.files(repository.commit(head).tree)
    everything = bool({"-u", "--include-untracked", "-a", "--all"} & set(rest))
    names = {*index, *(tree if everything else ())}
    now = {
        path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) for path in sorted(names) if path in tree
    }
    if now == kept and index == kept:
        session.say("No local changes to save")
        return
    branch = session.branch or "(no branch)"
    short, subject = repository.abbreviated(head), repository.commit(head).message.partition("\n")[0]
    who, by = session.signature("AUTHOR"), session.signature("COMMITTER")
    staged = repository.keep_commit(
        Commit(repository.keep_tree(index), (head,), who, by, f"index on {branch}: {short} {subject}\n")
    )
    text = f"On {branch}: {message}" if message else f"WIP on {branch}: {short} {subject}"
    sha = repository.keep_commit(Commit(repository.keep_tree(now), (head, staged), who, by, text))
    old = repository.ref("refs/stash")
    repository.set_ref("refs/stash", sha)
    repository.note("refs/stash", old=old or NOTHING, new=sha, message=text, at=session.reflog_time)
    _back_to(session, head)
    if everything:
        repository.put_files({path: None for path in now if path not in kept and path in repository.worktree()})
    if not {"-q", "--quiet"} & set(rest):
        session.say(f"Saved working directory and index state {text}")


def _stash_number(session: Session, rest: list[str]) -> int:
    names = [word for word in rest if not word.startswith("-")]
    text = names[0].removeprefix("stash@{").removesuffix("}") if names else "0"
    if not text.isdigit():
        raise Stop(f"error: {names[0]} is not a valid reference", 1)
    count = len(_stashes(session))
    if not count:
        raise Stop("No stash entries found.", 1)
    if int(text) >= count:
        raise Stop(f"error: stash@{{{text}}} is not a valid reference", 1)
    return int(text)


def _stash_pop(session: Session, rest: list[str]) -> None:
    repository = session.repository
    number = _stash_number(session, rest)
    sha = _stashes(session)[number]
    commit = repository.commit(sha)
    base = repository.files(repository.commit(commit.parents[0]).tree)
    head = repository.files(repository.commit(session.head or "").tree)
    mine = dict(repository.files(commit.tree).items())
    before = repository.index()
    done = merge_trees(repository, base, head, mine, names=("Updated upstream", "Stashed changes"))
    _check_local(session, head, done, "merge", "merge")
    _put(session, head, done)
    session.output += [f"{note}\n" for note in done.notes]
    if not done.conflicts:
        # Changes come back unstaged; files that are new stay staged.
        index = repository.index()
        repository.put_stages(
            {(path, 0): before.get(path, entry) for path, entry in index.items()}
            | {(path, 0): entry for path, entry in before.items()}
        )
    quiet = bool({"-q", "--quiet"} & set(rest))
    if not quiet:
        session.output.append(long_status(session))
    if done.conflicts:
        session.warn("The stash entry is kept in case you need it again.")
        session.code = 1
    elif session.words[0] == "pop":
        _forget(session, number, quiet=quiet)


def _forget(session: Session, number: int, *, quiet: bool = False) -> None:
    repository = session.repository
    sha = _stashes(session)[number]
    lines = (repository.text("logs/refs/stash") or "").splitlines()
    del lines[len(lines) - 1 - number]
    if lines:
        repository.put_text("logs/refs/stash", "".join(f"{line}\n" for line in lines))
        repository.set_ref("refs/stash", lines[-1][41:81])
    else:
        repository.drop("refs/stash")
        repository.drop("logs/refs/stash")
    if not quiet:
        session.say(f"Dropped refs/stash@{{{number}}} ({sha})")


def _stash_drop(session: Session, rest: list[str]) -> None:
    number = _stash_number(session, rest)
    _forget(session, number)
    if not [word for word in rest if not word.startswith("-")]:
        session.output[-1] = session.output[-1].replace("refs/stash@", "refs/stash@")


def _stash_list(session: Session, rest: list[str]) -> None:
    for number, entry in enumerate(session.repository.log("refs/stash")):
        session.say(f"stash@{{{number}}}: {entry['message']}")


def _stash_show(session: Session, rest: list[str]) -> None:
    from simtrain.worlds.machine.git.listing import Wish, written

    repository = session.repository
    wish = Wish()
    names = [word for word in rest if not wish.take(word, [])]
    commit = repository.commit(_stashes(session)[_stash_number(session, names)])
    found = compared(
        repository, repository.files(repository.commit(commit.parents[0]).tree), repository.files(commit.tree)
    )
    session.output.append(written(session, found, wish, default="stat"))


def _stash_clear(session: Session, rest: list[str]) -> None:
    session.repository.drop("refs/stash")
    session.repository.drop("logs/refs/stash")

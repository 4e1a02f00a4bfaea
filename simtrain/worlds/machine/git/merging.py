"""merge, cherry-pick and revert."""

from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import Commit
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.machine.git.applying import back_to, carry_over, check_local, put_result, say_changes, write_tree
from simtrain.worlds.machine.git.committing import report_commit
from simtrain.worlds.machine.git.messages import cleaned
from simtrain.worlds.machine.git.locking import is_locked, require_unlocked
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.status import long_status
from simtrain.worlds.machine.git.three_way import merge as merge_trees
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases


def merge(session: GitSession) -> None:
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
            raise GitStop("fatal: There is no merge to abort (MERGE_HEAD missing).")
        back_to(session, session.head or "")
        return
    if "--continue" in flags:
        _conclude_merge(session)
        return
    if repository.text("MERGE_HEAD") is not None:
        raise GitStop(
            "error: Merging is not possible because you have unmerged files.\n"
            "hint: Fix them up in the work tree, and then use 'git add/rm <file>'\n"
            "hint: as appropriate to mark resolution and make a commit.\n"
            "fatal: Exiting because of an unresolved conflict."
        )
    if not names:
        raise GitStop("fatal: No remote for the current branch.", 128)
    name = names[0]
    found = session.maybe(name)
    if found is None:
        raise GitStop(f"merge: {name} - not something we can merge", 1)
    merge_commit(session, name, session.commit_id(name), message, flags)


def merge_commit(
    session: GitSession, name: str, theirs: str, message: str | None, flags: set[str], *, what: str | None = None
) -> None:
    """Merge a commit into HEAD."""
    repository, head = session.repository, session.head
    quiet = bool(flags & {"-q", "--quiet"})
    if head is None:
        write_tree(session, {}, repository.files(repository.commit(theirs).tree), "merge", "merge")
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
        require_unlocked(session, kind="error", code=1)
        write_tree(session, files[head], files[theirs], "merge", "merge")
        repository.put_text("ORIG_HEAD", f"{head}\n")
        session.move(theirs, f"merge {name}: Fast-forward")
        if not quiet:
            session.say("Fast-forward")
            say_changes(session, files[head], files[theirs])
        return
    if "--ff-only" in flags:
        raise GitStop(
            "hint: Diverging branches can't be fast-forwarded, you need to either:\nhint:\n"
            "hint: \tgit merge --no-ff\nhint:\nhint: or:\nhint:\nhint: \tgit rebase\nhint:\n"
            'hint: Disable this message with "git config advice.diverging false"\n'
            "fatal: Not possible to fast-forward, aborting."
        )
    bases = merge_bases(repository, head, theirs)
    if not bases and "--allow-unrelated-histories" not in flags:
        raise GitStop("fatal: refusing to merge unrelated histories")
    text = message if message is not None else _merge_message(session, name, what)
    if is_locked(session):
        _stop_unwritten(session, theirs, text)
        return
    base = repository.files(repository.commit(bases[0]).tree) if bases else {}
    done = merge_trees(repository, base, files[head], files[theirs], names=("HEAD", name))
    check_local(session, files[head], done, "merge", "merge")
    put_result(session, files[head], done)
    if not quiet:
        session.output += [f"{note}\n" for note in done.notes]
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
        say_changes(session, files[head], repository.files(tree))


def _stop_unwritten(session: GitSession, theirs: str, text: str) -> None:
    """Leave a merge open, as git does when it cannot write the index."""
    session.warn("error: Unable to write index.")
    session.repository.put_text("MERGE_HEAD", f"{theirs}\n")
    session.repository.put_text("MERGE_MSG", f"{text}\n")
    session.repository.put_text("MERGE_MODE", "")
    session.say("Automatic merge failed; fix conflicts and then commit the result.")
    session.code = 1


def _merge_message(session: GitSession, name: str, what: str | None) -> str:
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


def _conclude_merge(session: GitSession) -> None:
    from simtrain.worlds.machine.git.committing import commit

    if session.repository.text("MERGE_HEAD") is None:
        raise GitStop("fatal: There is no merge in progress (MERGE_HEAD missing).")
    session.words = ["--no-edit"]
    commit(session)


def cherry_pick(session: GitSession) -> None:
    """Make the changes of other commits here as well."""
    _pick(session, "cherry-pick")


def revert(session: GitSession) -> None:
    """Undo commits by new ones."""
    _pick(session, "revert")


def _pick(session: GitSession, verb: str) -> None:
    repository = session.repository
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    mark = "CHERRY_PICK_HEAD" if verb == "cherry-pick" else "REVERT_HEAD"
    if flags & {"--abort", "--quit", "--skip"}:
        if repository.text(mark) is None:
            raise GitStop(f"error: no cherry-pick or revert in progress\nfatal: {verb} failed")
        back_to(session, session.head or "")
        return
    if "--continue" in flags:
        from simtrain.worlds.machine.git.committing import commit

        session.words = ["--no-edit"]
        commit(session)
        return
    if not names:
        raise GitStop(f"usage: git {verb} [--edit] [-n] [-m <parent-number>] [-s] [-x] [--ff] <commit>...", 129)
    for name in names:
        picked = Range()
        if ".." in name and picked.take(session, name):
            chosen = list(reversed(commits(session, picked)))
        else:
            if session.maybe(name) is None:
                raise GitStop(f"fatal: bad revision '{name}'")
            chosen = [session.commit_id(name)]
        for sha in chosen:
            if not _pick_one(session, sha, verb, mark, flags):
                return


def _pick_one(session: GitSession, sha: str, verb: str, mark: str, flags: set[str]) -> bool:
    repository = session.repository
    require_unlocked(session, kind="error", after=f"fatal: {verb} failed")
    commit = repository.commit(sha)
    if len(commit.parents) > 1:
        raise GitStop(f"error: commit {sha} is a merge but no -m option was given.\nfatal: {verb} failed")
    short, subject = repository.abbreviated(sha), commit.message.partition("\n")[0]
    names = ("HEAD", f"{short} ({subject})" if verb == "cherry-pick" else f"parent of {short} ({subject})")
    done = carry_over(session, sha, back=verb == "revert", names=names, what=verb)
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

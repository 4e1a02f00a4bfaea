"""rebase: moves commits on top of another one."""

from collections.abc import Sequence

from simtrain.worlds.handlers.git.objects import Commit
from simtrain.worlds.handlers.git.repository import HEADS
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.applying import back_to, carry_over, write_tree
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases


def rebase(session: GitSession) -> None:
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
        raise GitStop("error: Terminal is dumb, but EDITOR unset", 1)
    if repository.text("rebase-merge/onto") is not None:
        raise GitStop(
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
            raise GitStop(
                "There is no tracking information for the current branch.\n"
                "Please specify which branch you want to rebase against.\nSee git-rebase(1) for details.\n\n"
                "    git rebase '<branch>'\n",
                1,
            )
        upstream_name = ref
    if session.maybe(upstream_name) is None:
        raise GitStop(f"fatal: invalid upstream '{upstream_name}'")
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
    require_unlocked(session, kind="error", after="error: could not detach HEAD", code=1)
    repository.put_text("ORIG_HEAD", f"{head}\n")
    files = repository.files(repository.commit(head).tree)
    write_tree(session, files, repository.files(repository.commit(onto).tree), "checkout", "switch branches")
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


def _check_clean(session: GitSession, verb: str) -> None:
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    head = repository.files(repository.commit(session.head).tree) if session.head else {}
    unstaged = any(tree.get(path) != entry for path, entry in index.items())
    if unstaged or index != head:
        first = "You have unstaged changes." if unstaged else "Your index contains uncommitted changes."
        extra = "\nerror: additionally, your index contains uncommitted changes." if unstaged and index != head else ""
        raise GitStop(f"error: cannot {verb}: {first}{extra}\nerror: Please commit or stash them.", 1)


def _rebase_on(session: GitSession, todo: Sequence[str], total: int, *, quiet: bool) -> None:
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
            write_tree(session, repository.index(), repository.files(commit.tree), "rebase", "rebase")
            continue
        done = carry_over(session, sha, back=False, names=("HEAD", f"{short} ({subject})"), what="rebase")
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


def _record_picked(session: GitSession, commit: Commit) -> None:
    repository = session.repository
    tree = repository.keep_tree(repository.index())
    if tree == repository.commit(session.head or "").tree:
        return
    made = Commit(tree, (session.head or "",), commit.author, session.signature("COMMITTER"), commit.message)
    session.move(repository.keep_commit(made), f"rebase (pick): {commit.message.partition(chr(10))[0]}")


def _go_on_rebasing(session: GitSession, flags: set[str]) -> None:
    repository = session.repository
    if repository.text("rebase-merge/onto") is None:
        raise GitStop("fatal: No rebase in progress?")
    branch, old = ((repository.text(f"rebase-merge/{name}") or "").strip() for name in ("head-name", "orig-head"))
    if "--abort" in flags:
        back_to(session, old)
        repository.set_head(branch if branch.startswith("refs/") else old)
        repository.drop("rebase-merge")
        return
    stopped = (repository.text("rebase-merge/stopped-sha") or "").strip()
    if "--skip" in flags:
        back_to(session, session.head or "")
    else:
        if repository.conflicts():
            raise GitStop("error: Committing is not possible because you have unmerged files.", 1)
        _record_picked(session, repository.commit(stopped))
    repository.drop("MERGE_MSG")
    todo = [
        line.split()[1]
        for line in (repository.text("rebase-merge/git-rebase-todo") or "").splitlines()
        if line.startswith("pick")
    ]
    _rebase_on(session, todo, len(todo), quiet=False)

"""stash: puts changes aside, and brings them back."""

from collections.abc import Callable

from simtrain.worlds.handlers.git.objects import NOTHING, Commit, TreeEntry
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.applying import back_to, check_local, put_result
from simtrain.worlds.machine.git.locking import is_locked
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.status import long_status
from simtrain.worlds.machine.git.three_way import merge as merge_trees


def stash(session: GitSession) -> None:
    """Put changes aside, and bring them back."""
    words = session.words
    action = words[0] if words and not words[0].startswith("-") else "push"
    rest = words[1:] if words and not words[0].startswith("-") else words
    actions: dict[str, Callable[[GitSession, list[str]], None]] = {
        "push": _stash_push, "save": _stash_push, "pop": _stash_pop, "apply": _stash_pop, "list": _stash_list,
        "drop": _stash_drop, "show": _stash_show, "clear": _stash_clear,
    }  # fmt: skip
    if action not in actions:
        raise GitStop(f"fatal: subcommand wasn't specified; 'push' can't be assumed due to unexpected token '{action}'")
    session.words = words
    actions[action](session, rest)


def _stashes(session: GitSession) -> list[str]:
    return [entry["new"] for entry in session.repository.log("refs/stash")]


def _stash_push(session: GitSession, rest: list[str]) -> None:
    repository = session.repository
    message = None
    if "-m" in rest:
        message = rest[rest.index("-m") + 1]
    elif session.words[:1] == ["save"] and rest:
        message = " ".join(word for word in rest if not word.startswith("-"))
    head = session.head
    if head is None:
        raise GitStop("You do not have the initial commit yet", 1)
    if is_locked(session):
        # Without a word, as git does it.
        raise GitStop("", 1)
    index, tree = repository.index(), repository.worktree()
    kept = repository.files(repository.commit(head).tree)
    everything = bool({"-u", "--include-untracked", "-a", "--all"} & set(rest))
    names = {*index, *(tree if everything else ())}
    now = {
        path: TreeEntry(tree[path][0], repository.keep_blob(tree[path][1])) for path in sorted(names) if path in tree
    }
    if now == kept and index == kept:
        if not {"-q", "--quiet"} & set(rest):
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
    back_to(session, head)
    if everything:
        repository.put_files({path: None for path in now if path not in kept and path in repository.worktree()})
    if not {"-q", "--quiet"} & set(rest):
        session.say(f"Saved working directory and index state {text}")


def _stash_number(session: GitSession, rest: list[str]) -> int:
    names = [word for word in rest if not word.startswith("-")]
    text = names[0].removeprefix("stash@{").removesuffix("}") if names else "0"
    if not text.isdigit():
        raise GitStop(f"error: {names[0]} is not a valid reference", 1)
    count = len(_stashes(session))
    if not count:
        raise GitStop("No stash entries found.", 1)
    if int(text) >= count:
        raise GitStop(f"error: stash@{{{text}}} is not a valid reference", 1)
    return int(text)


def _stash_pop(session: GitSession, rest: list[str]) -> None:
    repository = session.repository
    number = _stash_number(session, rest)
    if is_locked(session):
        if session.words[0] == "pop":
            session.say("The stash entry is kept in case you need it again.")
        raise GitStop("", 1)
    sha = _stashes(session)[number]
    commit = repository.commit(sha)
    base = repository.files(repository.commit(commit.parents[0]).tree)
    head = repository.files(repository.commit(session.head or "").tree)
    mine = dict(repository.files(commit.tree).items())
    before = repository.index()
    done = merge_trees(repository, base, head, mine, names=("Updated upstream", "Stashed changes"))
    check_local(session, head, done, "merge", "merge")
    put_result(session, head, done)
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


def _forget(session: GitSession, number: int, *, quiet: bool = False) -> None:
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


def _stash_drop(session: GitSession, rest: list[str]) -> None:
    number = _stash_number(session, rest)
    _forget(session, number)
    if not [word for word in rest if not word.startswith("-")]:
        session.output[-1] = session.output[-1].replace("refs/stash@", "refs/stash@")


def _stash_list(session: GitSession, rest: list[str]) -> None:
    for number, entry in enumerate(session.repository.log("refs/stash")):
        session.say(f"stash@{{{number}}}: {entry['message']}")


def _stash_show(session: GitSession, rest: list[str]) -> None:
    from simtrain.worlds.machine.git.listing import Wish, written

    repository = session.repository
    wish = Wish()
    names = [word for word in rest if not wish.take(word, [])]
    commit = repository.commit(_stashes(session)[_stash_number(session, names)])
    found = compared(
        repository, repository.files(repository.commit(commit.parents[0]).tree), repository.files(commit.tree)
    )
    session.output.append(written(session, found, wish, default="stat"))


def _stash_clear(session: GitSession, rest: list[str]) -> None:
    session.repository.drop("refs/stash")
    session.repository.drop("logs/refs/stash")

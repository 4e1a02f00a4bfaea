"""merge: joins lines of history."""

from collections.abc import Mapping, Sequence
from posixpath import join

from simtrain.worlds.handlers.git.branches import shortened
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import Commit, TreeEntry
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, TAGS
from simtrain.worlds.machine.git.applying import back_to, check_local, put_result, say_changes, write_tree
from simtrain.worlds.machine.git.committing import UNMERGED, commit, forget_progress
from simtrain.worlds.machine.git.formats import CommitWriter
from simtrain.worlds.machine.git.hooks import run_hook
from simtrain.worlds.machine.git.locking import is_locked, require_unlocked
from simtrain.worlds.machine.git.messages import cleaned, signed_off
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.three_way import merge as merge_trees
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases

_VALUES = {"-m": "message", "--message": "message", "-F": "file", "--file": "file", "-s": "strategy", "--strategy": "strategy",
           "-X": "favour", "--strategy-option": "favour"}  # fmt: skip


def merge(session: GitSession) -> None:
    """Join another line of history into the branch."""
    values, flags, names = _read_words(session)
    repository = session.repository
    if "--abort" in flags:
        if repository.text("MERGE_HEAD") is None:
            raise GitStop("fatal: There is no merge to abort (MERGE_HEAD missing).")
        back_to(session, session.head or "")
        return
    if "--quit" in flags:
        for state in ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"):
            repository.drop(state)
        return
    if "--continue" in flags:
        _conclude_merge(session)
        return
    _check_begin(session, flags)
    if not names:
        upstream = repository.upstream(repository.head)
        if upstream is None:
            raise GitStop("fatal: No remote for the current branch." if session.branch else "fatal: No current branch.")
        names = [shortened(upstream)]
    name = names[0]
    found = session.maybe(name)
    if found is None:
        raise GitStop(f"merge: {name} - not something we can merge", 1)
    message = values.get("message")
    if message is None and "file" in values:
        message = session.call.files.read(join(session.directory, values["file"])).decode("utf-8", "surrogateescape")
    if values.get("strategy") == "ours":
        flags.add("--ours")
    if values.get("favour") in ("ours", "theirs"):
        flags.add(f"-X{values['favour']}")
    merge_commit(session, name, session.commit_id(name), message, flags)


def _read_words(session: GitSession) -> tuple[dict[str, str], set[str], list[str]]:
    """Return values of options, flags, and names of commits."""
    words, values = list(session.words), dict[str, str]()
    flags, names = set[str](), list[str]()
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in _VALUES:
            values[_VALUES[name]] = value if equals else next_word(words, word)
        elif word[:2] in _VALUES and not word.startswith("--"):
            values[_VALUES[word[:2]]] = word[2:]
        elif word.startswith("-") and len(word) > 1:
            flags.add(word)
        else:
            names.append(word)
    return values, flags, names


def _check_begin(session: GitSession, flags: set[str]) -> None:
    repository = session.repository
    if repository.conflicts():
        raise GitStop(UNMERGED.format("Merging", "Exiting because of an unresolved conflict."))
    if repository.text("MERGE_HEAD") is not None:
        raise GitStop(
            "fatal: You have not concluded your merge (MERGE_HEAD exists).\nPlease, commit your changes before you merge."
        )
    if repository.text("CHERRY_PICK_HEAD") is not None:
        raise GitStop(
            "fatal: You have not concluded your cherry-pick (CHERRY_PICK_HEAD exists).\n"
            "Please, commit your changes before you merge."
        )
    if {"--squash", "--no-ff"} <= flags:
        raise GitStop("fatal: options '--squash' and '--no-ff.' cannot be used together")


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
            session.say(f"Already up to date.{' (nothing to squash)' if '--squash' in flags else ''}")
        return
    if head in reachable(repository, theirs) and "--no-ff" not in flags:
        _fast_forward(session, name, head, theirs, flags)
        return
    if "--ff-only" in flags:
        raise GitStop("fatal: Not possible to fast-forward, aborting.")
    bases = merge_bases(repository, head, theirs)
    if not bases and "--allow-unrelated-histories" not in flags:
        raise GitStop("fatal: refusing to merge unrelated histories")
    text = message if message is not None else _merge_message(session, name, what)
    if "--signoff" in flags:
        text = signed_off(session, text)
    if is_locked(session):
        _stop_unwritten(session, theirs, text)
        return
    files = {sha: repository.files(repository.commit(sha).tree) for sha in (head, theirs)}
    base = repository.files(repository.commit(bases[0]).tree) if bases else {}
    favour = next((flag[2:] for flag in flags if flag in ("-Xours", "-Xtheirs")), None)
    strategy = "ours" if "--ours" in flags else "ort"
    if strategy == "ours":
        base = files[theirs]
    done = merge_trees(repository, base, files[head], files[theirs], names=("HEAD", name), favour=favour)
    try:
        check_local(session, files[head], done, "merge", "merge")
    except GitStop as stop:
        raise GitStop(f"{stop.text}\nMerge with strategy {strategy} failed.", 2) from None
    put_result(session, files[head], done)
    session.output += [f"{note}\n" for note in done.notes]
    if "--squash" in flags:
        _put_squash_message(session, head, theirs)
        if not quiet:
            session.say("Squash commit -- not updating HEAD")
    if done.conflicts:
        _stop_in_conflict(session, theirs, text, done.conflicts, flags)
        return
    if flags & {"--squash", "--no-commit"}:
        if "--squash" not in flags:
            _put_state(session, theirs, f"{text.rstrip(chr(10))}\n", flags)
        session.warn("Automatic merge went well; stopped before committing as requested")
        return
    _put_state(session, theirs, f"{text.rstrip(chr(10))}\n", flags)
    if "--no-verify" not in flags:
        _ask_hook(session)
    tree = repository.keep_tree(repository.index())
    made = Commit(tree, (head, theirs), session.signature("AUTHOR"), session.signature("COMMITTER"), cleaned(text))
    forget_progress(session)
    repository.put_text("ORIG_HEAD", f"{head}\n")
    session.move(repository.keep_commit(made), f"merge {name}: Merge made by the '{strategy}' strategy.")
    if not quiet:
        session.say(f"Merge made by the '{strategy}' strategy.")
        _say_stat(session, files[head], repository.files(tree), flags)


def _fast_forward(session: GitSession, name: str, head: str, theirs: str, flags: set[str]) -> None:
    repository, quiet = session.repository, bool(flags & {"-q", "--quiet"})
    if not quiet:
        session.say(f"Updating {repository.abbreviated(head)}..{repository.abbreviated(theirs)}")
    require_unlocked(session, kind="error", code=1)
    old, new = (repository.files(repository.commit(sha).tree) for sha in (head, theirs))
    write_tree(session, old, new, "merge", "merge")
    repository.put_text("ORIG_HEAD", f"{head}\n")
    if not quiet:
        session.say("Fast-forward")
    if "--squash" in flags:
        _put_squash_message(session, head, theirs)
        if not quiet:
            session.say("Squash commit -- not updating HEAD")
    else:
        session.move(theirs, f"merge {name}: Fast-forward")
    if not quiet:
        _say_stat(session, old, new, flags)


def _ask_hook(session: GitSession) -> None:
    if not run_hook(session, "pre-merge-commit"):
        raise GitStop("Not committing merge; use 'git commit' to complete the merge.", 1)


def _say_stat(session: GitSession, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry], flags: set[str]) -> None:
    if not flags & {"-n", "--no-stat"}:
        say_changes(session, old, new)


def _put_state(session: GitSession, theirs: str, text: str, flags: set[str]) -> None:
    repository = session.repository
    repository.put_text("MERGE_HEAD", f"{theirs}\n")
    repository.put_text("MERGE_MSG", text)
    repository.put_text("MERGE_MODE", "no-ff" if "--no-ff" in flags else "")


def _put_squash_message(session: GitSession, head: str, theirs: str) -> None:
    """Keep the log of what is squashed for the message of the next commit."""
    writer = CommitWriter(session, "medium")
    found = commits(session, Range(wanted=[theirs], unwanted=[head]))
    text = "\n".join(writer.text(sha) for sha in found if len(session.repository.commit(sha).parents) < 2)
    session.repository.put_text("SQUASH_MSG", f"Squashed commit of the following:\n\n{text}")


def _stop_in_conflict(session: GitSession, theirs: str, text: str, conflicts: Sequence[str], flags: set[str]) -> None:
    listed = "\n# Conflicts:\n" + "".join(f"#\t{path}\n" for path in conflicts)
    if "--squash" in flags:
        session.repository.put_text("MERGE_MSG", listed)
    else:
        _put_state(session, theirs, f"{text.rstrip(chr(10))}\n{listed}", flags)
    session.say("Automatic merge failed; fix conflicts and then commit the result.")
    session.code = 1


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
    if session.repository.text("MERGE_HEAD") is None:
        raise GitStop("fatal: There is no merge in progress (MERGE_HEAD missing).")
    session.words = []
    commit(session)

"""stash push: puts changes aside, in commits that no branch leads to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from simtrain.worlds.handlers.git.objects import NOTHING, Commit, TreeEntry
from simtrain.worlds.handlers.git.paths import Ignored
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.locking import is_locked
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching, unknown_option

REF = "refs/stash"
_FLAGS = {
    "-q": "quiet", "--quiet": "quiet", "-u": "untracked", "--include-untracked": "untracked", "-a": "all", "--all": "all",
    "-k": "keep-index", "--keep-index": "keep-index", "--no-keep-index": "no-keep-index", "-S": "staged", "--staged": "staged",
    "--no-include-untracked": "no-untracked",
}  # fmt: skip


@dataclass(slots=True)
class _Asked:
    flags: set[str] = field(default_factory=set[str])
    specs: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    message: str | None = None


@dataclass(slots=True)
class _Changes:
    """What is put aside: the whole index, the working tree as it is kept, and files that are not tracked."""

    head: Mapping[str, TreeEntry]
    index: dict[str, TreeEntry]
    kept: dict[str, TreeEntry]
    loose: dict[str, TreeEntry]

    @property
    def are_none(self) -> bool:
        """Whether there is nothing to put aside."""
        return self.kept == dict(self.head) and not self.loose


def push(session: GitSession, words: Sequence[str], *, saves: bool = False) -> None:
    """Put changes aside. `saves` says that words are the message, not paths."""
    asked = _read(session, words, saves=saves)
    quiet = "quiet" in asked.flags
    head = _head(session)
    if is_locked(session):
        # Without a word, as git does it.
        raise GitStop("", 1)
    changes = _changes(session, head, asked)
    if changes.are_none:
        if not quiet:
            session.say("No local changes to save")
        return
    sha, text = _kept(session, head, changes, asked.message)
    store(session, sha, text)
    _take_away(session, changes, asked)
    if not quiet:
        session.say(f"Saved working directory and index state {text}")


def create(session: GitSession, words: Sequence[str]) -> None:
    """Make the commits of a stash, and print the id, without putting anything aside."""
    head = _head(session)
    changes = _changes(session, head, _Asked())
    if not changes.are_none:
        session.say(_kept(session, head, changes, " ".join(words) or None)[0])


def store(session: GitSession, sha: str, text: str) -> None:
    """Make a commit the newest stash."""
    repository = session.repository
    old = repository.ref(REF)
    repository.set_ref(REF, sha)
    repository.note(REF, old=old or NOTHING, new=sha, message=text, at=session.reflog_time)


def _read(session: GitSession, words: Sequence[str], *, saves: bool) -> _Asked:
    asked, rest = _Asked(), list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            asked.names += rest
            break
        if name in ("-m", "--message") and not saves:
            asked.message = value if equals else next_word(rest, word)
        elif word.startswith("-m") and len(word) > 2 and not saves:
            asked.message = word[2:]
        elif word in _FLAGS:
            asked.flags.add(_FLAGS[word])
        elif word.startswith("-") and len(word) > 1:
            raise unknown_option(word, "usage: git stash [push [<options>]]")
        else:
            asked.names.append(word)
    if saves:
        asked.message, asked.names = " ".join(asked.names) or None, []
    asked.specs = session.paths(asked.names)
    return asked


def _head(session: GitSession) -> str:
    if session.head is None:
        raise GitStop("You do not have the initial commit yet", 1)
    return session.head


def _changes(session: GitSession, head: str, asked: _Asked) -> _Changes:
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    files = repository.files(repository.commit(head).tree)
    loose: dict[str, TreeEntry] = {}
    if asked.flags & {"untracked", "all"}:
        ignored = Ignored(repository.worktree())
        loose = {
            path: tree[path]
            for path in matching([path for path in tree if path not in index], asked.specs)
            if "all" in asked.flags or ignored.cause(path) is None
        }
    known = [*dict.fromkeys([*index, *files, *loose])]
    for name, spec in zip(asked.names, asked.specs, strict=True):
        if not matching(known, [spec]):
            raise GitStop(
                f"error: pathspec ':(,prefix:0){name}' did not match any file(s) known to git\n"
                "Did you forget to 'git add'?",
                1,
            )
    kept = dict(index)
    if "staged" not in asked.flags:
        for path in matching([*index], asked.specs):
            if path in tree:
                kept[path] = tree[path]
            else:
                del kept[path]
    return _Changes(files, index, kept, loose)


def _stored(session: GitSession, entries: Mapping[str, TreeEntry]) -> str:
    """Return the tree of some files of the working tree, whose contents are stored."""
    repository, tree = session.repository, session.repository.worktree()
    for path, entry in entries.items():
        if repository.kind(entry.sha) is None:
            repository.keep_blob(tree[path][1])
    return repository.keep_tree(entries)


def _kept(session: GitSession, head: str, changes: _Changes, message: str | None) -> tuple[str, str]:
    """Make the commits, and return the id of the stash, and what it is called."""
    repository = session.repository
    branch = session.branch or "(no branch)"
    where = f"{branch}: {repository.abbreviated(head)} {repository.commit(head).message.partition(chr(10))[0]}"
    who, by = session.signature("AUTHOR"), session.signature("COMMITTER")

    def made(tree: str, parents: tuple[str, ...], text: str) -> str:
        return repository.keep_commit(Commit(tree, parents, who, by, text))

    parents = [head, made(_stored(session, changes.index), (head,), f"index on {where}\n")]
    if changes.loose:
        parents.append(made(_stored(session, changes.loose), (), f"untracked files on {where}\n"))
    text = f"On {branch}: {message}" if message else f"WIP on {where}"
    return made(_stored(session, changes.kept), tuple(parents), text), text


def _take_away(session: GitSession, changes: _Changes, asked: _Asked) -> None:
    """Make index and working tree as they are without what was put aside."""
    repository = session.repository
    tree = worktree_entries(repository)
    chosen = matching([*dict.fromkeys([*changes.head, *changes.index])], asked.specs)
    if "staged" in asked.flags:
        chosen = [path for path in chosen if changes.head.get(path) != changes.index.get(path)]
    keeps = "keep-index" in asked.flags
    wanted = {path: changes.index.get(path) if keeps else changes.head.get(path) for path in chosen}
    repository.stage(wanted)
    files = {path: entry for path, entry in wanted.items() if tree.get(path) != entry}
    if "staged" in asked.flags:
        # What was changed since it was staged stays.
        files = {path: entry for path, entry in files.items() if tree.get(path) == changes.index.get(path)}
    repository.put_files({**files, **dict.fromkeys(changes.loose)})

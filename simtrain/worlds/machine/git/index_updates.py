"""update-index, read-tree and mktree: the index and trees, entry by entry."""

import re

from simtrain.worlds.handlers.git.objects import FOLDER, TreeEntry
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.object_graph import GITLINK
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_USAGE = "usage: git update-index [<options>] [--] [<file>...]"
_READ_USAGE = (
    "usage: git read-tree [(-m [--trivial] [--aggressive] | --reset | --prefix=<prefix>)] [-u | -i] <tree-ish>..."
)
_FLAGS = {
    "--add", "--remove", "--force-remove", "--replace", "--stdin", "-q", "--unmerged", "--ignore-missing", "--verbose",
    "--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree", "--ignore-submodules",
    "--force-write-index", "--info-only",
}  # fmt: skip
_ENTRY = re.compile(r"(\d{6}),([0-9a-f]{40}),(.+)")
_LINE = re.compile(r"(\d{5,6}) (\w+) ([0-9a-f]{40})\t(.+)")


def update_index(session: GitSession) -> None:
    """Set entries of the index by hand."""
    require_unlocked(session)
    words, flags, mode = list(session.words), set[str](), ""
    while words:
        word = words.pop(0)
        if word in ("--refresh", "--really-refresh"):
            _refresh(session, flags)
        elif word.startswith("--chmod="):
            mode = {"+x": "100755", "-x": "100644"}.get(word.partition("=")[2], "")
        elif word.startswith("--cacheinfo"):
            given = word.partition("=")[2] or (words.pop(0) if words else "")
            if "," not in given and len(words) > 1:
                given = f"{given},{words.pop(0)},{words.pop(0)}"
            _put_entry(session, given, flags)
        elif word == "--":
            for name in words:
                _update(session, name, flags, mode)
            break
        elif word.startswith("-"):
            if word not in _FLAGS:
                kind = "option" if word.startswith("--") else "switch"
                raise GitStop(f"error: unknown {kind} '{word.lstrip('-')}'\n{_USAGE}", 129)
            flags.add(word)
        else:
            _update(session, word, flags, mode)
    if "--stdin" in flags:
        for name in (session.call.stdin or "").splitlines():
            _update(session, name, flags, mode)


def _refresh(session: GitSession, flags: set[str]) -> None:
    repository = session.repository
    now = worktree_entries(repository)
    for path, entry in repository.index().items():
        if now.get(path) != entry and not (path not in now and "--ignore-missing" in flags) and "-q" not in flags:
            session.say(f"{session.relative(path)}: needs update")
            session.code = 1


def _put_entry(session: GitSession, given: str, flags: set[str]) -> None:
    found = _ENTRY.fullmatch(given)
    if found is None:
        raise GitStop("error: option 'cacheinfo' expects <mode>,<sha1>,<path>", 129)
    if "--add" not in flags and found[3] not in session.repository.index():
        raise GitStop(
            f"error: {found[3]}: cannot add to the index - missing --add option?\n"
            f"fatal: git update-index: --cacheinfo cannot add {found[3]}"
        )
    session.repository.stage({found[3]: TreeEntry(found[1], found[2])})


def _update(session: GitSession, name: str, flags: set[str], mode: str) -> None:
    repository = session.repository
    path = session.paths([name])[0]
    index, full = repository.index(), f"{repository.path.rstrip('/')}/{path}"
    if flags & {"--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree"}:
        if path not in index:
            raise GitStop(f"fatal: Unable to mark file {path}")
        return
    if "--force-remove" in flags:
        repository.stage({path: None})
        return
    if not session.call.files.exists(full, follow=False):
        if "--remove" not in flags:
            raise GitStop(
                f"error: {path}: does not exist and --remove not passed\nfatal: Unable to process path {path}"
            )
        repository.stage({path: None})
        return
    if path not in {known for known, _ in repository.stages()} and "--add" not in flags:
        raise GitStop(
            f"error: {path}: cannot add to the index - missing --add option?\nfatal: Unable to process path {path}"
        )
    node = session.call.files.node(full, follow=False)
    if node.kind == "directory":
        raise GitStop(f"error: {path}: is a directory - add files inside instead\nfatal: Unable to process path {path}")
    is_link = node.kind == "link"
    content = node.target.encode("utf-8", "surrogateescape") if is_link else session.call.files.read(full)
    own = "120000" if is_link else mode or ("100755" if node.mode & 0o100 else "100644")
    repository.stage({path: TreeEntry(own, repository.keep_blob(content))})


def read_tree(session: GitSession) -> None:
    """Read a tree into the index, with -u into the working tree too."""
    require_unlocked(session)
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    repository, prefix = session.repository, next((flag[9:] for flag in flags if flag.startswith("--prefix=")), "")
    for flag in flags:
        if flag not in ("-m", "-u", "-i", "-v", "--reset", "--empty", "--trivial", "--aggressive", "-q", "-n") and not (
            flag.startswith("--prefix=")
        ):
            raise unknown_option(flag, _READ_USAGE)
    if not names:
        if "--empty" not in flags:
            session.warn("warning: read-tree: emptying the index with no arguments is deprecated; use --empty")
        repository.put_stages({})
        return
    if len(names) > 1 and "-m" in flags:
        raise GitStop("fatal: more than one tree cannot be merged here")
    entries = dict(repository.index()) if prefix else {}
    before = repository.index()
    for name in names:
        found = session.maybe(name)
        if found is None:
            raise GitStop(f"fatal: Not a valid object name {name}")
        tree = repository.commit(found.sha).tree if found.kind == "commit" else found.sha
        top = f"{prefix.rstrip('/')}/" if prefix else ""
        inner = {top + path: entry for path, entry in repository.files(tree).items()}
        if top and any(path.startswith(top) for path in entries):
            raise GitStop(f"error: Entry '{next(iter(inner))}' overlaps with '{next(iter(inner))}'.  Cannot bind.")
        entries |= inner
    ordered = dict(sorted(entries.items(), key=lambda item: item[0].encode()))
    repository.put_stages({(path, 0): entry for path, entry in ordered.items()})
    if "-u" in flags:
        now = worktree_entries(repository)
        gone = {path: None for path in before if path not in entries}
        repository.put_files({**gone, **{path: entry for path, entry in entries.items() if now.get(path) != entry}})


def mktree(session: GitSession) -> None:
    """Store a tree of the entries on stdin, in the form of ls-tree, and print its id."""
    repository, entries = session.repository, dict[str, TreeEntry]()
    for line in (session.call.stdin or "").splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            raise GitStop(f"fatal: input format error: {line}")
        mode, kind, sha, name = found.groups()
        if "/" in name:
            raise GitStop(f"fatal: path {name} contains slash")
        held = repository.kind(sha)
        if held is None and "--missing" not in session.words and mode != GITLINK:
            raise GitStop(f"fatal: entry '{name}' object {sha} is unavailable")
        if held is not None and held != kind:
            raise GitStop(f"fatal: entry '{name}' object {sha} is a {held} but specified type was ({kind})")
        entries[name] = TreeEntry(mode.lstrip("0"), sha)
    # Folders are stored as they are named, their files are there already.
    files: dict[str, TreeEntry] = {}
    for name, entry in entries.items():
        inner = repository.files(entry.sha) if entry.mode == FOLDER else {}
        files |= {f"{name}/{path}": one for path, one in inner.items()} if inner else {name: entry}
    session.say(repository.keep_tree(files))

"""add, rm, mv and clean: the working tree and the index."""

from collections.abc import Iterable, Mapping

from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.handlers.git.status import untracked_files, with_folders
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.resetting import head_files
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching, unknown_option


def add(session: GitSession) -> None:
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
        raise unknown_option(flag, "usage: git add [<options>] [--] <pathspec>...")
    everything, update = bool(flags & {"-A", "--all"}), bool(flags & {"-u", "--update"})
    if not names and not everything and not update:
        session.warn(
            "Nothing specified, nothing added.\nhint: Maybe you wanted to say 'git add .'?\n"
            'hint: Turn this message off by running\nhint: "git config advice.addEmptyPathspec false"'
        )
        return
    repository = session.repository
    require_unlocked(session)
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
                raise GitStop(f"fatal: pathspec '{name}' did not match any files")
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
        raise GitStop(f"The following paths are ignored by one of your .gitignore files:\n{listed}\n{hint}", 1)


def remove(session: GitSession) -> None:
    """Remove files from the index and the working tree (git rm)."""
    flags = {
        letter for word in session.words if word.startswith("-") and not word.startswith("--") for letter in word[1:]
    }
    cached, quiet = "--cached" in session.words, "q" in flags or "--quiet" in session.words
    dry = "n" in flags or "--dry-run" in session.words
    names = [word for word in session.words if not word.startswith("-")]
    if not names:
        raise GitStop("fatal: No pathspec was given. Which files should I remove?", 128)
    repository = session.repository
    require_unlocked(session)
    index, conflicts, tree = repository.index(), repository.conflicts(), worktree_entries(repository)
    head = head_files(session)
    known = sorted({*index, *conflicts}, key=lambda path: path.encode())
    removed: dict[str, None] = {}
    for name, spec in zip(names, session.paths(names), strict=True):
        found = matching(known, [spec])
        if not found and "--ignore-unmatch" not in session.words:
            raise GitStop(f"fatal: pathspec '{name}' did not match any files")
        if found and spec not in known and "r" not in flags and not any(letter in spec for letter in "*?["):
            raise GitStop(f"fatal: not removing '{name}' recursively without -r")
        removed.update(dict.fromkeys(found))
    if "f" not in flags and "--force" not in session.words:
        # What is in conflict may go: that settles it.
        _check_removable([path for path in removed if path not in conflicts], index, tree, head, cached=cached)
    if not dry:
        repository.stage(dict.fromkeys(removed))
    if not cached and not dry:
        repository.put_files(dict.fromkeys(removed))
    if not quiet:
        session.output += [f"rm '{path}'\n" for path in removed]


def _check_removable(
    removed: Iterable[str],
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
                raise GitStop(
                    "error: the following file has staged content different from both the\nfile and the HEAD:\n"
                    f"    {path}\n(use -f to force removal)",
                    1,
                )
        elif stage:
            raise GitStop(
                f"error: the following file has changes staged in the index:\n    {path}\n"
                "(use --cached to keep the file, or -f to force removal)",
                1,
            )
        elif local:
            raise GitStop(
                f"error: the following file has local modifications:\n    {path}\n(use --cached to keep the file, or -f to force removal)",
                1,
            )


def move(session: GitSession) -> None:
    """Move files in the index and the working tree (git mv)."""
    names = [word for word in session.words if not word.startswith("-")]
    force = "-f" in session.words or "--force" in session.words
    if len(names) < 2:
        raise GitStop("usage: git mv [<options>] <source>... <destination>", 129)
    repository = session.repository
    require_unlocked(session)
    *sources, target = session.paths(names)
    files = session.call.files
    into = files.is_directory(f"{repository.path}/{target}")
    if len(sources) > 1 and not into:
        raise GitStop(f"fatal: destination '{names[-1]}' is not a directory")
    for name, source in zip(names[:-1], sources, strict=True):
        place = f"{target}/{source.rpartition('/')[2]}".lstrip("/") if into else target
        index = repository.index()
        moved = matching(list(index), [source])
        if not moved:
            exists = files.exists(f"{repository.path}/{source}")
            why = "not under version control" if exists else "bad source"
            raise GitStop(f"fatal: {why}, source={name}, destination={place}")
        if files.exists(f"{repository.path}/{place}") and not force:
            raise GitStop(f"fatal: destination exists, source={name}, destination={place}")
        files.rename(f"{repository.path}/{source}", f"{repository.path}/{place}")
        changes: dict[str, TreeEntry | None] = dict.fromkeys(moved)
        repository.stage(changes | {place + path[len(source) :]: index[path] for path in moved})


def clean(session: GitSession) -> None:
    """Remove untracked files."""
    letters = {
        letter_ for word in session.words if word.startswith("-") and not word.startswith("--") for letter_ in word[1:]
    }
    names = [word for word in session.words if not word.startswith("-")]
    dry = "n" in letters or "--dry-run" in session.words
    if "f" not in letters and not dry and "--force" not in session.words:
        raise GitStop("fatal: clean.requireForce defaults to true and neither -i, -n, nor -f given; refusing to clean")
    repository = session.repository
    found = untracked_files(repository)
    if "x" in letters:
        index = repository.index()
        found = with_folders([path for path in repository.worktree() if path not in index], index)
    for path in found:
        if path.endswith("/") and "d" not in letters:
            continue
        if names and not matching([path.rstrip("/")], session.paths(names)):
            continue
        session.say(f"{'Would remove' if dry else 'Removing'} {quoted(session.relative(path))}")
        if not dry:
            session.call.files.remove(f"{repository.path}/{path.rstrip('/')}", recursive=True)

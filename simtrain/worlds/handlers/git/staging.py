"""The index: add files, reset it, commit it."""

from collections.abc import Sequence

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.worlds.handlers.git.failure import CommandFailed
from simtrain.worlds.handlers.git.objects import NOTHING, Commit, Signature, TreeEntry
from simtrain.worlds.handlers.git.paths import Ignored, Pathspec, pathspec
from simtrain.worlds.handlers.git.repository import Repository
from simtrain.worlds.handlers.git.states import head_tree

STAGED = "Files staged successfully"
UNCHANGED = (
    "No changes were staged: the given paths had nothing new to stage. git_status shows what is modified or untracked."
)
NOTHING_STAGED = (
    "No changes staged for commit. Use git_add to stage changes first; git_status shows what is currently staged."
)
_HINT = (
    "hint: Use -f if you really want to add them.\n"
    "hint: Turn this message off by running\n"
    'hint: "git config advice.addIgnoredFile false"'
)


def add(repository: Repository, files: Sequence[str]) -> str | Reply:
    """Stage files. Ignored ones give an error reply, but the others are staged. Raises ToolError."""
    specs = [_checked(repository, written) for written in files]
    if "" in files:
        what = "fatal: empty string is not a valid pathspec. please use . instead if you meant to match all paths"
        raise CommandFailed(128, f"ls-files --stage -- {' '.join(files)}", what)
    index, worktree = repository.index(), repository.worktree()
    ignored = Ignored(worktree)
    # .gitignore applies to untracked files only.
    open_files = [path for path in worktree if path in index or ignored.cause(path) is None]
    chosen: dict[str, None] = {}
    refused: list[str] = []
    for spec in specs:
        found = spec.chosen({**index, **dict.fromkeys(open_files)})
        chosen.update(dict.fromkeys(found))
        if not found:
            refused += _missed(spec, files, worktree, ignored)
    changes: dict[str, TreeEntry | None] = {}
    for path in chosen:
        mode, content = worktree.get(path, ("", b""))
        entry = TreeEntry(mode, repository.keep_blob(content)) if path in worktree else None
        if entry != index.get(path):
            changes[path] = entry
    repository.stage(changes)
    if refused:
        listed = "\n".join(dict.fromkeys(sorted(refused)))
        what = f"The following paths are ignored by one of your .gitignore files:\n{listed}\n{_HINT}"
        failure = CommandFailed(1, f"add -- {' '.join(files)}", what)
        # A ToolError would roll the call back; git stages the others all the same.
        return Reply(f"Error executing tool git_add: {failure}", is_error=True)
    return STAGED if changes else UNCHANGED


def _checked(repository: Repository, written: str) -> Pathspec:
    spec = pathspec(written, repository.path)
    if spec is None:
        raise ToolError(f"Path '{written}' is outside the repository '{repository.path}'")
    return spec


def _missed(
    spec: Pathspec, files: Sequence[str], worktree: dict[str, tuple[str, bytes]], ignored: Ignored
) -> list[str]:
    """Return the ignored paths that a pathspec without a match names. Raises CommandFailed if there are no such files at all."""
    if spec.path in ("", ".git") or spec.path.startswith(".git/"):
        return []
    below = [path for path in worktree if path == spec.path or path.startswith(f"{spec.path}/")]
    if not below or (spec.folder_only and spec.path in worktree):
        what = f"fatal: pathspec '{spec.written}' did not match any files"
        raise CommandFailed(128, f"add -- {' '.join(files)}", what)
    return [ignored.cause(below[0]) or spec.path]


def reset(repository: Repository) -> None:
    """Reset the index to the commit at HEAD. Raises CommandFailed before the first commit."""
    if repository.ref("HEAD") is None:
        raise CommandFailed(128, "read-tree HEAD", "fatal: Not a valid object name HEAD")
    head, index = repository.files(head_tree(repository)), repository.index()
    changed = [path for path in {**index, **head} if index.get(path) != head.get(path)]
    repository.stage({path: head.get(path) for path in changed})


def commit(context: HandlerContext, repository: Repository, message: str) -> str:
    """Commit the index as the repository's user, now, and return the new id. Raises ToolError if nothing is staged."""
    index = repository.index()
    if index == repository.files(head_tree(repository)):
        raise ToolError(NOTHING_STAGED)
    parent = repository.ref("HEAD")
    who = Signature(*repository.user, context.now)
    made = Commit(repository.keep_tree(index), (parent,) if parent else (), who, who, message)
    sha = repository.keep_commit(made)
    head = repository.head
    if head.startswith("refs/"):
        repository.set_ref(head, sha)
    else:
        repository.set_head(sha)
    for ref in dict.fromkeys((head, "HEAD") if head.startswith("refs/") else ("HEAD",)):
        subject = message.partition("\n")[0]
        repository.note(ref, old=parent or NOTHING, new=sha, message=subject, at=context.now)
    return sha

"""write-tree and commit-tree: trees and commits made by hand."""

from simtrain.worlds.handlers.git.objects import FOLDER, Commit
from simtrain.worlds.machine.git.peeling import named_object, peeled
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_WRITE_USAGE = "usage: git write-tree [--missing-ok] [--prefix=<prefix>/]"
_COMMIT_USAGE = (
    "usage: git commit-tree <tree> [(-p <parent>)...]\n"
    "   or: git commit-tree [(-p <parent>)...] [-S[<keyid>]] [(-m <message>)...]\n"
    "                       [(-F <file>)...] <tree>"
)


def write_tree(session: GitSession) -> None:
    """Store the index as a tree, and print its id."""
    repository, prefix = session.repository, ""
    for word in session.words:
        if word.startswith("--prefix="):
            prefix = word.partition("=")[2]
        elif word != "--missing-ok":
            raise GitStop(f"error: unknown option `{word.lstrip('-')}'\n{_WRITE_USAGE}", 129)
    conflicts = repository.conflicts()
    if conflicts:
        for path, stages in conflicts.items():
            for entry in stages.values():
                session.warn(f"{path}: unmerged ({entry.sha})")
        raise GitStop("fatal: git-write-tree: error building trees")
    tree = repository.keep_tree(repository.index())
    for name in prefix.strip("/").split("/") if prefix.strip("/") else []:
        entry = repository.tree(tree).get(name)
        if entry is None or entry.mode != FOLDER:
            raise GitStop(f"fatal: git-write-tree: prefix {prefix} not found")
        tree = entry.sha
    session.say(tree)


def commit_tree(session: GitSession) -> None:
    """Store a commit of a tree, and print its id."""
    words, trees, parents, parts = list(session.words), list[str](), list[str](), list[str]()
    while words:
        word = words.pop(0)
        name = word[:2]
        if name in ("-m", "-p", "-F"):
            value = word[2:] or (words.pop(0) if words else None)
            if value is None:
                raise GitStop(f"error: switch `{name[1]}' requires a value\n{_COMMIT_USAGE}", 129)
            if name == "-p":
                parents.append(_checked(session, value, "commit"))
            else:
                refusal = "fatal: git commit-tree: failed to open '{}'"
                text = value if name == "-m" else session.text_of(value, refusal)
                # An empty file adds nothing, an empty message a line.
                parts.append(text if text.endswith("\n") or (name == "-F" and not text) else f"{text}\n")
        elif word.startswith("-"):
            raise unknown_option(word, _COMMIT_USAGE)
        else:
            trees.append(word)
    if len(trees) != 1:
        if not trees:
            raise GitStop(_COMMIT_USAGE, 129)
        raise GitStop("fatal: must give exactly one tree")
    tree = _checked(session, trees[0], "tree")
    message = "\n".join(parts) if parts else session.call.stdin or ""
    for one in parents:
        if parents.count(one) > 1:
            session.warn(f"error: duplicate parent {one} ignored")
    author, committer = session.signature("AUTHOR"), session.signature("COMMITTER")
    session.say(session.repository.keep_commit(Commit(tree, tuple(dict.fromkeys(parents)), author, committer, message)))


def _checked(session: GitSession, name: str, kind: str) -> str:
    repository = session.repository
    sha = named_object(session, name)
    if sha is None:
        raise GitStop(f"fatal: not a valid object name {name}")
    end = peeled(repository, sha) if kind == "commit" else sha
    if repository.kind(end) != kind:
        raise GitStop(f"fatal: {sha} is not a valid '{kind}' object")
    return end

"""Commits, files and folders as `git_show` shows them."""

from simtrain.worlds.handlers.git.deltas import Delta
from simtrain.worlds.handlers.git.objects import FOLDER
from simtrain.worlds.handlers.git.patch import body
from simtrain.worlds.handlers.git.repository import Repository
from simtrain.worlds.handlers.git.states import compared

_CONTEXT = 3


def show_commit(repository: Repository, sha: str) -> str:
    """Return the author, date and message of a commit, and its differences from the first parent."""
    commit = repository.commit(sha)
    who = commit.author
    lines = [f"commit {sha}", f"Author: {who.name} <{who.email}>", f"Date:   {who.moment:%Y-%m-%d %H:%M:%S %z}", ""]
    lines += [f"    {line}" for line in commit.message.rstrip("\n").split("\n")]
    before = repository.files(repository.commit(commit.parents[0]).tree) if commit.parents else {}
    found = compared(repository, before, repository.files(commit.tree))
    return "\n".join([*lines, ""]) + "".join(_shown(delta) for delta in found)


def _shown(delta: Delta) -> str:
    old = f"a/{delta.old.path}" if delta.old else "/dev/null"
    new = f"b/{delta.new.path}" if delta.new else "/dev/null"
    return f"\n--- {old}\n+++ {new}\n{body(delta, context=_CONTEXT)}"


def show_file(repository: Repository, sha: str) -> str:
    """Return a file's content; bytes that are no text are shown as replaced."""
    return repository.blob(sha).decode(errors="replace")


def show_folder(repository: Repository, sha: str) -> str:
    """Return the names in a folder, those of folders with a slash."""
    return "\n".join(f"{name}/" if entry.mode == FOLDER else name for name, entry in repository.tree(sha).items())

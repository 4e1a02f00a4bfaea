"""Resolves the path that an agent writes to a path inside the allowed folders, or refuses it."""

import re
from posixpath import dirname, join, normpath

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.filesystem.failures import FileSystemFailure
from simtrain.worlds.handlers.filesystem.tree import Tree

HOME = "/agent"
"""The home directory, for `~`."""

_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/]|$)")


def located(tree: Tree, given: str) -> str:
    """Return the real path, with symlinks followed; for one that does not exist yet, below its nearest existing ancestor.

    Raises ToolError for a path outside the allowed folders, directly or through a symlink, and for one that cannot be followed.
    """
    wanted = _absolute(tree, given)
    if "\0" in wanted or not allowed(tree, wanted):
        raise ToolError(f"Access denied - path outside allowed directories: {wanted} not in {', '.join(tree.roots)}")
    try:
        real = tree.real(wanted).path
    except FileSystemFailure as failure:
        if failure.code != "ENOENT":
            raise
        return _yet_to_be(tree, wanted)
    _must_be_inside(tree, real)
    # Checked above once links are followed: a path inside the roots may lead out of them.
    return real


def allowed(tree: Tree, path: str) -> bool:
    """True if a path is one of the roots or below one."""
    # With the slash, or `/projects-old` would pass for a part of `/projects`.
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in tree.roots)


def _absolute(tree: Tree, given: str) -> str:
    if _WINDOWS.match(given):
        raise ToolError(f"Access denied - Windows-style path received on a POSIX host: {given}")
    if given == "~" or given.startswith("~/"):
        given = HOME + given[1:]
    if given.startswith("/"):
        return _normal(given)
    candidates = [_normal(join(root, given)) for root in tree.roots]
    return next((path for path in candidates if allowed(tree, path)), candidates[0])


def _normal(path: str) -> str:
    # POSIX gives two leading slashes a meaning of their own, so normpath keeps them; Node does not.
    return "/" + normpath(path).lstrip("/")


def _yet_to_be(tree: Tree, wanted: str) -> str:
    """Return the real path of what does not exist yet. Raises ToolError if a symlink on the way is dangling, or the root is gone."""
    failure = ToolError(f"Parent directory does not exist: {dirname(wanted)}")
    rest, ancestor = "", wanted
    while True:
        parent, _, name = ancestor.rpartition("/")
        rest, ancestor = join(name, rest) if rest else name, parent or "/"
        if not allowed(tree, ancestor):
            raise failure
        try:
            real = tree.real(ancestor).path
        except FileSystemFailure as error:
            if error.code != "ENOENT":
                raise
            continue
        # A dangling symlink: writing through it would create its target, wherever that is.
        if tree.node(join(real, name)) is not None:
            raise failure
        _must_be_inside(tree, real)
        return join(real, rest)


def _must_be_inside(tree: Tree, real: str) -> None:
    if not allowed(tree, real):
        raise ToolError(
            f"Access denied - symlink target outside allowed directories: {real} not in {', '.join(tree.roots)}"
        )

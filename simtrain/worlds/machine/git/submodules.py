"""submodule: of a repository without submodules, which every repository here is."""

from simtrain.worlds.machine.git.session import GitSession, GitStop, matching

_USAGE = """usage: git submodule [--quiet] [--cached]
   or: git submodule [--quiet] status [--cached] [--recursive] [--] [<path>...]
   or: git submodule [--quiet] init [--] [<path>...]
   or: git submodule [--quiet] deinit [-f|--force] (--all| [--] <path>...)
   or: git submodule [--quiet] update [--init] [--remote] [-f|--force] [--recursive] [--] [<path>...]
   or: git submodule [--quiet] summary [--cached|--files] [--summary-limit <n>] [commit] [--] [<path>...]
   or: git submodule [--quiet] foreach [--recursive] <command>
   or: git submodule [--quiet] sync [--recursive] [--] [<path>...]"""
_TAKING_PATHS = ("status", "init", "deinit", "update", "sync")


def submodule(session: GitSession) -> None:
    """Do nothing for every submodule. Raises GitStop for a path that is no file of the index, or an unknown action."""
    repository = session.repository
    words = [word for word in session.words if word not in ("--quiet", "-q", "--cached")]
    action = words.pop(0) if words else "status"
    if action not in (*_TAKING_PATHS, "summary", "foreach"):
        raise GitStop(_USAGE, 1)
    names = [word for word in words if not word.startswith("-")]
    if action == "deinit" and not names and "--all" not in words:
        raise GitStop("fatal: Use '--all' if you really want to deinitialize all submodules")
    for name, path in zip(names, session.paths(names), strict=True) if action in _TAKING_PATHS else ():
        if not matching(list(repository.index()), [path]):
            raise GitStop(f"error: pathspec '{name}' did not match any file(s) known to git", 1)

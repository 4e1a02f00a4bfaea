"""The command line of git: options before the subcommand, and the table of subcommands."""

import struct
import zlib
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from posixpath import normpath
from shlex import split

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.failure import CommandFailed
from simtrain.worlds.machine.binary import as_text
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.invocation import Invocation, Result, quoted
from simtrain.worlds.machine.problems import problem_text

_HERE = "simtrain.worlds.machine.git."
SUBCOMMANDS: dict[str, str] = {
    "add": "changes:add", "am": "mailing:apply_mails", "apply": "patch_command:apply", "archive": "archiving:archive",
    "bisect": "bisecting:bisect", "blame": "blaming:blame", "branch": "branches:branch", "cat-file": "plumbing:cat_file",
    "check-ignore": "plumbing:check_ignore", "check-ref-format": "small_plumbing:check_ref_format",
    "checkout": "checkouts:checkout", "cherry": "cherries:cherry", "cherry-pick": "picking:cherry_pick", "clean": "changes:clean",
    "clone": "remotes:clone", "commit": "committing:commit", "commit-tree": "tree_making:commit_tree",
    "config": "configuring:config", "count-objects": "housekeeping:count_objects", "describe": "describing:describe",
    "diff": "diffing:diff", "diff-files": "tree_diffs:diff_files", "diff-index": "tree_diffs:diff_index",
    "diff-tree": "tree_diffs:diff_tree", "fetch": "remotes:fetch", "for-each-ref": "ref_listing:for_each_ref",
    "format-patch": "mails:format_patch", "fsck": "checking:fsck", "gc": "housekeeping:gc", "grep": "searching:grep",
    "hash-object": "plumbing:hash_object", "init": "configuring:init", "log": "history:log", "ls-files": "plumbing:ls_files",
    "ls-remote": "remote_refs:ls_remote", "ls-tree": "plumbing:ls_tree",
    "merge": "merging:merge", "merge-base": "plumbing:merge_base", "mktree": "index_updates:mktree", "mv": "changes:move",
    "name-rev": "naming:name_rev", "notes": "notes:notes", "prune": "housekeeping:prune",
    "pull": "remotes:pull", "push": "pushing:push", "read-tree": "index_updates:read_tree", "rebase": "rebasing:rebase",
    "reflog": "history:reflog", "remote": "remotes:remote",
    "reset": "resetting:reset", "restore": "resetting:restore", "rev-list": "plumbing:rev_list", "rev-parse": "plumbing:rev_parse",
    "revert": "picking:revert", "rm": "changes:remove", "shortlog": "history:shortlog", "show": "history:show",
    "show-ref": "plumbing:show_ref", "stash": "stashing:stash", "status": "status:status",
    "stripspace": "small_plumbing:stripspace", "submodule": "submodules:submodule", "switch": "checkouts:switch",
    "symbolic-ref": "plumbing:symbolic_ref", "tag": "tags:tag", "update-index": "index_updates:update_index",
    "update-ref": "ref_updates:update_ref", "var": "small_plumbing:var",
    "worktree": "plumbing:worktree", "write-tree": "tree_making:write_tree",
}  # fmt: skip
"""Subcommand -> module and function below this folder."""
VERSION = "git version 2.39.5"
_USAGE = "usage: git [-v | --version] [-h | --help] [-C <path>] [-c <name>=<value>]\n           <command> [<args>]\n"
_HELP = f"{_USAGE}\n" + "".join(f"   {name}\n" for name in sorted(SUBCOMMANDS))
_NUL_ENDS = {"-z", "--null", "-0"}
_DAMAGED = (LookupError, ValueError, StopIteration, zlib.error, struct.error)
"""Raised where a file of `.git` does not hold what it should."""


def git(call: Invocation) -> Result:
    """Carry out one git command."""
    words = list(call.arguments)
    directory, settings = call.directory, dict[str, str]()
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "-C" and words:
            directory = normpath(f"{directory}/{words[0]}" if not words[0].startswith("/") else words[0])
            name = words.pop(0)
            if not call.files.is_directory(directory):
                return Result(stderr=f"fatal: cannot change to '{name}': No such file or directory\n", exit_code=128)
        elif word == "-c" and words:
            key, _, value = words.pop(0).partition("=")
            settings[key.lower()] = value
        elif word in ("--version", "-v"):
            return Result(f"{VERSION}\n")
        elif word in ("--help", "-h"):
            return Result(_HELP)
        elif word not in ("--no-pager", "-P", "-p", "--paginate", "--no-optional-locks", "--literal-pathspecs"):
            return Result(
                stderr=f"unknown option: {word}\n{_USAGE}",
                exit_code=129,
            )
    if not words:
        return Result(_HELP, "", 1)
    name = words.pop(0)
    if name == "help" or words[:1] == ["--help"]:
        pages = [word for word in (words if name == "help" else [name]) if not word.startswith("-")]
        if not pages:
            return Result(_HELP)
        return Result(stderr=f"No manual entry for git-{pages[0]}\n", exit_code=16)
    if name == "version":
        return Result(f"{VERSION}\n")
    session = GitSession(call, directory, words, settings)
    alias = _alias(session, name)
    if alias.startswith("!"):
        return _run_alias(session, alias[1:])
    function = _function(session, name)
    if function is None:
        return _unknown(name)
    try:
        function(session)
    except GitStop as stop:
        if stop.text:
            session.warn(stop.text)
        session.code = stop.code
    except CommandFailed as failed:
        session.warn(failed.stderr)
        session.code = failed.status
    except ToolError as error:
        session.warn(f"fatal: {error}")
        session.code = 128
    except OSError as error:
        session.warn(f"fatal: {problem_text(error)}")
        session.code = 128
    except _DAMAGED:
        # Somebody has written into `.git`.
        session.warn("fatal: bad object HEAD")
        session.code = 128
    output = "".join(session.output)
    if not _NUL_ENDS & {*call.arguments}:
        # What is listed with NULs between is no binary data: other programs take it apart by these.
        output = as_text(output.encode("utf-8", "surrogateescape"))
    return Result(output, "".join(session.errors), session.code)


def _alias(session: GitSession, name: str) -> str:
    """Return what stands for a name that is no subcommand; `` if nothing does."""
    if name in SUBCOMMANDS:
        return ""
    try:
        return session.setting(f"alias.{name}") or ""
    except OSError:
        return ""


def _run_alias(session: GitSession, command: str) -> Result:
    """Run an alias that is a line for the shell, at the root of the working tree."""
    try:
        root = session.repository.path
    except GitStop:
        root = session.directory
    words = f" {quoted(session.words)}" if session.words else ""
    return session.call.run(f"{command}{words}", directory=root, stdin=session.call.stdin)


def _function(session: GitSession, name: str) -> Callable[[GitSession], None] | None:
    address = SUBCOMMANDS.get(name)
    if address is None:
        alias = _alias(session, name)
        if not alias or alias.startswith("!"):
            return None
        first, *rest = split(alias)
        session.words = [*rest, *session.words]
        return _function(session, first) if first != name else None
    module, _, function = address.partition(":")
    return getattr(import_module(_HERE + module), function)


def _unknown(name: str) -> Result:
    text = f"git: '{name}' is not a git command. See 'git --help'.\n"
    near = get_close_matches(name, SUBCOMMANDS, n=1, cutoff=0.7)
    if near:
        text += f"\nThe most similar command is\n\t{near[0]}\n"
    return Result(stderr=text, exit_code=1)

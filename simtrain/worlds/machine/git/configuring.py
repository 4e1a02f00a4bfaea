"""init and config."""

from collections.abc import Sequence
from posixpath import normpath

from simtrain.worlds.handlers.git.repository import HEADS
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.git.config import changed_config, parsed_config, settings_of, without_section
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.session import GitSession, GitStop

_BRANCH_HINT = """hint: Using 'master' as the name for the initial branch. This default branch name
hint: is subject to change. To configure the initial branch name to use in all
hint: of your new repositories, which will suppress this warning, call:
hint: 
hint: \tgit config --global init.defaultBranch <name>
hint: 
hint: Names commonly chosen instead of 'master' are 'main', 'trunk' and
hint: 'development'. The just-created branch can be renamed via this command:
hint: 
hint: \tgit branch -m <name>"""


def init(session: GitSession) -> None:
    """Make an empty repository."""
    words, names, branch, quiet, bare = list(session.words), list[str](), None, False, False
    while words:
        word = words.pop(0)
        if word in ("-b", "--initial-branch") and words:
            branch = words.pop(0)
        elif word.startswith("--initial-branch="):
            branch = word.partition("=")[2]
        elif word in ("-q", "--quiet"):
            quiet = True
        elif word == "--bare":
            bare = True
        elif word.startswith("-"):
            raise GitStop(
                f"error: unknown option `{word.lstrip('-')}'\nusage: git init [-q | --quiet] [--bare] [--template=<template-directory>]",
                129,
            )
        else:
            names.append(word)
    path = normpath(
        f"{session.directory}/{names[0]}"
        if names and not names[0].startswith("/")
        else names[0]
        if names
        else session.directory
    )
    files = session.call.files
    folder = path if bare else f"{path.rstrip('/')}/.git"
    again = files.exists(f"{folder}/HEAD")
    chosen = (
        branch
        or session.settings.get("init.defaultbranch")
        or settings_of(session.user_config()).get("init.defaultbranch")
    )
    if not again:
        if chosen is None and not quiet:
            session.warn(_BRANCH_HINT)
        made = FolderRepository(files, path, folder=folder)
        made.begin(head=HEADS + (chosen or "master"), name="", mail="")
        if bare:
            made.configure("core.bare", "true")
    elif branch:
        session.warn(f"warning: re-init: ignored --initial-branch={branch}")
    if not quiet:
        session.say(
            f"{'Reinitialized existing' if again else 'Initialized empty'} Git repository in {folder.rstrip('/')}/"
        )


def config(session: GitSession) -> None:
    """Read and set the configuration."""
    words = list(session.words)
    first = next((place for place, word in enumerate(words) if not word.startswith("-")), len(words))
    # Behind the key, a dash may begin the value: `git config tag.sort -refname`.
    flags = {word for place, word in enumerate(words) if word.startswith("-" if place < first else "--")}
    rest = [word for word in words if word not in flags]
    outer = bool(flags & {"--global", "--system"})
    if flags & {"-l", "--list"}:
        found = parsed_config(session.user_config())
        if not outer:
            found = ([] if "--local" in flags else found) + parsed_config(session.repository.text("config") or "")
        session.output += [f"{key}={value}\n" for key, value in found]
        return
    if not rest:
        raise GitStop("usage: git config [<options>]", 129)
    key = rest[0]
    if flags & {"--remove-section", "--rename-section"}:
        _change_section(session, rest, outer=outer)
        return
    if "--get-regexp" in flags:
        try:
            pattern = expression(key, syntax="extended")
        except ExpressionProblem:
            raise GitStop(f"error: invalid key pattern: {key}", 6) from None
        found = parsed_config(session.user_config()) + parsed_config(session.repository.text("config") or "")
        chosen = [f"{one} {value}\n" for one, value in found if pattern.finds(one)]
        session.output += chosen
        session.code = 0 if chosen else 1
        return
    if "." not in key:
        raise GitStop(f"error: key does not contain a section: {key}", 1)
    section, _, name = key.rpartition(".")
    normal = (
        section.partition(".")[0].lower()
        + (f".{section.partition('.')[2]}" if "." in section else "")
        + f".{name.lower()}"
    )
    if flags & {"--unset", "--unset-all"}:
        _set(session, key, None, outer=outer, known=normal)
    elif len(rest) > 1 and not flags & {"--get", "--get-all"}:
        _set(session, key, rest[1], outer=outer, known=normal)
    else:
        value = settings_of(session.user_config()).get(normal) if outer else session.setting(normal)
        if value is None:
            raise GitStop("", 1)
        session.say(value)


def _change_section(session: GitSession, names: Sequence[str], *, outer: bool) -> None:
    """Remove a section of the configuration, or give it another name."""
    text = session.user_config() if outer else session.repository.text("config") or ""
    section = names[0].partition(".")[0].lower() + (f".{names[0].partition('.')[2]}" if "." in names[0] else "")
    held = [key for key, _ in parsed_config(text) if key.rpartition(".")[0] == section]
    if not held:
        raise GitStop(f"fatal: no such section: {names[0]}")
    changed = without_section(text, section)
    for key, value in parsed_config(text) if len(names) > 1 else ():
        if key in held:
            changed = changed_config(changed, f"{names[1]}.{key.rpartition('.')[2]}", value)
    _put(session, changed, outer=outer)


def _put(session: GitSession, text: str, *, outer: bool) -> None:
    if outer:
        session.call.files.write(session.user_config_path, text.encode())
    else:
        session.repository.put_text("config", text)


def _set(session: GitSession, key: str, value: str | None, *, outer: bool, known: str) -> None:
    text = session.user_config() if outer else session.repository.text("config") or ""
    if value is None and known not in settings_of(text):
        raise GitStop("", 5)
    changed = changed_config(text, key, value)
    _put(session, changed, outer=outer)

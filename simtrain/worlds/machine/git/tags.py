"""tag: lists, makes and deletes tags."""

import re

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import check_name
from simtrain.worlds.handlers.git.objects import Tag
from simtrain.worlds.handlers.git.repository import TAGS
from simtrain.worlds.machine.git.ref_listing import RefChoice, list_in_form
from simtrain.worlds.machine.git.session import GitSession, GitStop


def tag(session: GitSession) -> None:
    """List, make and delete tags."""
    repository = session.repository
    words, messages, names = list(session.words), list[str](), list[str]()
    flags: set[str] = set()
    choice = RefChoice()
    while words:
        word = words.pop(0)
        if choice.take(word, words):
            continue
        if word in ("-m", "--message") and words:
            messages.append(words.pop(0))
            flags.add("-a")
        elif word.startswith("--message="):
            messages.append(word.partition("=")[2])
            flags.add("-a")
        elif word.startswith("-m") and len(word) > 2:
            messages.append(word[2:])
            flags.add("-a")
        elif word == "-am" and words:
            messages.append(words.pop(0))
            flags.add("-a")
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if flags & {"-d", "--delete"}:
        for name in names:
            sha = repository.ref(TAGS + name)
            if sha is None:
                session.warn(f"error: tag '{name}' not found.")
                session.code = 1
                continue
            repository.remove_ref(TAGS + name)
            session.say(f"Deleted tag '{name}' (was {repository.abbreviated(sha)})")
        return
    if not names or flags & {"-l", "--list"} or choice.tests or any(re.fullmatch(r"-n\d*", flag) for flag in flags):
        _list_tags(session, flags, names, choice)
        return
    name, start = names[0], names[1] if len(names) > 1 else "HEAD"
    try:
        check_name(TAGS + name)
    except ToolError:
        raise GitStop(f"fatal: '{name}' is not a valid tag name.") from None
    old = repository.ref(TAGS + name)
    if old and not flags & {"-f", "--force"}:
        raise GitStop(f"fatal: tag '{name}' already exists")
    found = session.maybe(start)
    if found is None:
        raise GitStop(f"fatal: Failed to resolve '{start}' as a valid ref.")
    sha = found.sha
    if flags & {"-a", "--annotate"}:
        if not messages:
            raise GitStop(
                "error: Terminal is dumb, but EDITOR unset\nPlease supply the message using either -m or -F option.", 1
            )
        sha = repository.keep_tag(Tag(sha, name, session.signature("COMMITTER"), "\n\n".join(messages) + "\n"))
    repository.set_ref(TAGS + name, sha)
    if old and old != sha:
        session.say(f"Updated tag '{name}' (was {repository.abbreviated(old)})")


def _list_tags(session: GitSession, flags: set[str], patterns: list[str], choice: RefChoice) -> None:
    sort = session.setting("tag.sort")
    if sort and not choice.keys:
        choice.keys.append(sort)
    count = next((flag[2:] or "1" for flag in flags if re.fullmatch(r"-n\d*", flag)), None)
    form = "%(refname:strip=2)"
    if count is not None and choice.form is None:
        form = f"%(align:15)%(refname:strip=2)%(end) %(contents:lines={count})"
    session.output += [f"{line}\n" for line in list_in_form(session, choice, (TAGS,), patterns, form)]

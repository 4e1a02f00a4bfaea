"""The message of a new commit: where it comes from, and what the editor and the hooks make of it."""

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Signature
from simtrain.worlds.handlers.git.patch import patch
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.commit_request import CommitRequest
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.hooks import require_hook
from simtrain.worlds.machine.git.messages import (
    SCISSORS,
    cleaned_as,
    edited,
    signed_off,
    subject_of,
    with_trailers,
)  # fmt: skip
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.status import long_status

_FILE = "COMMIT_EDITMSG"
_PLEASE = (
    "# Please enter the commit message for your changes. Lines starting\n"
    "# with '#' will be {}, and an empty message aborts the commit.\n"
)
_CUT = f"{SCISSORS}\n# Do not modify or remove the line above.\n# Everything below it will be ignored.\n"
_JOINING = (
    "#\n# It looks like you may be committing a {0}.\n# If this is not correct, please run\n"
    "#\tgit update-ref -d {1}\n# and try again.\n\n"
)


def written_message(session: GitSession, asked: CommitRequest, author: Signature, *, dated: bool) -> str:
    """Return the message. Raises GitStop where there is none, or a hook refuses it."""
    text, source, editing = _first_text(session, asked)
    template = text if source == ("template",) else None
    if asked.signoff:
        text = signed_off(session, text)
    if asked.trailers:
        text = with_trailers(text, asked.trailers)
    mode = asked.values.get("cleanup") or session.setting("commit.cleanup") or "default"
    if mode != "verbatim" and not editing:
        text = cleaned_as(text, "whitespace", edited=False)
    plain = text
    if editing:
        text += _instructions(session, asked, author, mode, dated=dated)
    repository = session.repository
    repository.put_text(_FILE, text)
    place = ".git/" + _FILE if repository.folder == f"{repository.path.rstrip('/')}/.git" else _FILE
    require_hook(session, "prepare-commit-msg", place, *source)
    if editing:
        edited(session, repository.text(_FILE) or "")
    if not asked.unverified:
        require_hook(session, "commit-msg", place)
    message = cleaned_as(repository.text(_FILE) or "", mode, edited=editing, cut=asked.verbose)
    if template is not None and message == cleaned_as(template, mode, edited=True) and editing and plain == template:
        raise GitStop("Aborting commit; you did not edit the message.", 1)
    if not message.strip() and not asked.empty_message:
        raise GitStop("Aborting commit due to empty commit message.", 1)
    return message


def _first_text(session: GitSession, asked: CommitRequest) -> tuple[str, tuple[str, ...], bool]:
    """Return the text before editing, what a hook is told of where it comes from, and whether it is to be edited."""
    text, source, editing = _found_text(session, asked)
    if "fixup" in asked.values:
        text, editing = _fixup(session, asked, asked.values["fixup"])
        source = ("message",)
    elif "squash" in asked.values:
        text = f"squash! {subject_of(session.commit(_known(session, asked.values['squash'])).message)}\n\n{text}"
        source = ("message",)
    return text, source, editing if asked.edit is None else asked.edit


def _found_text(session: GitSession, asked: CommitRequest) -> tuple[str, tuple[str, ...], bool]:
    repository, values = session.repository, asked.values
    if asked.messages:
        return "\n\n".join(part.rstrip("\n") for part in asked.messages) + "\n", ("message",), False
    if "file" in values:
        return session.text_of(values["file"], "fatal: could not read log file '{}'"), ("message",), False
    for name in ("reuse", "reedit"):
        if name in values:
            return session.commit(values[name]).message, ("commit", values[name]), name == "reedit"
    if {"fixup", "squash"} & values.keys():
        return "", ("message",), "squash" in values
    if asked.amend and session.head:
        return repository.commit(session.head).message, ("commit", "HEAD"), True
    merge, squash = repository.text("MERGE_MSG"), repository.text("SQUASH_MSG")
    if merge is not None or squash is not None:
        return (squash or "") + (merge or ""), ("merge" if squash is None else "squash",), True
    template = values.get("template") or session.setting("commit.template")
    if template:
        return session.text_of(template, "fatal: could not read '{}'"), ("template",), True
    return "", (), True


def _known(session: GitSession, name: str) -> str:
    if session.maybe(name) is None:
        raise GitStop(f"fatal: could not lookup commit {name}")
    return name


def _fixup(session: GitSession, asked: CommitRequest, written: str) -> tuple[str, bool]:
    """Return the message for a commit that is to be melded into another one, and whether it is to be edited."""
    kind, colon, name = written.partition(":")
    if not colon or kind not in ("amend", "reword"):
        kind, name = "", written
    commit = session.commit(_known(session, name))
    if kind:
        return f"amend! {subject_of(commit.message)}\n\n{commit.message}", True
    more = "\n\n".join(part.rstrip("\n") for part in asked.messages)
    return f"fixup! {subject_of(commit.message)}\n\n{more}", False


def _instructions(session: GitSession, asked: CommitRequest, author: Signature, mode: str, *, dated: bool) -> str:
    """Return the lines of comment below a message in the editor."""
    repository, merging = session.repository, session.repository.text("MERGE_HEAD") is not None
    committer = session.signature("COMMITTER")
    text = ""
    if merging or repository.text("CHERRY_PICK_HEAD") is not None:
        text += _JOINING.format(*(("merge", "MERGE_HEAD") if merging else ("cherry-pick", "CHERRY_PICK_HEAD")))
    kept = mode in ("whitespace", "verbatim")
    text += "\n" + _PLEASE.format("kept; you may remove them\n# yourself if you want to" if kept else "ignored")
    about: list[str] = []
    if (author.name, author.email) != (committer.name, committer.email):
        about.append(f"# Author:    {author.name} <{author.email}>\n")
    if dated:
        about.append(f"# Date:      {date_text(author, 'default', session.call.now)}\n")
    text += "#\n" + "".join(about) + ("#\n" if about else "")
    base = repository.commit(session.head).tree if session.head else EMPTY_TREE
    amending = None
    if asked.amend and session.head:
        above = repository.commit(session.head).parents
        base = amending = repository.commit(above[0]).tree if above else EMPTY_TREE
    status = long_status(session, untracked=asked.untracked != "no", amending=amending, committing=True)
    text += _commented(status)
    if asked.verbose:
        found = compared(repository, repository.files(base), repository.index())
        text += _CUT + patch(found, context=3, abbreviate=repository.abbreviated)
    return text


def _commented(status: str) -> str:
    lines = [line for line in status.removesuffix("\n").split("\n") if not line.startswith("  (")]
    endings = ("nothing to commit", "nothing added to commit", "no changes added to commit")
    shown = [line for line in lines if not line.startswith(endings)]
    return "".join(f"#{'' if not line or line.startswith(chr(9)) else ' '}{line}\n" for line in shown)

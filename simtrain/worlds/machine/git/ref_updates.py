"""update-ref: sets and deletes refs by their full names."""

from dataclasses import dataclass

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import check_name
from simtrain.worlds.handlers.git.objects import NOTHING
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES
from simtrain.worlds.machine.git.peeling import named_object
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_USAGE = (
    "usage: git update-ref [<options>] -d <refname> [<old-val>]\n"
    "   or: git update-ref [<options>]    <refname> <new-val> [<old-val>]\n"
    "   or: git update-ref [<options>] --stdin [-z]"
)
_LOGGED = (HEADS, REMOTES, "refs/notes/")


@dataclass(frozen=True, slots=True)
class _Change:
    """A ref that is to be set, deleted (`new` is NOTHING) or only looked at (`new` is None), and what it must hold before."""

    name: str
    new: str | None
    old: str | None


def update_ref(session: GitSession) -> None:
    """Set or delete a ref, if it holds what is expected."""
    words, flags, names, message = list(session.words), set[str](), list[str](), ""
    while words:
        word = words.pop(0)
        if word == "-m" and words:
            message = words.pop(0)
            if not message:
                raise GitStop("fatal: Refusing to perform update with empty message.")
        elif word in ("-d", "--no-deref", "--deref", "--stdin", "--create-reflog", "-z"):
            flags.add(word)
        elif word.startswith("-") and not names:
            raise unknown_option(word, _USAGE)
        else:
            names.append(word)
    deleting = "-d" in flags
    if "--stdin" in flags:
        _from_lines(session, flags, message)
        return
    if not (1 if deleting else 2) <= len(names) <= (2 if deleting else 3):
        raise GitStop(_USAGE, 129)
    new = NOTHING if deleting else _id(session, names[1], "{}: not a valid SHA1")
    given = names[1:] if deleting else names[2:]
    old = _id(session, given[0], "{}: not a valid old SHA1") if given and given[0] else NOTHING if given else None
    change = _Change(names[0], new, None if deleting and old == NOTHING else old)
    why = _refusal(session, change, flags)
    if why and deleting:
        raise GitStop(f"error: {why}", 1)
    if why:
        raise GitStop(f"fatal: update_ref failed for ref '{change.name}': {why}")
    _apply(session, change, flags, message)


def _id(session: GitSession, name: str, text: str) -> str:
    if name == NOTHING:
        return name
    sha = named_object(session, name)
    if sha is None:
        raise GitStop(f"fatal: {text.format(name)}")
    return sha


def _from_lines(session: GitSession, flags: set[str], message: str) -> None:
    changes: list[_Change] = []
    for line in (session.call.stdin or "").splitlines():
        verb, *rest = line.split(" ")
        if verb in ("start", "prepare", "commit", "option"):
            continue
        if verb not in ("create", "update", "delete", "verify"):
            raise GitStop(f"fatal: unknown command: {line}")
        if not rest:
            raise GitStop(f"fatal: {verb}: missing <ref>")
        ids = [
            _id(
                session,
                one,
                f"{verb} {rest[0]}: invalid <{'new' if verb in ('create', 'update') else 'old'}value>: {{}}",
            )
            for one in rest[1:]
        ]
        if verb in ("create", "update"):
            if not ids:
                raise GitStop(f"fatal: {verb} {rest[0]}: missing <newvalue>")
            old = NOTHING if verb == "create" else ids[1] if len(ids) > 1 else None
            changes.append(_Change(rest[0], ids[0], old))
        else:
            changes.append(_Change(rest[0], NOTHING if verb == "delete" else None, ids[0] if ids else None))
    for change in changes:
        why = _refusal(session, change, flags)
        if why:
            raise GitStop(f"fatal: {why}")
    for change in changes:
        _apply(session, change, flags, message)


def _held(session: GitSession, name: str) -> str | None:
    if name == "HEAD" or name.startswith("refs/"):
        return session.repository.ref(name)
    return (session.repository.text(name) or "").strip() or None


def _refusal(session: GitSession, change: _Change, flags: set[str]) -> str:
    """Return why a change is refused; `` if it is not."""
    repository, name = session.repository, change.name
    held = _held(session, name)
    lock = f"cannot lock ref '{name}': "
    if change.new != NOTHING and not _is_name(name):
        return f"refusing to update ref with bad name '{name}'"
    if change.old is not None and held is None and change.old != NOTHING:
        return f"{lock}unable to resolve reference '{name}'"
    if change.old is not None and held is not None and held != change.old:
        wrong = "reference already exists" if change.old == NOTHING else f"is at {held} but expected {change.old}"
        return lock + wrong
    if change.new in (None, NOTHING):
        return ""
    parts = name.split("/")
    above = next((one for one in ("/".join(parts[:end]) for end in range(2, len(parts))) if repository.ref(one)), None)
    below = next(iter(repository.refs(f"{name}/")), None) if name.startswith("refs/") and held is None else None
    if above or below:
        return f"{lock}'{above or below}' exists; cannot create '{name}'"
    kind = repository.kind(change.new or "")
    if kind is None:
        return f"cannot update ref '{name}': trying to write ref '{name}' with nonexistent object {change.new}"
    if kind != "commit" and (name.startswith(HEADS) or name == "HEAD"):
        return f"cannot update ref '{name}': trying to write non-commit object {change.new} to branch '{name}'"
    return ""


def _is_name(name: str) -> bool:
    try:
        check_name(name)
    except ToolError:
        return False
    return name.startswith("refs/") or all(letter.isupper() or letter in "-_" for letter in name) or "/" not in name


def _apply(session: GitSession, change: _Change, flags: set[str], message: str) -> None:
    repository, new = session.repository, change.new
    if new is None:
        return
    head = repository.head
    follows = change.name == "HEAD" and head.startswith("refs/") and "--no-deref" not in flags
    name = head if follows else change.name
    held = _held(session, name)
    if new == NOTHING:
        if name.startswith("refs/"):
            repository.remove_ref(name)
        else:
            repository.drop(name)
        return
    if name == "HEAD":
        repository.set_head(new)
    else:
        repository.set_ref(name, new)
    if held == new and message == "" and name != "HEAD":
        return
    logged = name.startswith(_LOGGED) or name == "HEAD" or "--create-reflog" in flags
    both = [name, "HEAD"] if name == head else [name]
    for one in both if logged else []:
        repository.note(one, old=held or NOTHING, new=new, message=message, at=session.reflog_time)

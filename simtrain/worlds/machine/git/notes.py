"""notes: texts about commits, kept in a history of their own."""

from dataclasses import dataclass

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, NOTHING, Commit, TreeEntry
from simtrain.worlds.machine.git.peeling import named_object
from simtrain.worlds.machine.git.session import GitSession, GitStop

_ACTIONS = ("list", "add", "copy", "append", "show", "remove", "prune", "get-ref")
_USAGE = "usage: git notes [--ref <notes-ref>] [list [<object>]]"
_DEFAULT = "refs/notes/commits"


def notes(session: GitSession) -> None:
    """List, show, add and remove notes."""
    words, ref = list(session.words), session.call.environment.get("GIT_NOTES_REF") or session.setting("core.notesref")
    if words and words[0].startswith("--ref"):
        word = words.pop(0)
        ref = word.partition("=")[2] or (words.pop(0) if words else "")
    action = words.pop(0) if words and not words[0].startswith("-") else "list"
    if action not in _ACTIONS:
        raise GitStop(f"error: unknown subcommand: `{action}'\n{_USAGE}", 129)
    book = _Notes(session, _full(ref or _DEFAULT), action)
    if action == "get-ref":
        session.say(book.ref)
    elif action in ("add", "append"):
        _write(session, book, words, action)
    elif action == "copy":
        _copy(session, book, words)
    else:
        _read_or_remove(session, book, words, action)


def noted(session: GitSession) -> dict[str, str]:
    """Return the notes that a log shows: their texts by the ids of commits."""
    ref = _full(session.call.environment.get("GIT_NOTES_REF") or session.setting("core.notesref") or _DEFAULT)
    if session.repository.ref(ref) is None:
        return {}
    book = _Notes(session, ref, "list")
    return {sha: book.text(note) for sha, note in book.all().items()}


def _full(name: str) -> str:
    if name.startswith("refs/notes/"):
        return name
    return f"refs/{name}" if name.startswith("notes/") else f"refs/notes/{name}"


@dataclass(slots=True)
class _Notes:
    """The notes of one ref."""

    session: GitSession
    ref: str
    action: str

    def all(self) -> dict[str, str]:
        """Return the ids of notes by the ids of their objects, sorted."""
        repository = self.session.repository
        sha = repository.ref(self.ref)
        tree = repository.commit(sha).tree if sha else EMPTY_TREE
        return {path.replace("/", ""): entry.sha for path, entry in repository.files(tree).items()}

    def put(self, sha: str, note: str | None) -> None:
        """Set or remove the note of an object, as a commit of the ref's history."""
        session, repository = self.session, self.session.repository
        held = self.all()
        if note is None:
            held.pop(sha, None)
        else:
            held[sha] = note
        old = repository.ref(self.ref)
        tree = repository.keep_tree({name: TreeEntry("100644", one) for name, one in sorted(held.items())})
        message = f"Notes {'removed' if self.action == 'remove' else 'added'} by 'git notes {self.action}'"
        author, committer = session.signature("AUTHOR"), session.signature("COMMITTER")
        new = repository.keep_commit(Commit(tree, (old,) if old else (), author, committer, f"{message}\n"))
        repository.set_ref(self.ref, new)
        log = f"notes: {message}"
        repository.note(self.ref, old=old or NOTHING, new=new, message=log, at=session.reflog_time)

    def text(self, note: str) -> str:
        """Return the text of a note."""
        return self.session.repository.blob(note).decode("utf-8", "surrogateescape")


def _object(session: GitSession, name: str) -> str:
    sha = named_object(session, name)
    if sha is None:
        raise GitStop(f"fatal: failed to resolve '{name}' as a valid ref.")
    return sha


def _write(session: GitSession, book: _Notes, words: list[str], action: str) -> None:
    parts, names, force = list[str](), list[str](), False
    while words:
        word = words.pop(0)
        name, _, value = word.partition("=")
        if word[:2] in ("-m", "-F") or name in ("--message", "--file"):
            short = word[:2] in ("-m", "-F")
            given = (word[2:] if short else value) or (words.pop(0) if words else "")
            is_file = word.startswith(("-F", "--file"))
            parts.append(
                (session.text_of(given, "fatal: could not open or read '{}'") if is_file else given).rstrip("\n")
            )
        elif word in ("-f", "--force"):
            force = True
        elif word.startswith("-") and word != "--allow-empty":
            raise GitStop(
                f"error: unknown {'option' if word[:2] == '--' else 'switch'} `{word.lstrip('-')}'\n{_USAGE}", 129
            )
        elif word != "--allow-empty":
            names.append(word)
    sha = _object(session, names[0] if names else "HEAD")
    held = book.all().get(sha)
    if action == "add" and held is not None:
        if not force:
            raise GitStop(
                f"error: Cannot add notes. Found existing notes for object {sha}. Use '-f' to overwrite existing notes",
                1,
            )
        session.warn(f"Overwriting existing notes for object {sha}")
    if not parts:
        raise GitStop(
            "error: Terminal is dumb, but EDITOR unset\nPlease supply the note contents using either -m or -F option",
            128,
        )
    if action == "append" and held is not None:
        parts.insert(0, book.text(held).rstrip("\n"))
    text = "\n\n".join(part for part in parts if part)
    if not text:
        session.warn(f"Removing note for object {sha}")
        if held is not None:
            book.put(sha, None)
        return
    book.put(sha, session.repository.keep_blob(f"{text}\n".encode("utf-8", "surrogateescape")))


def _copy(session: GitSession, book: _Notes, words: list[str]) -> None:
    names = [word for word in words if not word.startswith("-")]
    if not names:
        raise GitStop(f"error: too few arguments\n{_USAGE}", 129)
    source, target = _object(session, names[0]), _object(session, names[1] if len(names) > 1 else "HEAD")
    held = book.all()
    if target in held:
        if not {"-f", "--force"} & set(words):
            raise GitStop(
                f"error: Cannot copy notes. Found existing notes for object {target}. "
                "Use '-f' to overwrite existing notes",
                1,
            )
        session.warn(f"Overwriting existing notes for object {target}")
    if source not in held:
        raise GitStop(f"error: missing notes on source object {source}. Cannot copy.", 1)
    book.put(target, held[source])


def _read_or_remove(session: GitSession, book: _Notes, words: list[str], action: str) -> None:
    names, held = [word for word in words if not word.startswith("-")], book.all()
    if action == "prune":
        for sha in held:
            if session.repository.kind(sha) is None:
                if {"-n", "-v", "--dry-run", "--verbose"} & set(words):
                    session.say(sha)
                if not {"-n", "--dry-run"} & set(words):
                    book.put(sha, None)
    elif action == "list" and not names:
        session.output += [f"{note} {sha}\n" for sha, note in held.items()]
    elif action == "remove":
        for name in names or ["HEAD"]:
            sha = _object(session, name)
            if sha in held:
                session.warn(f"Removing note for object {name}")
                book.put(sha, None)
                continue
            session.warn(f"Object {name} has no note")
            session.code = session.code if "--ignore-missing" in words else 1
    else:
        sha = _object(session, names[0] if names else "HEAD")
        note = held.get(sha)
        if note is None:
            raise GitStop(f"error: no note found for object {sha}.", 1)
        session.output.append(book.text(note) if action == "show" else f"{note}\n")

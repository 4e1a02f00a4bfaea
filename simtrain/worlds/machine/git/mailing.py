"""am: makes commits of mails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from shlex import quote, split

from simtrain.worlds.handlers.git.objects import Commit, Signature, TreeEntry
from simtrain.worlds.machine.git.applying import back_to, check_local, put_result
from simtrain.worlds.machine.git.mail_applying import NoBase, applied, three_way
from simtrain.worlds.machine.git.mailbox import Mail, looks_like_mails, read_mail
from simtrain.worlds.machine.git.mailbox import split as split_mails
from simtrain.worlds.machine.git.messages import signed_off
from simtrain.worlds.machine.git.resetting import head_files
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option
from simtrain.worlds.machine.git.three_way import Merged

_FOLDER = "rebase-apply"
_RESUMING = {"--abort": "abort", "--continue": "continue", "--resolved": "continue", "-r": "continue", "--skip": "skip",
             "--quit": "quit", "--show-current-patch": "show", "--show-current-patch=raw": "show",
             "--show-current-patch=diff": "show-diff"}  # fmt: skip
_FLAGS = {"-3": "threeway", "--3way": "threeway", "--no-3way": "no-threeway", "-q": "quiet", "--quiet": "quiet",
          "-s": "sign", "--signoff": "sign", "-k": "keep", "--keep": "keep", "--allow-empty": "allow-empty",
          "--committer-date-is-author-date": "author-date", "--ignore-date": "ignore-date"}  # fmt: skip
_RESOLVE = (
    'When you have resolved this problem, run "git am --continue".\n'
    'If you prefer to skip this patch, run "git am --skip" instead.\n'
    'To restore the original branch and stop patching, run "git am --abort".'
)
_EMPTY = 'To record the empty patch as an empty commit, run "git am --allow-empty".'
_HINT = "hint: Use 'git am --show-current-patch=diff' to see the failed patch"
_NO_CHANGES = (
    "No changes - did you forget to use 'git add'?\n"
    "If there is nothing left to stage, chances are that something else\n"
    "already introduced the same changes; you might want to skip this patch."
)
_UNMERGED = (
    "You still have unmerged paths in your index.\n"
    "You should 'git add' each file with resolved conflicts to mark them as such.\n"
    'You might run `git rm` on a file to accept "deleted by them" for it.'
)


@dataclass(slots=True)
class _Applying:
    """Mails that are being applied: the number of the current one, of the last, and the flags of the call."""

    session: GitSession
    number: int = 1
    last: int = 0
    flags: set[str] = field(default_factory=set[str])

    def say(self, text: str) -> None:
        """Print a line unless the call is quiet."""
        if "quiet" not in self.flags:
            self.session.say(text)

    def stop(self, *, empty: bool = False) -> GitStop:
        """Say how to go on, and return what ends the call."""
        first, middle, last = _RESOLVE.split("\n")
        self.session.say("\n".join([first, middle, *([_EMPTY] if empty else []), last]))
        return GitStop("", 128)


def apply_mails(session: GitSession) -> None:
    """Make commits of the patches in mails."""
    flags, names, act = _read_words(session)
    repository = session.repository
    begun = repository.text(f"{_FOLDER}/applying") is not None
    if act:
        if not begun:
            raise GitStop("fatal: Resolve operation not in progress, we are not resuming.")
        _resume(_loaded(session, flags), act)
        return
    if begun:
        raise GitStop(f"fatal: previous rebase directory .git/{_FOLDER} still exists but mbox given.")
    texts = (
        [session.text_of(name, "fatal: could not open '{}' for reading") for name in names]
        if names
        else [session.call.stdin or ""]
    )
    if names and not looks_like_mails(texts[0]):
        raise GitStop("Patch format detection failed.")
    applying = _Applying(session, flags=flags)
    _begin(applying, [mail for text in texts for mail in split_mails(text)])
    if repository.index() != head_files(session):
        dirty = " ".join(_changed(repository.index(), head_files(session)))
        raise GitStop(f"fatal: Dirty index: cannot apply patches (dirty: {dirty})")
    _run(applying)


def _read_words(session: GitSession) -> tuple[set[str], list[str], str]:
    flags, names, act = set[str](), list[str](), ""
    words = list(session.words)
    while words:
        word = words.pop(0)
        if word in _RESUMING:
            act = _RESUMING[word]
        elif word in _FLAGS:
            flags.add(_FLAGS[word])
        elif word.startswith("-") and len(word) > 1:
            if word.startswith(("--whitespace", "--keep-", "--no-", "--patch-format", "-p", "-C", "-c", "--scissors")):
                continue
            if word in ("-u", "--utf8", "-i", "--interactive", "-m", "--message-id", "--ignore-whitespace", "-n"):
                continue
            raise unknown_option(word, "usage: git am [<options>] [(<mbox> | <Maildir>)...]")
        else:
            names.append(word)
    if session.setting("am.threeway") == "true" and "no-threeway" not in flags:
        flags.add("threeway")
    return flags, names, act


def _begin(applying: _Applying, mails: list[str]) -> None:
    session, repository, flags = applying.session, applying.session.repository, applying.flags
    head, applying.last = session.head, len(mails)
    for number, mail in enumerate(mails, 1):
        repository.put_text(f"{_FOLDER}/{number:04}", mail)
    states = {
        "applying": "", "apply-opt": "", "scissors": "", "quoted-cr": "", "utf8": "t\n", "messageid": "f\n",
        "next": "1\n", "last": f"{len(mails)}\n", "abort-safety": f"{head}\n" if head else "",
    }  # fmt: skip
    states |= {name: "t\n" if name in flags else "f\n" for name in ("threeway", "quiet", "sign", "keep")}
    for name, text in states.items():
        repository.put_text(f"{_FOLDER}/{name}", text)
    if head:
        repository.put_text("ORIG_HEAD", f"{head}\n")
    else:
        repository.drop("ORIG_HEAD")


def _loaded(session: GitSession, flags: set[str]) -> _Applying:
    def held(name: str) -> str:
        return (session.repository.text(f"{_FOLDER}/{name}") or "").strip()

    kept = {name for name in ("threeway", "quiet", "sign", "keep") if held(name) == "t"}
    return _Applying(session, int(held("next") or 1), int(held("last") or 0), flags | kept)


def _run(applying: _Applying) -> None:
    """Apply the mails that are left."""
    session, repository = applying.session, applying.session.repository
    while applying.number <= applying.last:
        mail = read_mail(repository.text(f"{_FOLDER}/{applying.number:04}") or "", keep="keep" in applying.flags)
        message = signed_off(session, mail.message) if "sign" in applying.flags else mail.message
        _note(applying, mail, message)
        if "diff " not in mail.patch and "@@ -" not in mail.patch:
            session.say("Patch is empty.")
            raise applying.stop(empty=True)
        applying.say(f"Applying: {mail.subject}")
        if _apply(applying, mail):
            _commit(applying, mail, message)
        _step(applying)
    repository.drop(_FOLDER)


def _note(applying: _Applying, mail: Mail, message: str) -> None:
    """Write the files that tell of the current mail."""
    script = "".join(
        f"GIT_AUTHOR_{name}={_always_quoted(value)}\n"
        for name, value in (("NAME", mail.name), ("EMAIL", mail.address), ("DATE", mail.date))
    )
    info = f"Author: {mail.name}\nEmail: {mail.address}\nSubject: {mail.subject}\nDate: {mail.date}\n\n"
    texts = {"author-script": script, "info": info, "msg": mail.body, "patch": mail.patch, "final-commit": message}
    for name, text in texts.items():
        applying.session.repository.put_text(f"{_FOLDER}/{name}", text)


def _always_quoted(text: str) -> str:
    shown = quote(text)
    return shown if shown.startswith("'") else f"'{shown}'"


def _step(applying: _Applying) -> None:
    repository = applying.session.repository
    applying.number += 1
    repository.put_text(f"{_FOLDER}/next", f"{applying.number}\n")
    repository.put_text(f"{_FOLDER}/abort-safety", f"{applying.session.head}\n")


def _apply(applying: _Applying, mail: Mail) -> bool:
    """Apply a patch to index and working tree; return whether there is anything to be committed. Raises GitStop."""
    session = applying.session
    done, refusals = applied(session, mail.patch)
    if done is not None:
        put_result(session, head_files(session), done)
        return True
    if "threeway" not in applying.flags:
        session.errors += [f"{line}\n" for line in refusals]
        raise _failed(applying, mail)
    head = head_files(session)
    try:
        merged, notes = three_way(session, mail.patch, mail.subject)
    except NoBase as missing:
        session.warn(
            f"error: sha1 information is lacking or useless ({missing}).\nerror: could not build fake ancestor"
        )
        raise _failed(applying, mail) from None
    applying.say("Using index info to reconstruct a base tree...")
    for note in notes:
        applying.say(note)
    applying.say("Falling back to patching base and 3-way merge...")
    check_local(session, head, merged, "merge", "merge")
    put_result(session, head, merged)
    for note in merged.notes:
        applying.say(note)
    if merged.conflicts:
        session.warn("error: Failed to merge in the changes.")
        raise _failed(applying, mail)
    if _has_no_changes(merged, head):
        applying.say("No changes -- Patch already applied.")
        return False
    return True


def _has_no_changes(merged: Merged, head: Mapping[str, TreeEntry]) -> bool:
    return {path: entry for (path, _), entry in merged.stages.items()} == dict(head)


def _failed(applying: _Applying, mail: Mail) -> GitStop:
    applying.session.say(f"Patch failed at {applying.number:04} {mail.subject}")
    applying.session.warn(_HINT)
    return applying.stop()


def _author(session: GitSession) -> Signature:
    """Return the author that is noted for the current mail."""
    script = session.repository.text(f"{_FOLDER}/author-script") or ""
    words = [word.partition("=")[2] for word in split(script)]
    try:
        at = parsedate_to_datetime(words[2]).isoformat()
    except ValueError:
        at = session.date(words[2])
    return Signature(words[0], words[1], at)


def _commit(applying: _Applying, mail: Mail, message: str) -> None:
    session, repository = applying.session, applying.session.repository
    head = session.head
    author, committer = _author(session), session.signature("COMMITTER")
    if "ignore-date" in applying.flags:
        author = Signature(author.name, author.email, session.now)
    if "author-date" in applying.flags:
        committer = Signature(committer.name, committer.email, author.at)
    if head is None:
        session.warn("applying to an empty history")
    tree = repository.keep_tree(repository.index())
    made = Commit(tree, (head,) if head else (), author, committer, message)
    session.move(repository.keep_commit(made), f"am: {mail.subject}")


# Going on, and giving up.


def _resume(applying: _Applying, act: str) -> None:
    session, repository = applying.session, applying.session.repository
    if act == "quit":
        repository.drop(_FOLDER)
    elif act == "show":
        session.output.append(repository.text(f"{_FOLDER}/{applying.number:04}") or "")
    elif act == "show-diff":
        session.output.append(repository.text(f"{_FOLDER}/patch") or "")
    elif act == "abort":
        _abort(session)
    elif act == "skip":
        if session.head:
            back_to(session, session.head)
        _step(applying)
        _run(applying)
    else:
        _go_on(applying)


def _go_on(applying: _Applying) -> None:
    """Commit what was resolved by hand, and apply the rest."""
    session, repository = applying.session, applying.session.repository
    message = repository.text(f"{_FOLDER}/final-commit") or ""
    mail = read_mail(repository.text(f"{_FOLDER}/{applying.number:04}") or "", keep="keep" in applying.flags)
    applying.say(f"Applying: {message.partition(chr(10))[0]}")
    if repository.index() == head_files(session) and not repository.conflicts():
        if "allow-empty" not in applying.flags:
            session.say(_NO_CHANGES)
            raise applying.stop()
    elif repository.conflicts():
        session.say(_UNMERGED)
        raise applying.stop()
    _commit(applying, mail, message)
    _step(applying)
    _run(applying)


def _abort(session: GitSession) -> None:
    repository = session.repository
    safe = (repository.text(f"{_FOLDER}/abort-safety") or "").strip()
    before = (repository.text("ORIG_HEAD") or "").strip()
    if safe != (session.head or ""):
        session.warn("warning: You seem to have moved HEAD since the last 'am' failure.\nNot rewinding to ORIG_HEAD")
    elif before:
        back_to(session, before)
        if before != session.head:
            session.move(before, "am --abort")
    repository.drop(_FOLDER)


def _changed(index: Mapping[str, TreeEntry], head: Mapping[str, TreeEntry]) -> list[str]:
    return sorted(path for path in {*index, *head} if index.get(path) != head.get(path))

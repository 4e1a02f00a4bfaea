"""format-patch: writes commits as mails."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from posixpath import join, normpath

from simtrain.worlds.handlers.git.deltas import Delta
from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Commit, Signature
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.listing import shortstat, summary
from simtrain.worlds.machine.git.mail_text import file_name, folded, is_plain, mail_stat, sender, whole_patch
from simtrain.worlds.machine.git.messages import signed_off, subject_of
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Range, commits, touching

_VERSION = "2.39.5"
_MIME = "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
_VALUES = {
    "-o": "folder", "--output-directory": "folder", "-v": "version", "--reroll-count": "version",
    "--start-number": "start", "--suffix": "suffix", "--subject-prefix": "prefix", "--signature": "signature",
    "--to": "to", "--cc": "cc", "--in-reply-to": "reply", "--add-header": "header", "-n": "most", "--max-count": "most",
    "-U": "context", "--unified": "context", "--output": "output",
}  # fmt: skip
_FLAGS = {
    "--stdout": "stdout", "-q": "quiet", "--quiet": "quiet", "--cover-letter": "cover", "--numbered-files": "plain",
    "-k": "keep", "--keep-subject": "keep", "--rfc": "rfc", "--no-stat": "bare", "-p": "bare", "--patch": "bare",
    "--no-signature": "unsigned", "-s": "signoff", "--signoff": "signoff", "--root": "root", "-n": "numbered",
    "--numbered": "numbered", "-N": "unnumbered", "--no-numbered": "unnumbered", "--zero-commit": "zero",
    "--always": "always", "--full-index": "full", "--shortstat": "shortstat", "--from": "from",
}  # fmt: skip
_IGNORED = {"--stat", "--patch-with-stat", "-M", "-C", "--no-renames", "--no-color", "--binary", "--no-cover-letter",
            "--no-attach", "--no-thread", "--thread", "--summary", "--no-to", "--no-cc", "--progress", "--no-base",
            "--minimal", "--histogram", "--patience", "--no-signoff", "--no-ext-diff", "--find-renames"}  # fmt: skip


@dataclass(slots=True)
class _Wish:
    """What is asked for: flags, values of options, revisions and paths."""

    flags: set[str] = field(default_factory=set[str])
    values: dict[str, str] = field(default_factory=dict[str, str])
    names: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])
    total: int = 0

    @property
    def start(self) -> int:
        """The number of the first mail."""
        return int(self.values.get("start", "1"))

    @property
    def version(self) -> str:
        """How the names of files begin."""
        return f"v{self.values['version']}-" if "version" in self.values else ""

    def subject_prefix(self, number: int) -> str:
        """Return what stands before the subject of a mail."""
        if "keep" in self.flags:
            return ""
        words = [self.values.get("prefix", "PATCH")]
        if "rfc" in self.flags:
            words.insert(0, "RFC")
        if self.version:
            words.append(self.version[:-1])
        if self.is_numbered:
            last = self.start + self.total - 1
            words.append(f"{number:0{len(str(last))}}/{last}")
        return f"[{' '.join(words)}] "

    @property
    def is_numbered(self) -> bool:
        """Whether subjects say which of how many mails one is."""
        asked = self.total > 1 or bool(self.flags & {"numbered", "cover"})
        return asked and "unnumbered" not in self.flags


def format_patch(session: GitSession) -> None:
    """Write commits as mails, each into a file, or all to stdout."""
    wish = _read_words(session)
    chosen = _chosen(session, wish)
    wish.total = len(chosen)
    if "cover" in wish.flags and chosen:
        cover = replace_name(file_name(0, "x", version=wish.version, suffix=_suffix(wish)), wish)
        _put(session, wish, cover, _cover(session, wish, chosen))
    for number, sha in enumerate(chosen, wish.start):
        subject = session.repository.commit(sha).message.strip("\n").partition("\n")[0]
        name = file_name(number, subject, version=wish.version, suffix=_suffix(wish))
        _put(session, wish, str(number) if "plain" in wish.flags else name, _mail(session, wish, sha, number))


def replace_name(name: str, wish: _Wish) -> str:
    """Return the name of the file for the cover letter."""
    return "0" if "plain" in wish.flags else name.replace("-x", "-cover-letter")


def _suffix(wish: _Wish) -> str:
    return wish.values.get("suffix", ".patch")


def _read_words(session: GitSession) -> _Wish:
    wish, words = _Wish(), list(session.words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            wish.paths += words
            break
        if re.fullmatch(r"-\d+", word):
            wish.values["most"] = word[1:]
        elif word in _FLAGS:
            wish.flags.add(_FLAGS[word])
        elif name == "--from":
            wish.values["from"] = value
        elif name in _VALUES and (equals or name != "-n"):
            wish.values[_VALUES[name]] = value if equals else next_word(words, word)
        elif word[:2] in _VALUES and not word.startswith("--"):
            wish.values[_VALUES[word[:2]]] = word[2:]
        elif word.startswith("-") and len(word) > 1 and name not in _IGNORED:
            raise GitStop(f"fatal: unrecognized argument: {word}")
        elif not word.startswith("-"):
            wish.names.append(word)
    return wish


def _chosen(session: GitSession, wish: _Wish) -> list[str]:
    """Return the commits of the mails, the oldest first."""
    asked, most = Range(), wish.values.get("most")
    for place, name in enumerate(wish.names):
        exists = session.call.files.exists(normpath(join(session.directory, name)))
        if not asked.take(session, name):
            if not exists:
                session.object(name)
            wish.paths += wish.names[place:]
            break
    if not asked.wanted and not asked.unwanted:
        upstream = session.repository.upstream(session.repository.head)
        if most is None and "root" not in wish.flags and upstream is None:
            return []
        asked.wanted = [session.head or ""]
        asked.unwanted = [session.commit_id(upstream)] if most is None and upstream else []
    elif not asked.wanted:
        asked.wanted = [session.head or ""]
    elif not asked.unwanted and most is None and "root" not in wish.flags and len(asked.wanted) == 1:
        asked = Range(wanted=[session.head or ""], unwanted=asked.wanted)
    found = commits(session, asked)
    if wish.paths:
        found = touching(session, found, session.paths(wish.paths))
    repository = session.repository
    found = [sha for sha in found if len(repository.commit(sha).parents) < 2]
    return (found[: int(most)] if most else found)[::-1]


def _put(session: GitSession, wish: _Wish, name: str, text: str) -> None:
    """Write a mail into its file, and say which."""
    if "stdout" in wish.flags:
        session.output.append(text)
        return
    files, folder = session.call.files, wish.values.get("folder") or session.setting("format.outputdirectory") or ""
    path = normpath(join(session.directory, folder, name))
    if "output" in wish.values:
        path = normpath(join(session.directory, wish.values["output"]))
        files.write(path, text.encode("utf-8", "surrogateescape"))
        return
    above = path.rpartition("/")[0]
    if not files.exists(above):
        files.make_directory(above, parents=True)
    files.write(path, text.encode("utf-8", "surrogateescape"))
    if "quiet" not in wish.flags:
        session.say(f"{folder.rstrip('/')}/{name}" if folder else name)


def _changes(session: GitSession, commit: Commit) -> list[Delta]:
    repository = session.repository
    base = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
    return compared(repository, repository.files(base), repository.files(commit.tree))


def _mail(session: GitSession, wish: _Wish, sha: str, number: int) -> str:
    commit = session.repository.commit(sha)
    found = _changes(session, commit)
    if not found and "always" not in wish.flags:
        return ""
    message = signed_off(session, commit.message, once=True) if "signoff" in wish.flags else commit.message
    subject, body = subject_of(message), message.strip("\n").partition("\n\n")[2].strip("\n")
    writer = _sender(session, wish)
    inner = ""
    if writer is not None and (writer.name, writer.email) != (commit.author.name, commit.author.email):
        inner = f"From: {commit.author.name} <{commit.author.email}>\n\n"
    else:
        writer = None
    who = commit.author if writer is None else replace(writer, at=commit.author.at)
    text = _headers(session, wish, sha, who, subject, number)
    text += "" if is_plain(subject) and (inner + body).isascii() else _MIME
    text += f"\n{inner}{body}{chr(10) if body else ''}"
    if "bare" in wish.flags or "shortstat" in wish.flags:
        text += "\n" + (f"{shortstat(found)}\n" if "shortstat" in wish.flags else "")
    elif found:
        text += f"---\n{mail_stat(found)}{summary(found)}\n"
    if found:
        short = str if "full" in wish.flags else session.repository.abbreviated
        text += whole_patch(found, context=int(wish.values.get("context", "3")), abbreviate=short)
    return text + _signature(session, wish)


def _sender(session: GitSession, wish: _Wish) -> Signature | None:
    """Return who sends the mails, if that need not be the author."""
    if "from" in wish.flags:
        return session.signature("COMMITTER")
    if "from" not in wish.values:
        return None
    name, _, mail = wish.values["from"].partition("<")
    return replace(session.signature("COMMITTER"), name=name.strip(), email=mail.rstrip(">"))


def _headers(session: GitSession, wish: _Wish, sha: str, who: Signature, subject: str, number: int) -> str:
    values, prefix = wish.values, f"Subject: {wish.subject_prefix(number)}"
    lines = [f"From {'0' * 40 if 'zero' in wish.flags else sha} Mon Sep 17 00:00:00 2001"]
    if "reply" in values:
        reply = values["reply"].strip("<>")
        lines += [f"In-Reply-To: <{reply}>", f"References: <{reply}>"]
    lines += [f"From: {sender(who)}", f"Date: {date_text(who, 'rfc', session.call.now)}"]
    lines.append(prefix + folded(subject, len(prefix)))
    lines += [values["header"]] if "header" in values else []
    lines += [f"{name.capitalize()}: {values[name]}" for name in ("to", "cc") if name in values]
    return "\n".join(lines) + "\n"


def _signature(session: GitSession, wish: _Wish) -> str:
    text = wish.values.get("signature", session.setting("format.signature"))
    text = _VERSION if text is None else text
    return "" if "unsigned" in wish.flags or not text else f"-- \n{text}\n\n"


def _cover(session: GitSession, wish: _Wish, chosen: Sequence[str]) -> str:
    """Return the cover letter: who made which commits, and what they change all together."""
    repository = session.repository
    first, last = repository.commit(chosen[0]), repository.commit(chosen[-1])
    who = session.signature("COMMITTER")
    text = _headers(session, wish, chosen[-1], who, "*** SUBJECT HERE ***", 0) + "\n*** BLURB HERE ***\n\n"
    authors: dict[str, list[str]] = {}
    for sha in chosen:
        commit = repository.commit(sha)
        authors.setdefault(commit.author.name, []).append(subject_of(commit.message))
    for name in sorted(authors):
        subjects = "".join(f"  {subject}\n" for subject in authors[name])
        text += f"{name} ({len(authors[name])}):\n{subjects}\n"
    if first.parents:
        base = repository.files(repository.commit(first.parents[0]).tree)
        found = compared(repository, base, repository.files(last.tree))
        text += f"{mail_stat(found)}{summary(found)}\n"
    return text + _signature(session, wish)

"""Commits as `git log` writes them: named formats, placeholders and dates (git help log, PRETTY FORMATS)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from simtrain.worlds.handlers.git.branches import shortened
from simtrain.worlds.handlers.git.objects import Commit, Signature
from simtrain.worlds.handlers.git.repository import HEADS, TAGS
from simtrain.worlds.machine.git.session import GitSession, GitStop

_PLACE = re.compile(
    r"%(?:x([0-9a-fA-F]{2})|C\([^)]*\)|C(?:red|green|blue|reset|yellow)"
    r"|([-+ ]?)(a[nNeEdDtriIsl]|c[nNeEdDtriIsl]|[HhTtPpsbBdDnfSNem%]|g[dDsne]|G[?GSKFPT])"
    r"|(<|>|><)\((\d+)(?:,(trunc|ltrunc|mtrunc))?\))"
)
_NAMED = {"oneline", "short", "medium", "full", "fuller", "reference", "raw"}
_UNITS = ((90, 1, "second"), (5400, 60, "minute"), (129_600, 3600, "hour"), (1_209_600, 86_400, "day"),
          (6_048_000, 604_800, "week"), (31_536_000, 2_592_000, "month"))  # fmt: skip


def date_text(who: Signature, style: str, now: float) -> str:
    """Return a time in one of the styles of --date."""
    when = who.moment
    if style.startswith("format:"):
        return when.strftime(style.removeprefix("format:"))
    if style in ("relative", "human"):
        return relative(when, now)
    styles = {
        "default": f"{when:%a %b} {when.day} {when:%H:%M:%S %Y %z}", "short": f"{when:%Y-%m-%d}",
        "iso": f"{when:%Y-%m-%d %H:%M:%S %z}", "iso8601": f"{when:%Y-%m-%d %H:%M:%S %z}", "iso-strict": _strict(when),
        "iso8601-strict": _strict(when), "rfc": f"{when:%a}, {when.day} {when:%b %Y %H:%M:%S %z}",
        "rfc2822": f"{when:%a}, {when.day} {when:%b %Y %H:%M:%S %z}", "unix": str(who.seconds),
        "raw": f"{who.seconds} {when:%z}", "local": f"{when:%a %b} {when.day} {when:%H:%M:%S %Y}",
    }  # fmt: skip
    if style not in styles:
        raise GitStop(f"fatal: unknown date format {style}")
    return styles[style]


def _strict(when: datetime) -> str:
    return when.isoformat()


def relative(when: datetime, now: float) -> str:
    """Return how long ago a time is, in git's words."""
    ago = int(now) - int(when.timestamp())
    if ago < 0:
        return "in the future"
    for limit, size, unit in _UNITS:
        if ago < limit:
            count = (ago + size // 2) // size if size > 1 else ago
            return f"{count} {unit}{'s' if count != 1 else ''} ago"
    months = (ago * 12 * 2 + 31_557_600) // (31_557_600 * 2)
    years, rest = divmod(months, 12)
    text = f"{years} year{'s' if years != 1 else ''}"
    if ago < 5 * 31_557_600 and rest:
        text += f", {rest} month{'s' if rest != 1 else ''}"
    return f"{text} ago"


@dataclass(frozen=True, slots=True)
class Move:
    """An entry of a log of refs: its name such as `HEAD@{1}`, who moved the ref, and why."""

    name: str
    by: Signature
    message: str


class CommitWriter:
    """Writes commits in one format. `move` is the entry of a log of refs that leads to the next one, if it is found by that."""

    def __init__(
        self, session: GitSession, form: str, *, date: str = "default", short_ids: bool = False, decorate: bool = False
    ) -> None:
        self._session = session
        self._date = date
        self._short = short_ids
        self._decorate = decorate
        self.separated = False
        """Whether a format separates commits (`format:`) instead of ending each with a newline (`tformat:`)."""
        if form.startswith(("format:", "tformat:")):
            self.separated = form.startswith("format:")
            self.form = form.partition(":")[2]
            self.custom = True
        elif "%" in form or not form:
            self.form, self.custom = form, True
        elif form in _NAMED:
            self.form, self.custom = form, False
        else:
            raise GitStop(f"fatal: invalid --pretty format: {form}")
        self._names: dict[str, list[str]] | None = None
        self.move: Move | None = None
        self.origin: str | None = None
        """The parent against which a merge is shown."""
        self.notes: Mapping[str, str] = {}
        self.mark = ""
        """The side from which the next commit is reached."""

    @property
    def is_line(self) -> bool:
        """Whether each commit is one block of lines without blank lines around it."""
        return self.custom or self.form in ("oneline", "reference")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written of a commit but its differences."""
        return self.custom and not self.form

    def text(self, sha: str) -> str:
        """Return a commit, without its differences; ends in a newline."""
        commit = self._session.repository.commit(sha)
        if self.custom:
            return self._filled(sha, commit, self.form) + ("\n" if self.form else "")
        shown = self._session.repository.abbreviated(sha) if self._short else sha
        subject = _subject(commit.message)
        marks = self._marks(sha) if self._decorate else ""
        if self.origin is not None:
            short_origin = self._session.repository.abbreviated(self.origin)
            marks = f" (from {short_origin if self._short else self.origin}){marks}"
        shown = f"{self.mark} {shown}" if self.mark else shown
        if self.form == "oneline" and self.move is not None:
            return f"{shown}{marks} {self.move.name}: {self.move.message}\n"
        if self.form == "oneline":
            return f"{shown}{marks} {subject}\n"
        if self.form == "reference":
            short = self._session.repository.abbreviated(sha)
            return f"{short} ({subject}, {date_text(commit.author, 'short', self._session.call.now)})\n"
        return self._block(shown + marks, commit, self.notes.get(sha))

    def _block(self, shown: str, commit: Commit, note: str | None) -> str:
        lines = [f"commit {shown}"]
        if self.move is not None:
            lines.append(f"Reflog: {self.move.name} ({self.move.by.name} <{self.move.by.email}>)")
            lines.append(f"Reflog message: {self.move.message}")
        if len(commit.parents) > 1 and self.form != "raw":
            lines.append("Merge: " + " ".join(self._session.repository.abbreviated(one) for one in commit.parents))
        author, committer = commit.author, commit.committer
        if self.form == "raw":
            lines += [f"tree {commit.tree}", *(f"parent {one}" for one in commit.parents)]
            lines += [f"author {author.encode()}", f"committer {committer.encode()}"]
        elif self.form == "fuller":
            lines += [f"Author:     {author.name} <{author.email}>", f"AuthorDate: {self._when(author)}"]
            lines += [f"Commit:     {committer.name} <{committer.email}>", f"CommitDate: {self._when(committer)}"]
        else:
            lines.append(f"Author: {author.name} <{author.email}>")
            if self.form == "full":
                lines.append(f"Commit: {committer.name} <{committer.email}>")
            elif self.form == "medium":
                lines.append(f"Date:   {self._when(author)}")
        message = commit.message.strip("\n")
        body = [_subject(message)] if self.form == "short" else message.split("\n")
        lines += ["", *(f"    {line}" for line in body)]
        if note is not None:
            lines += ["", "Notes:", *(f"    {line}" for line in note.strip("\n").split("\n"))]
        return "\n".join(lines) + "\n"

    def _when(self, who: Signature) -> str:
        return date_text(who, self._date, self._session.call.now)

    def names(self, sha: str) -> list[str]:
        """Return the refs that point at a commit, as --decorate lists them."""
        if self._names is None:
            repository, found = self._session.repository, dict[str, list[str]]()
            branch = self._session.branch
            if repository.ref("HEAD"):
                head = f"HEAD -> {branch}" if branch else "HEAD"
                found.setdefault(repository.ref("HEAD") or "", []).append(head)
            for ref in sorted(
                repository.refs(),
                key=lambda name: (not name.startswith(TAGS), not name.startswith("refs/remotes/"), name),
            ):
                target = repository.ref(ref)
                if target is None or ref == "refs/stash":
                    continue
                if repository.kind(target) == "tag":
                    target = repository.tag(target)
                if ref != f"{HEADS}{branch}":
                    name = f"tag: {shortened(ref)}" if ref.startswith(TAGS) else shortened(ref)
                    found.setdefault(target, []).append(name)
            self._names = found
        return self._names.get(sha, [])

    def _marks(self, sha: str) -> str:
        names = self.names(sha)
        return f" ({', '.join(names)})" if names else ""

    def _filled(self, sha: str, commit: Commit, form: str) -> str:
        column: list[tuple[str, int, str]] = []

        def put(found: re.Match[str]) -> str:
            if found[4]:
                column.append((found[4], int(found[5]), found[6] or ""))
                return ""
            text = filled(found)
            return _in_column(text, *column.pop()) if column and found[3] is not None else text

        def filled(found: re.Match[str]) -> str:
            if found[1]:
                return chr(int(found[1], 16))
            if found[3] is None:
                return ""
            text = self._place(found[3], sha, commit)
            if found[2] == "+":
                return f"\n{text}" if text else ""
            if found[2] == " ":
                return f" {text}" if text else ""
            return text

        return _PLACE.sub(put, form)

    def _place(self, name: str, sha: str, commit: Commit) -> str:
        short = self._session.repository.abbreviated
        if name[0] in "ac" and len(name) == 2:
            return self._person(name[1], commit.author if name[0] == "a" else commit.committer)
        subject, message = _subject(commit.message), commit.message.strip("\n")
        match name:
            case "H":
                return sha
            case "h":
                return short(sha)
            case "T":
                return commit.tree
            case "t":
                return short(commit.tree)
            case "P":
                return " ".join(commit.parents)
            case "p":
                return " ".join(short(one) for one in commit.parents)
            case "s":
                return subject
            case "f":
                return re.sub(r"[^A-Za-z0-9._]+", "-", subject).strip("-.")
            case "b":
                body = _body(message)
                return f"{body}\n" if body else ""
            case "B":
                return f"{message}\n"
            case "d":
                return self._marks(sha)
            case "D":
                return ", ".join(self.names(sha))
            case "n":
                return "\n"
            case "%":
                return "%"
            case "N":
                return self.notes.get(sha, "")
            case "m":
                return self.mark or ">"
            case "G?":
                return "N"
            case "gd":
                return self.move.name.removeprefix(HEADS).removeprefix("refs/") if self.move else ""
            case "gD":
                return self.move.name if self.move else ""
            case "gs":
                return self.move.message if self.move else ""
            case "gn":
                return self.move.by.name if self.move else ""
            case "ge":
                return self.move.by.email if self.move else ""
            case _:
                return ""

    def _person(self, letter: str, who: Signature) -> str:
        now = self._session.call.now
        styles = {"D": "rfc", "i": "iso", "I": "iso-strict", "s": "short", "t": "unix", "r": "relative"}
        if letter in "nN":
            return who.name
        if letter in "eE":
            return who.email
        if letter == "l":
            return who.email.partition("@")[0]
        return date_text(who, self._date if letter == "d" else styles[letter], now)


def _in_column(text: str, side: str, wide: int, cut: str) -> str:
    """Return a text as a column: `<` fills it up on the right, `>` on the left, `><` on both."""
    if len(text) > wide and cut:
        keep = max(0, wide - 2)
        half = keep // 2
        return {
            "trunc": text[:keep] + "..",
            "ltrunc": ".." + text[len(text) - keep :],
            "mtrunc": text[:half] + ".." + text[len(text) - (keep - half) :],
        }[cut]
    return text.ljust(wide) if side == "<" else text.rjust(wide) if side == ">" else text.center(wide)


def _subject(message: str) -> str:
    return " ".join(message.strip("\n").partition("\n\n")[0].split("\n"))


def _body(message: str) -> str:
    return message.partition("\n\n")[2].strip("\n")

"""Formats of refs: `%(refname:short)` and the other fields that `git help for-each-ref` lists."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from simtrain.worlds.handlers.git.objects import Signature
from simtrain.worlds.machine.git.formats import date_text
from simtrain.worlds.machine.git.peeling import peeled
from simtrain.worlds.machine.git.ref_names import styled_name, upstream_text
from simtrain.worlds.machine.git.session import GitSession, GitStop

_PEOPLE = ("author", "committer", "tagger")
_FIELDS = {
    "refname", "symref", "objecttype", "objectsize", "objectname", "deltabase", "tree", "parent", "numparent", "object",
    "type", "tag", "subject", "body", "contents", "upstream", "push", "HEAD", "color", "align", "if", "then", "else",
    "end", "worktreepath", "creator", "creatordate", "trailers", "version",
    *(who + part for who in _PEOPLE for part in ("", "name", "email", "date")),
}  # fmt: skip
_PART = re.compile(r"%%|%([0-9a-fA-F]{2})|%\(([^)]*)\)|%\(.*|[^%]+|%", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ref:
    """A ref of a list: its full name, the object that it leads to, and the ref that it stands for if it is a symbolic one."""

    name: str
    sha: str
    symbolic: str = ""


@dataclass(slots=True)
class _Block:
    """What has been written since an `%(if)` or `%(align)` that waits for its `%(end)`."""

    name: str = ""
    style: str = ""
    parts: list[str] = field(default_factory=list[str])
    met: bool | None = None
    chosen: str = ""

    @property
    def text(self) -> str:
        return "".join(self.parts)


class RefWriter:
    """Writes refs in one format. Raises GitStop for a format that is none."""

    def __init__(self, session: GitSession, form: str, *, quote: Callable[[str], str] = str) -> None:
        self._session = session
        self._quote = quote
        self._parts: list[tuple[str, bool]] = []
        for found in _PART.finditer(form):
            if found[1]:
                self._parts.append((chr(int(found[1], 16)), False))
            elif found[2] is not None:
                check_field(found[2])
                self._parts.append((found[2], True))
            elif found[0].startswith("%("):
                raise GitStop(
                    f"error: malformed format string {found[0]}\nusage: git for-each-ref [<options>] [<pattern>]", 129
                )
            else:
                self._parts.append(("%" if found[0] == "%%" else found[0], False))

    def text(self, ref: Ref) -> str:
        """Return a ref without a newline behind it."""
        stack = [_Block()]
        for part, is_field in self._parts:
            name, _, style = part.partition(":") if is_field else ("", "", "")
            if name in ("if", "align"):
                stack.append(_Block(name, style))
            elif name in ("then", "else", "end"):
                _turn(stack, name)
            elif is_field:
                value = field_text(self._session, ref, part)
                stack[-1].parts.append(value if len(stack) > 1 else self._quote(value))
            else:
                stack[-1].parts.append(part)
        if len(stack) > 1:
            raise GitStop("fatal: format: %(end) atom missing")
        return stack[0].text


def _turn(stack: list[_Block], name: str) -> None:
    """Close a part of a block, or the block."""
    block = stack[-1]
    if len(stack) == 1 or (name != "end" and block.name != "if"):
        raise GitStop(f"fatal: format: %({name}) atom used without {_MISSING[name]}")
    if name == "then":
        kind, _, value = block.style.partition("=")
        same = block.text == value
        block.met = same if kind == "equals" else not same if kind == "notequals" else bool(block.text.strip())
    elif name == "else":
        block.chosen = block.text if block.met else ""
    else:
        stack.pop()
        stack[-1].parts.append(_closed(block))
        return
    block.parts = []
    if name == "else":
        block.met, block.style = not block.met, "else"


_MISSING = {
    "then": "a %(if) atom", "else": "a %(if) atom", "end": "corresponding atom",
}  # fmt: skip


def _closed(block: _Block) -> str:
    if block.name == "align":
        return _aligned(block.text, block.style)
    if block.met is None:
        raise GitStop("fatal: format: %(if) atom used without a %(then) atom")
    return block.chosen + (block.text if block.met else "")


def _aligned(text: str, style: str) -> str:
    words = [word.rpartition("=")[2] for word in style.split(",")]
    wide = next((int(word) for word in words if word.isdigit()), None)
    if wide is None:
        raise GitStop("fatal: expected format: %(align:<width>,<position>)")
    missing = max(0, wide - len(text))
    left = missing if "right" in words else missing // 2 if "middle" in words else 0
    return " " * left + text + " " * (missing - left)


def check_field(name: str) -> None:
    """Raise GitStop for a field that is none."""
    plain = name.removeprefix("*").partition(":")[0]
    if plain not in _FIELDS:
        raise GitStop(f"fatal: unknown field name: {name}")


def field_text(session: GitSession, ref: Ref, name: str) -> str:
    """Return one field of a ref."""
    plain, _, style = name.partition(":")
    repository = session.repository
    if plain == "refname":
        return styled_name(repository, ref.name, style, plain) if ref.name.startswith("refs/") else ref.name
    if plain == "symref":
        return styled_name(repository, ref.symbolic, style, plain)
    if plain in ("upstream", "push"):
        return upstream_text(repository, ref.name, name)
    if plain == "HEAD":
        detached = not repository.head.startswith("refs/")
        return "*" if ref.name == repository.head or (detached and not ref.name.startswith("refs/")) else " "
    if plain == "worktreepath":
        return repository.path if ref.name == repository.head else ""
    if plain in ("color", "trailers"):
        return ""
    if plain.startswith("*"):
        end = peeled(repository, ref.sha)
        return _object_text(session, end, name[1:]) if end != ref.sha else ""
    return _object_text(session, ref.sha, name)


def _object_text(session: GitSession, sha: str, name: str) -> str:
    plain, _, style = name.partition(":")
    repository = session.repository
    kind = repository.kind(sha)
    match plain:
        case "objecttype":
            return kind or ""
        case "objectsize":
            return str(len(repository.content(sha)))
        case "deltabase":
            return "0" * 40
        case "objectname":
            return _id(session, sha, style)
        case "tree" | "parent" if kind == "commit":
            commit = repository.commit(sha)
            return " ".join(
                _id(session, one, style) for one in (commit.parents if plain == "parent" else [commit.tree])
            )
        case "numparent" if kind == "commit":
            return str(len(repository.commit(sha).parents))
        case "object" | "type" | "tag" if kind == "tag":
            tag = repository.tag_text(sha)
            return {"object": tag.target, "type": repository.kind(tag.target) or "", "tag": tag.name}[plain]
        case "subject" | "body" | "contents" if kind in ("commit", "tag"):
            return _message_text(repository.content(sha).decode("utf-8", "surrogateescape").partition("\n\n")[2], name)
        case _:
            return _person_text(session, sha, name)


def _id(session: GitSession, sha: str, style: str) -> str:
    if not style:
        return sha
    if not re.fullmatch(r"short(=\d+)?", style):
        raise GitStop(f"fatal: unrecognized %(objectname) argument: {style}")
    short, length = session.repository.abbreviated(sha), style.partition("=")[2]
    return max(sha[: int(length)], short[:4], key=len) if length.isdigit() else short


def _message_text(message: str, name: str) -> str:
    text = message.lstrip("\n")
    head, _, body = text.partition("\n\n")
    subject, body = " ".join(head.rstrip("\n").split("\n")), body.lstrip("\n")
    match name:
        case "contents":
            return text
        case "subject" | "contents:subject":
            return subject
        case "subject:sanitize":
            return re.sub(r"[^A-Za-z0-9._]+", "-", subject).strip("-.")
        case "body" | "contents:body":
            return body
        case "contents:size":
            return str(len(text.encode("utf-8", "surrogateescape")))
        case "contents:signature":
            return ""
        case _:
            style = name.partition(":")[2]
            if not style.startswith("lines=") or not style[6:].isdigit():
                raise GitStop(f"fatal: unrecognized %({name.partition(':')[0]}) argument: {style}")
            return "\n    ".join(text.rstrip("\n").split("\n")[: int(style[6:])])


def _person_text(session: GitSession, sha: str, name: str) -> str:
    plain, _, style = name.partition(":")
    if plain in ("creator", "creatordate"):
        role = "tagger" if session.repository.kind(sha) == "tag" else "committer"
        plain = plain.replace("creator", role)
    role = next((one for one in _PEOPLE if plain.startswith(one)), "")
    who = person(session, sha, role)
    if who is None:
        return ""
    match plain.removeprefix(role):
        case "name":
            return who.name
        case "email":
            shown = {"": f"<{who.email}>", "trim": who.email, "localpart": who.email.partition("@")[0]}
            if style not in shown:
                raise GitStop(f"fatal: unrecognized %({plain}) argument: {style}")
            return shown[style]
        case "date":
            return date_text(who, style or "default", session.call.now)
        case _:
            return who.encode()


def person(session: GitSession, sha: str, role: str) -> Signature | None:
    """Return the author or committer of a commit, or the tagger of a tag; None for another object."""
    repository = session.repository
    kind = repository.kind(sha)
    if kind == "commit" and role in ("author", "committer"):
        commit = repository.commit(sha)
        return commit.author if role == "author" else commit.committer
    return repository.tag_text(sha).tagger if kind == "tag" and role == "tagger" else None

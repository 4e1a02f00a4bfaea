"""Mails that hold patches: how they are told apart, and what is in one (git help mailinfo)."""

import re
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.utils import parseaddr

from simtrain.worlds.machine.git.messages import cleaned

_BEGIN = re.compile(r"^From \S.* \d\d:\d\d:\d\d .*$", re.MULTILINE)
_PREFIX = re.compile(r"\s*(?:\[[^\]]*\]|[Rr][Ee]:)\s*")
_PATCH = re.compile(r"^(?:---(?:\s*$| )|diff -|Index: )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail: who wrote the change, and when, in what words, and the patch."""

    name: str
    address: str
    date: str
    subject: str
    body: str
    patch: str

    @property
    def message(self) -> str:
        """The message of the commit."""
        return cleaned(f"{self.subject}\n\n{self.body}")


def split(text: str) -> list[str]:
    """Return the mails of a mailbox, one by one."""
    starts = [found.start() for found in _BEGIN.finditer(text)]
    if not starts:
        return [text] if text.strip() else []
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def looks_like_mails(text: str) -> bool:
    """Return whether a text begins as a mailbox or a mail does."""
    return bool(not text.strip() or text.startswith("From ") or re.match(r"[A-Za-z-]+: ", text))


def read_mail(text: str, *, keep: bool = False) -> Mail:
    """Return what a mail says; with `keep` the marks before its subject stay."""
    head, _, _ = text.partition("\n")
    plain = text[len(head) + 1 :] if head.startswith("From ") else text
    held = message_from_bytes(plain.encode("utf-8", "surrogateescape"), policy=policy.compat32)
    name, address = parseaddr(_decoded(held.get("From", "")))
    payload = held.get_payload(decode=True)
    content = payload.decode("utf-8", "surrogateescape") if isinstance(payload, bytes) else ""
    subject, date = _decoded(held.get("Subject", "")), str(held.get("Date", ""))
    inner = re.match(r"\s*From: (.*)\n+", content)
    if inner:
        name, address = parseaddr(inner[1])
        content = content[inner.end() :]
    if not keep:
        while found := _PREFIX.match(subject):
            subject = subject[found.end() :]
    begin = _PATCH.search(content)
    cut = begin.start() if begin else len(content)
    return Mail(name, address, date, subject.strip(), cleaned(content[:cut]), content[cut:])


def _decoded(text: object) -> str:
    return re.sub(r"\s*\n\s*", " ", str(make_header(decode_header(re.sub(r"\n[ \t]+", " ", str(text))))))

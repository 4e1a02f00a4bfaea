"""Describe a call in words, as far as the names of its tool and arguments tell."""

import re

from simtrain.agents.planned import Planned
from simtrain.agents.wording.view import ShownTexts
from simtrain.values.seeding import Stream
from simtrain.values.tool_words import PARTS, singular, tool_words

_READING = {
    "get": ("look up", "open", "read", "check"),
    "list": ("list", "go through", "get"),
    "search": ("search", "look through"),
}
_DOING = frozenset(
    {
        "accept", "add", "append", "apply", "approve", "archive", "assign", "book", "cancel", "change", "claim", "close", "collect",
        "compensate", "complete", "confirm", "create", "decline", "delete", "edit", "export", "grant", "invite", "issue", "join", "label",
        "leave", "link", "lock", "mark", "merge", "modify", "move", "open", "pay", "pin", "place", "post", "rebook", "refund", "release",
        "remove", "rename", "reopen", "reply", "rerun", "resolve", "respond", "restore", "return", "review", "revoke", "schedule", "send",
        "set", "solve", "split", "start", "stop", "submit", "tick", "transfer", "trash", "unlink", "untrash", "update", "upload",
        "void", "withdraw", "write"
    }
)  # fmt: skip
_ON_MACHINES = {
    "bash": ("run a command", "run a command in the shell", "use the shell"),
    "edit": ("edit the file", "change the file"),
    "glob": ("look for files",),
    "grep": ("search the files",),
    "keystrokes": ("type at the terminal", "use the terminal"),
    "read": ("read the file", "open the file"),
    "todo_write": ("write down what is to be done",),
    "write": ("write the file",),
}
_ADDRESSED = {"reply": "reply to", "respond": "respond to", "claim": "make a claim for", "review": "review"}
_ASKED = ("query", "text", "q", "search", "name", "title", "term", "keyword", "email")
# Such arguments say what is looked for, or when; they do not name a record.
_NO_KINDS = frozenset(
    {"name", "title", "date", "day", "since", "until", "from", "to", "cursor", "status", "query", "text"}
)
_DAY = re.compile(r"\d{4}-\d\d|\d\d:\d\d")
_FILLERS = frozenset({"by", "of", "the", "for", "and"})


def act(planned: Planned, view: ShownTexts, stream: Stream) -> str:
    """Return a description of a call, as an infinitive without `to`: `list the charges of customer C0012`."""
    if planned.tool in _ON_MACHINES:
        return stream.choose(_ON_MACHINES[planned.tool])
    server, _, rest = planned.tool.rpartition(".")
    words = [part.lower() for part in PARTS.findall(rest)]
    intent = tool_words(planned.tool).intent
    subject, by_id = _subject(planned, view)
    if intent in _READING and words and (words[0] not in _DOING or len(words) == 1):
        verb = stream.choose(_READING[str(intent)])
        nouns = _nouns(words[1:] or words, server, plural=intent != "get", bare=len(words) == 1)
        return _reading(verb, str(intent), nouns, subject, planned, view, bare=len(words) == 1)
    if words and words[0] in _DOING:
        return _doing(words, server, subject, by_id=by_id)
    nouns = " ".join(word for word in words if word not in _FILLERS)
    about = f" of {subject}" if subject else f" with {planned.tool}"
    return f"{stream.choose(('look at', 'check', 'ask for'))} the {nouns}{about}" if nouns else f"call {planned.tool}"


def _reading(
    verb: str, intent: str, nouns: str, subject: str, planned: Planned, view: ShownTexts, *, bare: bool
) -> str:
    if intent == "search":
        asked = next(
            (found for name in _ASKED if (found := view.named(planned.arguments.get(name)))), subject.rpartition(" ")[2]
        )
        return f"{verb} the {nouns} for {asked}" if asked else f"{verb} the {nouns}"
    if intent == "get" and subject and (bare or subject.startswith(f"{nouns} ")):
        return f"{verb} {subject}"
    return f"{verb} the {nouns}{f' of {subject}' if subject else ''}"


def _doing(words: list[str], server: str, subject: str, *, by_id: bool) -> str:
    verb = _ADDRESSED.get(words[0], words[0])
    rest = " ".join(word for word in words[1:] if word not in _FILLERS)
    kind = subject.partition(" ")[0]
    if not rest:
        own = singular(server.lower())
        if subject and (by_id or kind == own or own == server.lower()):
            return f"{verb} {subject}"
        return f"{verb} the {own or 'record'}{f' of {subject}' if subject else ''}"
    if subject and kind == singular(words[-1]):
        return f"{verb} {subject}"
    return f"{verb} the {rest}{f' of {subject}' if subject else ''}"


def _nouns(words: list[str], server: str, *, plural: bool, bare: bool) -> str:
    if bare:
        own = server.rpartition(".")[2].replace("_", " ").replace("-", " ").lower()
        return (own if plural else singular(own)) or "data"
    return " ".join(word for word in words if word not in _FILLERS) or "data"


def _subject(planned: Planned, view: ShownTexts) -> tuple[str, bool]:
    """Return the record that a call names, with its kind (`customer C0012`), and whether the argument is an id."""
    for name, value in planned.arguments.items():
        kind = name.removesuffix("_id")
        by_id = name != kind
        if (by_id or kind in ("id", "user") or (kind not in _NO_KINDS and _is_id(value))) and (
            text := view.named(value)
        ):
            return (text if kind == "id" else f"{kind.replace('_', ' ')} {text}"), by_id
    return "", False


def _is_id(value: object) -> bool:
    # Days and times have digits, too, but are not ids.
    if not isinstance(value, str) or " " in value or "@" in value or _DAY.match(value):
        return False
    return any(sign.isdigit() for sign in value) or (len(value) > 3 and value.isupper())

"""Find suspicious text in a server's descriptions: text aimed at the model rather than at the person who trusts the server.

The patterns follow published attacks on MCP clients: tool poisoning, hidden characters, shadowing of other servers' tools.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from unicodedata import category
from unicodedata import name as character_name

from simtrain.files.json_schemas import validator
from simtrain.mcp_wire.manifest import ServerManifest
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

SHOWN = 100
LONGEST = 200_000
"""Maximum characters of one text that are examined."""

PROSE = frozenset({"description", "title", "instructions", "name", "text", "message", "const", "default", "$comment"})


@dataclass(frozen=True)
class LintFinding:
    """A suspicious passage: the rule it breaks, its place, and its words with unprintable letters escaped."""

    server: str
    place: str
    rule: str
    words: str


_RULES: dict[str, re.Pattern[str]] = {
    "instructs the model": re.compile(
        r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|other|all|system|safety)\b[^.\n]{0,30}"
        r"\b(?:instructions?|prompts?|rules?|messages?|guidelines?|directions?)\b"
        r"|<\s*/?\s*(?:important|system|secret|hidden|instructions?|admin)\s*>"
        r"|\bsystem prompt\b|\byou are now\b|\[(?:INST|SYSTEM)\]|<\|[a-z_]+\|>"
        r"|\b(?:before|after|when(?:ever)?)\s+(?:using|calling|invoking|running|you (?:use|call|run))\s+(?:this|any|the|other|another)\b"
        r"[^.\n]{0,40}\b(?:tools?|functions?)\b[^.\n]{0,40}\b(?:must|always|first|should|need to)\b"
        r"|\byou (?:must|should) (?:always|first|never)\b[^.\n]{0,80}\b(?:tool|file|call|read|send|include)\b",
        re.IGNORECASE,
    ),
    "asks for secrecy": re.compile(
        r"\b(?:do not|don't|never|without|avoid)\s+(?:tell|mention|inform|reveal|show|notify|alert|disclos|telling|mentioning|informing|"
        r"revealing|notifying|alert)\w*\b[^.\n]{0,40}\b(?:user|human|person|anyone|them)\b"
        r"|\b(?:secretly|covertly|without the user(?:'s)? (?:knowing|knowledge|noticing|consent))\b",
        re.IGNORECASE,
    ),
    "leads data out": re.compile(
        r"~/\.(?:ssh|aws|config|netrc|cursor|kube|gnupg)|\bid_(?:rsa|ed25519|ecdsa)\b|/etc/(?:passwd|shadow)|\bmcp\.json\b"
        r"|\b(?:send|post|upload|forward|exfiltrate|transmit|leak|append|attach|include|copy)\w*\b[^.\n]{0,80}"
        r"\b(?:conversation|chat history|previous messages|system prompt|credentials?|api[ _-]?keys?|passwords?|private keys?|"
        r"environment variables|env vars|secrets)\b"
        r"|\b(?:send|post|upload|forward|bcc|exfiltrate)\w*\b[^.\n]{0,60}\bto\s+(?:https?://|[\w.+-]+@[\w-]+\.)",
        re.IGNORECASE,
    ),
    "hides markup": re.compile(r"<!--|\x1b\[|data:[\w/+.-]+;base64,|[A-Za-z0-9+/]{200,}={0,2}"),
}

_LEADING = r"(?:send|post|upload|forward|bcc|exfiltrate|transmit|leak|append|attach|include|copy)\w*"
_FORBIDDEN = re.compile(
    r"(?:\b(?:not|never|cannot)|n['’]t)\s+(?:ever\s+)?"
    rf"(?:{_LEADING}\s*(?:,\s*or\s|,\s*and\s|,|\s(?:or|and|nor)\s)\s*)*$",
    re.IGNORECASE,
)
_AFTER_ALL = re.compile(r"\b(?:except|but|unless|only|other than|apart from|besides)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.;\n]*")

# Next to emoji, the joiner and variation selectors are in ordinary use.
_JOINED = re.compile("(?<=[\u2600-\U0001faff])[\ufe0e\ufe0f\u200d]+|(?<=[0-9#*])\ufe0f\u20e3?")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)

_INSTEAD = re.compile(
    r"\b(?:instead|rather than|before|replac\w+|supersed\w+|do not use|don't use|deprecated|not use|when)\b", re.I
)


def lint(servers: Mapping[str, ServerManifest]) -> list[LintFinding]:
    """Return the suspicious passages of these servers, each once."""
    found = [finding for server in servers.values() for finding in _findings(server)]
    found += _shadows(servers)
    return list(dict.fromkeys(found))


def _findings(server: ServerManifest) -> Iterator[LintFinding]:
    for surface in server.surfaces:
        for place, text in _texts(surface.greeting, "greeting"):
            yield from _suspicions(server.name, place, text)
        for method in surface.lists:
            for item in surface.items(method):
                label = f"{method.partition('/')[0].removesuffix('s')} {item.get('name') or item.get('uri')}"
                for place, text in _texts(item, label):
                    yield from _suspicions(server.name, place, text)
        yield from _tool_findings(server.name, surface.items("tools/list"))


def _suspicions(server: str, place: str, text: str) -> Iterator[LintFinding]:
    # The patterns are applied to text from an untrusted server: length bounds their time.
    text = text[:LONGEST]
    for rule, pattern in _RULES.items():
        words = next(_matches(pattern, text), None)
        if words is not None:
            yield LintFinding(server, place, rule, _shown(words))
    # Emoji use the same joiners, so those are taken out first.
    hidden = _HIDDEN.search(_JOINED.sub("", text))
    if hidden is not None:
        letter = hidden[0]
        yield LintFinding(
            server, place, "hides characters", f"U+{ord(letter):04X} {character_name(letter, 'unnamed').lower()}"
        )


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the matching words, except in prohibitions: "do not include any passwords" is a warning, "include all passwords"
    an attack.
    """
    begin = 0
    while (match := pattern.search(text, begin)) is not None:
        # A prohibition may contain a request: skip only its first word, then search on.
        begin = match.start() + 1
        if not _is_forbidden(text, match):
            yield match[0]


def _is_forbidden(text: str, match: re.Match[str]) -> bool:
    """True if a negation precedes the verb, and nothing in the sentence takes it back."""
    if not re.match(_LEADING, match[0], re.IGNORECASE) or not _FORBIDDEN.search(
        text, max(0, match.start() - 80), match.start()
    ):
        return False
    sentence = _SENTENCE.match(text, match.start())
    return _AFTER_ALL.search(sentence[0] if sentence else match[0]) is None


def _tool_findings(server: str, tools: list[JsonObject]) -> Iterator[LintFinding]:
    seen: dict[str, str] = {}
    for tool in tools:
        name = str(tool.get("name"))
        place = f"tool {_shown(name)}"
        if name in seen:
            yield LintFinding(server, place, "is there twice", _shown(name))
        elif name.lower() in {other.lower() for other in seen}:
            yield LintFinding(server, place, "differs from another tool by case alone", _shown(name))
        seen[name] = place
        if not re.fullmatch(r"[A-Za-z0-9_./-]{1,128}", name):
            yield LintFinding(server, place, "has a name that clients may refuse", _shown(name))
        if not is_object(tool.get("inputSchema")) or tool["inputSchema"].get("type") != "object":
            yield LintFinding(
                server, place, "has an input schema whose type is not object", _shown(str(tool.get("inputSchema")))
            )
        for key in ("inputSchema", "outputSchema"):
            problem = _schema_problem(tool.get(key))
            if problem:
                yield LintFinding(server, place, f"has an invalid {key}", _shown(problem))


def _schema_problem(schema: JsonValue) -> str | None:
    if schema is None:
        return None
    if not is_object(schema):
        return "it is not an object"
    try:
        validator(schema)
    except ValueError as error:
        return str(error)
    return None


def _shadows(servers: Mapping[str, ServerManifest]) -> Iterator[LintFinding]:
    """Yield tools with the name of another server's tool, and descriptions that mention another server's tool."""
    tools = {name: server.tools for name, server in servers.items()}
    for name, own in tools.items():
        others = {str(tool.get("name")): other for other, theirs in tools.items() if other != name for tool in theirs}
        mine = {str(tool.get("name")) for tool in own}
        for tool in own:
            label = str(tool.get("name"))
            if label in others:
                yield LintFinding(name, f"tool {_shown(label)}", "has the name of another server's tool", others[label])
            description = str(tool.get("description") or "")
            for other, where in others.items():
                # Single words such as `search` occur in every description; a name of several words is a reference to the tool.
                if other in mine or not re.search(r"[_\-.]|[a-z][A-Z]", other):
                    continue
                if re.search(rf"(?<![\w-]){re.escape(other)}(?![\w-])", description) and _INSTEAD.search(description):
                    yield LintFinding(
                        name, f"tool {_shown(label)}", "talks about another server's tool", f"{where}: {other}"
                    )


def _texts(value: JsonValue, place: str, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts in a descriptor that a model may read, with their places."""
    if isinstance(value, str):
        if key in PROSE or key == "":
            yield place, value
    elif is_list(value):
        for number, item in enumerate(value):
            yield from _texts(item, f"{place}[{number}]")
    elif is_object(value):
        for name, item in value.items():
            yield from _texts(item, f"{place}.{name}", name)


def _shown(text: str) -> str:
    """Return a text for one line of output."""
    plain = "".join(
        letter if letter == " " or category(letter)[0] not in "CZ" else f"\\u{ord(letter):04x}"
        for letter in " ".join(text.split(" "))
    )
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}..."

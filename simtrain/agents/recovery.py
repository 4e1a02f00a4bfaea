"""General recovery skills: classify an error text, fix arguments by a schema, decide what to try next."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum

from simtrain.files.json_schemas import properties_of
from simtrain.values.types import JsonObject, JsonValue, Observation, is_list


class Trouble(StrEnum):
    """The kind of trouble that an error text reports."""

    ambiguous = "ambiguous"
    transient = "transient"
    arguments = "arguments"
    refused = "refused"


# A service's refusal may mention busy rooms, 502 euros or a payment gateway: only phrases about the server itself count.
_AMBIGUOUS = re.compile(
    r"\btime[d -]*out\b|internal server error|connection (?:reset|closed|lost|aborted)|bad gateway"
    r"|-32001\b|(?:^|\b(?:http|status|error|code)[ :]*)(?:500|502|504)\b",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"rate.?limit|too many requests|try(?:ing)? again|retry|temporar(?:y|ily)|(?:service|server|currently) (?:is )?unavailable"
    r"|overloaded|server (?:is )?busy|throttl|(?:^|\b(?:http|status|error|code)[ :]*)(?:429|503|529)\b",
    re.IGNORECASE,
)
_UNDONE = re.compile(r"\b(?:was|were) not (?:completed|processed)\b|\brolled back\b", re.IGNORECASE)
_ARGUMENTS = re.compile(
    r"invalid (?:arguments|params|input)|validation error|required propert|is not of type|is not one of|additional propert"
    r"|missing required",
    re.IGNORECASE,
)


def diagnose(text: str) -> Trouble:
    """Classify an error reply: the effect may have landed, it may be transient, the arguments are wrong, or it is a plain refusal."""
    # From sure to vague: a validation error often says "try again" too, and a rolled back write did not land.
    if _ARGUMENTS.search(text):
        return Trouble.arguments
    if _UNDONE.search(text):
        return Trouble.transient
    if _AMBIGUOUS.search(text):
        return Trouble.ambiguous
    return Trouble.transient if _TRANSIENT.search(text) else Trouble.refused


_OF_SHELLS = re.compile(
    r"^\[stopped after |^Killed$|^bash: fork: retry|^bash: line \d+: /usr/bin/\S+: |: write error: "
    r"|Temporary failure (?:in name resolution|resolving)|^curl: \(6\) Could not resolve host",
    re.MULTILINE,
)


def is_failure(reply: Observation) -> bool:
    """Return True for an error, and for a command line that failed for a reason that lies outside it.

    A shell's replies are no errors whatever the exit code; what happened is in its words.
    """
    if reply.is_error:
        return True
    content = reply.content or {}
    code = content.get("exit_code") if "stderr" in content else None
    return bool(code) and _OF_SHELLS.search(reply.text) is not None


_DONE = re.compile(
    r"\balready\b|\bexists\b|\bduplicate\b|\bhas been\b|\bno longer\b|\b(?:is|are) not (?:open|active|pending|scheduled|confirmed)\b",
    re.IGNORECASE,
)


def says_done(text: str) -> bool:
    """True if a refusal reads as if the action had already been done."""
    return _DONE.search(text) is not None


def mend(arguments: Mapping[str, JsonValue], schema: JsonObject) -> JsonObject:
    """Return the arguments fitted to a JSON Schema of an object, as far as names, types and enumerations allow."""
    properties = properties_of(schema)
    required = schema.get("required", [])
    missing = [name for name in required if name not in arguments]
    mended: JsonObject = {}
    for name, value in arguments.items():
        target = name if name in properties or not properties else _renamed(name, missing)
        if target is not None:
            mended[target] = _fitted(value, properties.get(target, {}))
    return mended


def _renamed(name: str, missing: list[str]) -> str | None:
    """Return the missing property that an unknown argument was meant for: the closest name, or the only missing one."""
    plain = {re.sub(r"[^a-z0-9]", "", other.lower()): other for other in missing}
    close = get_close_matches(re.sub(r"[^a-z0-9]", "", name.lower()), plain, n=1, cutoff=0.6)
    if close:
        return plain[close[0]]
    return missing[0] if len(missing) == 1 else None


def _fitted(value: JsonValue, schema: JsonObject) -> JsonValue:
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    choices = schema.get("enum", [])
    # A wrong enumeration value is usually another case or spelling of a right one.
    if choices and value not in choices:
        close = get_close_matches(str(value).lower(), [str(choice).lower() for choice in choices], n=1, cutoff=0.5)
        return next((choice for choice in choices if close and str(choice).lower() == close[0]), value)
    if kinds == ["array"] and not is_list(value):
        return [value]
    if "string" in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and "string" not in kinds:
        return _number(value, kinds)
    return value


def _number(text: str, kinds: list[str]) -> JsonValue:
    try:
        if "integer" in kinds:
            return int(text)
        if "number" in kinds:
            return float(text)
    except ValueError:
        return text
    if "boolean" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text

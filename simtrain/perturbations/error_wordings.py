"""Error bodies of services, in the manner of each server.

Manners follow the domain: services speak of statuses, in plain text or in one of several forms of JSON (problem+json after RFC 9457,
errors after JSON:API, ...), shells as programs do, screens as pages and dialogs do. A server has one manner, drawn by its seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from simtrain.contracts.perturbation import Call
from simtrain.perturbations.shell_replies import SHELLS, network_failure, printed, programs, typed
from simtrain.values.types import JsonObject, Observation, Provenance, encode

Kind: TypeAlias = Literal[
    "rate_limit",
    "quota",
    "internal",
    "bad_gateway",
    "unavailable",
    "timeout",
    "unauthorized",
    "forbidden",
    "not_found",
    "moved",
    "conflict",
    "storage_full",
    "validation",
]


@dataclass(frozen=True, slots=True)
class _Wording:
    """The wording of a kind of error: HTTP status and its phrase, a code, the message, and the forms for a shell and
    for a screen.
    """

    status: int
    phrase: str
    code: str
    message: str
    shell: str
    screen: str


_WORDINGS: dict[Kind, _Wording] = {
    "rate_limit": _Wording(
        429, "Too Many Requests", "rate_limit_exceeded", "Rate limit exceeded.",
        "fork: retry: Resource temporarily unavailable", "Too many requests",
    ),
    "quota": _Wording(
        429, "Too Many Requests", "quota_exceeded", "The quota of this account is used up.",
        "Disk quota exceeded", "You have reached the limit of your plan",
    ),
    "internal": _Wording(
        500, "Internal Server Error", "internal_error", "Internal server error.",
        "Input/output error", "Something went wrong",
    ),
    "bad_gateway": _Wording(
        502, "Bad Gateway", "bad_gateway", "Bad gateway: no valid response from upstream.",
        "Connection reset by peer", "Bad gateway",
    ),
    "unavailable": _Wording(
        503, "Service Unavailable", "service_unavailable", "Service unavailable.",
        "Resource temporarily unavailable", "This service is currently unavailable",
    ),
    "timeout": _Wording(
        504, "Gateway Timeout", "timeout", "The request timed out.",
        "Connection timed out", "This is taking too long: the request timed out",
    ),
    "unauthorized": _Wording(
        401, "Unauthorized", "token_expired", "The access token has expired.",
        "Key has expired", "Your session has expired. Sign in to continue",
    ),
    "forbidden": _Wording(
        403, "Forbidden", "permission_denied", "Permission denied.",
        "Permission denied", "You do not have permission to do this",
    ),
    "not_found": _Wording(
        404, "Not Found", "not_found", "Not found.",
        "No such file or directory", "We could not find that",
    ),
    "moved": _Wording(
        301, "Moved Permanently", "moved_permanently", "The page has moved.",
        "Object is remote", "This page has moved",
    ),
    "conflict": _Wording(
        409, "Conflict", "conflict", "The resource was changed by somebody else.",
        "Resource busy", "Somebody else has changed this",
    ),
    "storage_full": _Wording(
        507, "Insufficient Storage", "storage_full", "There is no storage left.",
        "No space left on device", "Storage is full",
    ),
    "validation": _Wording(
        422, "Unprocessable Content", "validation_error", "Validation error.",
        "Invalid argument", "Please check what you have entered",
    ),
}  # fmt: skip


def _nested(wording: _Wording, message: str, later: JsonObject) -> str:
    return encode({"error": {"code": wording.status, "type": wording.code, "message": message, **later}})


def _flat(wording: _Wording, message: str, later: JsonObject) -> str:
    return encode({"status": wording.status, "error": wording.code, "message": message, **later})


def _problem(wording: _Wording, message: str, later: JsonObject) -> str:
    """Return an error body after RFC 9457."""
    about: JsonObject = {"type": "about:blank", "title": wording.phrase, "status": wording.status}
    return encode({**about, "detail": message, **later})


def _listed(wording: _Wording, message: str, later: JsonObject) -> str:
    """Return an error body after JSON:API."""
    error = {"status": str(wording.status), "code": wording.code, "title": wording.phrase, "detail": message}
    return encode({"errors": [error], **({"meta": later} if later else {})})


def _raised(wording: _Wording, message: str, later: JsonObject) -> str:
    """Return the text of a server that passes on the exception of its HTTP client."""
    return f"Request failed with status code {wording.status} ({wording.code}): {message}"


def _plain(wording: _Wording, message: str, later: JsonObject) -> str:
    return f"{wording.status} {wording.phrase}: {message}"


MANNERS: dict[str, Callable[[_Wording, str, JsonObject], str]] = {
    "plain": _plain,
    "nested": _nested,
    "flat": _flat,
    "problem": _problem,
    "listed": _listed,
    "raised": _raised,
}
"""Manner -> the function that writes an error; a server's seed chooses one."""

SCREENS = frozenset({"web", "android", "os"})


def manner_of(call: Call) -> str:
    """Return the name of the manner in which the called tool's server writes errors."""
    # By server and not by call: a real server words all its errors in one format.
    return tuple(MANNERS)[call.manners % len(MANNERS)]


def refusal(
    call: Call,
    kind: Kind,
    *,
    by: str,
    detail: str = "",
    retry_after: int | None = None,
) -> Observation:
    """Return the error observation that a call gets from its server; `by` names the perturbation.

    `detail` are further sentences, `retry_after` seconds of virtual time.
    """
    wording = _WORDINGS[kind]
    later = "" if retry_after is None else f"Try again in {retry_after} seconds."
    command = typed(call)
    # A tool checks its arguments before its shell sees them.
    if command is not None and kind != "validation":
        return _in_shell(call, kind, command, wording.shell, detail, by=by)
    # A shell has no HTTP statuses and a screen no JSON: an error in the wrong format would look simulated.
    if call.domain in SHELLS:
        text = f"bash: {wording.shell}{f' ({detail})' if detail else ''}"
    elif call.domain in SCREENS:
        text = " ".join(part for part in (f"{wording.screen}.", detail, later) if part)
    else:
        message = " ".join(part for part in (wording.message, detail, later) if part)
        text = MANNERS[manner_of(call)](wording, message, {} if retry_after is None else {"retry_after": retry_after})
    return Observation(text, is_error=True, provenance=Provenance(by))


UNPROCESSED = "The request was not processed."
"""What services add where a call has had no effect. Shells do not say so."""


def _in_shell(call: Call, kind: Kind, command: str, words: str, detail: str, *, by: str) -> Observation:
    """Return a failed command line: as the kernel, or the first program that needs what is not there, words it."""
    said = "" if detail == UNPROCESSED else detail
    program = next(iter(programs(command)), "bash")
    failure = network_failure(command) if kind in ("bad_gateway", "unavailable") and not said else None
    if kind == "bad_gateway":
        words = "Input/output error"
    if failure is not None:
        text, code = failure
    elif kind == "internal":
        text, code = "Killed", 137
    elif kind == "forbidden":
        text, code = f"bash: line 1: /usr/bin/{program}: Permission denied", 126
    elif kind in ("rate_limit", "unavailable"):
        text, code = "bash: fork: retry: Resource temporarily unavailable", 254
    elif kind in ("quota", "storage_full"):
        text, code = f"{program}: write error: {words}", 1
    else:
        text, code = f"bash: line 1: /usr/bin/{program}: {words}", 126
    return printed(call, f"{text}\n{said}" if said else text, exit_code=code, by=by)

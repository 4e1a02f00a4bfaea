"""What a service says when something goes wrong: the bodies of errors, in the manner of the server that says them.

Manners follow the domain: services speak of statuses, in plain text or in one of several forms of JSON (problem+json after RFC 9457,
errors after JSON:API, ...), shells as programs do, screens as pages and dialogs do. A server has one manner, drawn by its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from simtrain.contracts.perturbation import Call
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
    """How a kind of error is worded: HTTP status and its phrase, a code, what is said, and what a shell and a screen say instead."""

    status: int
    phrase: str
    code: str
    said: str
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


@dataclass(frozen=True, slots=True)
class _Said:
    """One error to be written: its wording, the whole message, and the seconds after which to come back."""

    wording: _Wording
    message: str
    retry_after: int | None


def _plain(said: _Said) -> str:
    return f"{said.wording.status} {said.wording.phrase}: {said.message}"


def _nested(said: _Said) -> str:
    error: JsonObject = {"code": said.wording.status, "type": said.wording.code, "message": said.message}
    return encode({"error": {**error, **_later(said)}})


def _flat(said: _Said) -> str:
    return encode({"status": said.wording.status, "error": said.wording.code, "message": said.message, **_later(said)})


def _problem(said: _Said) -> str:
    """RFC 9457."""
    title, status = said.wording.phrase, said.wording.status
    return encode({"type": "about:blank", "title": title, "status": status, "detail": said.message, **_later(said)})


def _listed(said: _Said) -> str:
    """JSON:API."""
    wording = said.wording
    error = {"status": str(wording.status), "code": wording.code, "title": wording.phrase, "detail": said.message}
    return encode({"errors": [error], **({"meta": later} if (later := _later(said)) else {})})


def _raised(said: _Said) -> str:
    """As a server says that passes on what its HTTP client raised."""
    return f"Request failed with status code {said.wording.status} ({said.wording.code}): {said.message}"


def _later(said: _Said) -> JsonObject:
    return {} if said.retry_after is None else {"retry_after": said.retry_after}


MANNERS: dict[str, Callable[[_Said], str]] = {
    "plain": _plain,
    "nested": _nested,
    "flat": _flat,
    "problem": _problem,
    "listed": _listed,
    "raised": _raised,
}
"""How services write an error, by name; a server's seed chooses one."""

SHELLS = frozenset({"terminal", "swe"})
SCREENS = frozenset({"web", "android", "os"})


def manner_of(call: Call) -> str:
    """Return the name of the manner in which the called tool's server writes errors."""
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
    text = _worded(call, wording, detail=detail, retry_after=retry_after)
    return Observation(text, is_error=True, provenance=Provenance(by))


def _worded(call: Call, wording: _Wording, *, detail: str, retry_after: int | None) -> str:
    later = "" if retry_after is None else f"Try again in {retry_after} seconds."
    if call.domain in SHELLS:
        return " ".join(part for part in (f"bash: {wording.shell}", detail and f"({detail})") if part)
    if call.domain in SCREENS:
        return " ".join(part for part in (f"{wording.screen}.", detail, later) if part)
    message = " ".join(part for part in (wording.said, detail, later) if part)
    return MANNERS[manner_of(call)](_Said(wording, message, retry_after))

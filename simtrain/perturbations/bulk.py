"""Bulk that services add around the requested data: logs, traces, histories, links, metadata, previews. None of it is
about the task.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Literal, TypeAlias

from simtrain.values.clock import stamp
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, encode, is_list, is_object

Bulk: TypeAlias = Literal["debug", "trace", "history", "links", "metadata", "preview"]

_LEVELS = ("DEBUG", "DEBUG", "DEBUG", "INFO", "TRACE")
_EVENTS = (
    "cache miss key={key}", "cache hit key={key}", "acquired connection {number} from pool", "released connection {number} to pool",
    "query plan {key} reused", "serialised {number} bytes", "span {key} closed after {number} us", "feature flag {key} is off",
    "retry budget {number} left", "header x-trace-id={key}",
)  # fmt: skip
_SPANS = (
    "gateway",
    "authorize",
    "rate-check",
    "resolve-tenant",
    "load",
    "hydrate",
    "policy",
    "cache.lookup",
    "db.query",
    "render",
)
_ACTORS = ("svc-indexer", "svc-sync", "svc-replicator", "svc-retention", "svc-search", "svc-webhooks")
_ACTIONS = (
    "reindexed",
    "replicated",
    "cache_invalidated",
    "webhook_delivered",
    "retention_checked",
    "etag_renewed",
    "acl_evaluated",
)
_RELATIONS = (
    "self",
    "canonical",
    "collection",
    "up",
    "related",
    "subscriptions",
    "activity",
    "permissions",
    "watchers",
    "exports",
)
_SCOPES = ("read", "list", "export", "share", "subscribe", "annotate", "archive", "audit")
_JPEG = bytes.fromhex("ffd8ffe000104a46494600010100004800480000")


def bulk(kind: Bulk, rng: Stream, size: int, moment: float) -> JsonValue:
    """Return about this many characters of a kind, as a service would send them at that moment."""
    if kind == "preview":
        return _preview(rng, size)
    item = _ITEMS[kind]
    listed: list[JsonValue] = []
    while size > 0:
        # Backwards from now: services list the newest entry first.
        moment -= rng.number(0.01, 4000.0 if kind == "history" else 0.3)
        listed.append(item(rng, moment))
        size -= len(encode(listed[-1])) + 1
    return listed


def as_lines(kind: Bulk, value: JsonValue) -> list[str]:
    """Return a bulk value as lines of a text reply."""
    if is_list(value):
        return [item if isinstance(item, str) else f"{kind}: {_flat(item)}" for item in value]
    assert is_object(value)
    return [f"data:{value['content_type']};base64,{value['data']}"]


def _flat(value: JsonValue) -> str:
    if not is_object(value):
        return encode(value)
    return " ".join(f"{name}={_flat(item) if is_object(item) else item}" for name, item in value.items())


def _hex(rng: Stream, digits: int = 8) -> str:
    return f"{rng.integer(0, 16**digits - 1):0{digits}x}"


def _log(rng: Stream, moment: float) -> JsonValue:
    event = rng.choose(_EVENTS).format(key=_hex(rng), number=rng.integer(1, 9999))
    return f"{stamp(moment)} {rng.choose(_LEVELS)} worker-{rng.integer(1, 16)} {event}"


def _span(rng: Stream, moment: float) -> JsonValue:
    inner: list[JsonValue] = [
        {"span": rng.choose(_SPANS), "span_id": _hex(rng), "duration_us": rng.integer(3, 9000), "tags": {"shard": rng.integer(0, 63)}}
        for _ in range(rng.integer(1, 4))
    ]  # fmt: skip
    return {"span": rng.choose(_SPANS), "span_id": _hex(rng), "started": stamp(moment), "children": inner}


def _entry(rng: Stream, moment: float) -> JsonValue:
    changed: JsonObject = {"etag": [_hex(rng), _hex(rng)], "revision": rng.integer(1, 900)}
    return {"at": stamp(moment), "actor": rng.choose(_ACTORS), "action": rng.choose(_ACTIONS), "detail": changed}


def _link(rng: Stream, moment: float) -> JsonValue:
    relation = rng.choose(_RELATIONS)
    return {
        "rel": relation,
        "href": f"/api/v{rng.integer(1, 4)}/{relation}/{_hex(rng)}?expand={rng.choose(_SCOPES)}",
        "method": "GET",
        "type": "application/json",
        "templated": rng.random() < 0.3,
    }


def _facet(rng: Stream, moment: float) -> JsonValue:
    granted: JsonObject = {
        scope: {"allowed": rng.random() < 0.8, "policy": _hex(rng, 6)} for scope in rng.sample(_SCOPES, 3)
    }
    cached: JsonObject = {"etag": f'W/"{_hex(rng)}"', "region": f"r{rng.integer(1, 9)}", "ttl_s": rng.integer(5, 900)}
    return {"facet": f"x-{_hex(rng, 4)}", "acl": granted, "cache": cached}


def _preview(rng: Stream, size: int) -> JsonObject:
    drawn = bytes(rng.integer(0, 255) for _ in range(min(max(size * 3 // 4, 24), 96)))
    # A picture of one tone repeats itself, and only its beginning is worth drawing byte by byte.
    body = (drawn * (size // len(drawn) + 1))[: max(size * 3 // 4, 24)]
    return {"content_type": "image/jpeg", "encoding": "base64", "data": b64encode(_JPEG + body).decode()}


_ITEMS: dict[Bulk, Callable[[Stream, float], JsonValue]] = {
    "debug": _log, "trace": _span, "history": _entry, "links": _link, "metadata": _facet,
}  # fmt: skip

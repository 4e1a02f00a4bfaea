"""The search box of the chat workspace."""

from simtrain.contracts.handler import HandlerContext
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.operator_search import Box, search

_PERSON = "iif(lower(:value) = 'me', (select name from me), lower(ltrim(:value, '@')))"

BOX = Box(
    reply="messages",
    page=20,
    hits="""
        select json_object('channel', c.channel, 'ts', c.ts, 'user', json(c."user:json"), 'text', c.text, 'thread_ts', c.thread_ts,
            'posted_at', c.posted_at, 'edited_at', c.edited_at, 'reply_count', c.reply_count, 'reactions', json(c."reactions:json"),
            'files', json(c."files:json"), 'pinned', json(iif(c."pinned:bool", 'true', 'false')), 'permalink', c.permalink)
        from cards c where {where} order by c.posted_at desc, c.ts desc
    """,
    words="instr(lower(c.text), lower(:value))",
    operators={
        "in": "c.channel_name = lower(ltrim(:value, '#')) or c.channel = :value",
        "from": f"(select name from users where id = c.author) = {_PERSON}",
        "with": f"instr(c.text, '<@' || (select id from users where name = {_PERSON}) || '>')",
        "has": "case lower(:value) when 'file' then json_array_length(c.\"files:json\") "
        "when 'reaction' then json_array_length(c.\"reactions:json\") when 'pin' then c.\"pinned:bool\" "
        "else exists (select 1 from reactions r where r.channel = c.channel and r.ts = c.ts and r.emoji = trim(lower(:value), ':')) end",
    },
    choices={"is": {"thread": "c.reply_count > 0", "reply": "c.thread_ts is not null"}},
    days={
        "after": "substr(c.posted_at, 1, 10) > :value",
        "before": "substr(c.posted_at, 1, 10) < :value",
        "on": "substr(c.posted_at, 1, 10) = :value",
    },
)


def search_messages(context: HandlerContext) -> JsonObject:
    """Return messages that match `query`, the newest first; needs the views `cards` and `me` of the shipped messenger."""
    return search(context, BOX)

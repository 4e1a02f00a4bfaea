"""The search box of the mailbox."""

from dataclasses import replace

from simtrain.contracts.handler import HandlerContext
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.operator_search import Box, search

_ADDRESS = "iif(lower(:value) = 'me', (select email from me), lower(:value))"
_LABELLED = "exists (select 1 from thread_labels where thread = t.id and label = '{}')"
_DISCARDING = ("in:trash", "in:spam", "in:anywhere")

_EVERYWHERE = Box(
    reply="threads",
    page=20,
    hits="""
        select json_object('id', t.id, 'subject', t.subject, 'snippet', t.snippet, 'last_sender', t.last_sender,
            'last_sent_at', t.last_sent_at, 'message_count', t.message_count, 'attachment_count', t.attachment_count,
            'labels', json(t."labels:json"))
        from thread_cards t where exists (select 1 from messages m where m.thread = t.id and {where})
        order by t.last_sent_at desc, t.id
    """,
    # `instr` and not `like`: an underscore or a per cent sign in a query is no wildcard.
    words="instr(lower(t.subject || ' ' || m.body), lower(:value))",
    operators={
        "from": f"instr(m.sender, {_ADDRESS})",
        "to": f"instr(m.recipients || m.cc, {_ADDRESS})",
        "subject": "instr(lower(t.subject), lower(:value))",
        "label": "exists (select 1 from thread_labels x join labels l on l.id = x.label where x.thread = t.id and l.name = :value)",
        "filename": "exists (select 1 from attachments a where a.message = m.id and instr(lower(a.filename), lower(:value)))",
    },
    choices={
        "in": {
            "inbox": _LABELLED.format("INBOX"),
            "sent": "m.sender = (select email from me)",
            "archive": f"not ({_LABELLED.format('INBOX')} or t.discarded)",
            "trash": _LABELLED.format("TRASH"),
            "spam": _LABELLED.format("SPAM"),
            "anywhere": "1",
        },
        "is": {
            "unread": _LABELLED.format("UNREAD"),
            "read": f"not {_LABELLED.format('UNREAD')}",
            "starred": _LABELLED.format("STARRED"),
            "important": _LABELLED.format("IMPORTANT"),
        },
        "has": {"attachment": "exists (select 1 from attachments a where a.message = m.id)"},
    },
    days={"after": "substr(m.sent_at, 1, 10) >= :value", "before": "substr(m.sent_at, 1, 10) < :value"},
    ages={"newer_than": "substr(m.sent_at, 1, 10) >= :value", "older_than": "substr(m.sent_at, 1, 10) < :value"},
)
_KEPT = replace(_EVERYWHERE, hits=_EVERYWHERE.hits.replace("where exists", "where not t.discarded and exists"))


def search_mail(context: HandlerContext) -> JsonObject:
    """Return threads with a message that matches `query`, the latest first; trash and spam only where the query names them.

    Needs the views `thread_cards` and `me` of the shipped mailbox.
    """
    query = str(context.arguments["query"]).lower()
    return search(context, _EVERYWHERE if any(term in query for term in _DISCARDING) else _KEPT)

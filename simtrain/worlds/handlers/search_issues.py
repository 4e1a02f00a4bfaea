"""The search box of the issue tracker."""

from simtrain.contracts.handler import HandlerContext
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.operator_search import Box, search

_CLOSED = "c.state_type in ('completed', 'canceled')"

BOX = Box(
    reply="issues",
    page=20,
    hits="""
        select json_object('id', c.id, 'title', c.title, 'team', c.team, 'state', json(c."state:json"), 'priority', c.priority,
            'estimate', c.estimate, 'assignee', json(c."assignee:json"), 'project', json(c."project:json"),
            'cycle', json(c."cycle:json"), 'parent', c.parent, 'labels', json(c."labels:json"), 'due_on', c.due_on,
            'created_at', c.created_at, 'updated_at', c.updated_at, 'finished_at', c.finished_at, 'archived_at', c.archived_at)
        from cards c where {where} order by c.created_at desc, c.id
    """,
    words="instr(lower(c.title || ' ' || c.body), lower(:value))",
    operators={
        "team": "c.team = upper(:value)",
        "state": "lower(c.state) = lower(:value)",
        "assignee": "coalesce((select handle from users where id = c.assignee), 'none') = "
        "iif(lower(:value) = 'me', (select handle from me), lower(:value))",
        "creator": "(select handle from users where id = c.creator) = "
        "iif(lower(:value) = 'me', (select handle from me), lower(:value))",
        "label": 'exists (select 1 from json_each(c."labels:json") where value = :value)',
        "project": "lower((select name from projects where id = c.project)) = lower(:value)",
        "priority": "c.priority = cast(:value as integer)",
    },
    choices={
        "is": {
            "open": f"not {_CLOSED}",
            "closed": _CLOSED,
            "blocked": "exists (select 1 from open_blockers where issue = c.id)",
            "parent": "exists (select 1 from issues where parent = c.id)",
            "archived": "c.archived_at is not null",
        }
    },
    days={
        "created": "substr(c.created_at, 1, 10) {compare} :value",
        "updated": "substr(c.updated_at, 1, 10) {compare} :value",
        "due": "c.due_on {compare} :value",
    },
)


def search_issues(context: HandlerContext) -> JsonObject:
    """Return issues that match `query`, the newest first; needs the views `cards` and `me` of the shipped tracker."""
    return search(context, BOX)

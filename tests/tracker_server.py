"""A small issue tracker as an MCP server, written as people write them with the Python SDK: a fixture for drafts.

It starts with three issues of two people, keeps everything in memory, and answers with structured content.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from mcp.server import MCPServer

server = MCPServer("tracker")

PEOPLE = {"ana": {"id": "ana", "name": "Ana Lima"}, "bo": {"id": "bo", "name": "Bo Chen"}}
BEGUN = datetime(2031, 2, 1, 8, 0, tzinfo=UTC)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def first_issue(number: int, title: str, author: str, labels: list[str]) -> dict[str, Any]:
    return {
        "key": f"ISS-{number}",
        "title": title,
        "body": f"{title}, in detail",
        "state": "open",
        "labels": labels,
        "pinned": number == 2,
        "author": PEOPLE[author],
        "created_at": BEGUN.replace(day=number).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "comments": [{"id": number, "text": f"Seen: {title}", "author_id": "bo"}],
    }


ISSUES = {
    issue["key"]: issue
    for issue in (
        first_issue(1, "Lamp is dark", "ana", ["hardware"]),
        first_issue(2, "Door sticks", "bo", []),
        first_issue(3, "Page loads slowly", "ana", ["web", "speed"]),
    )
}
last = {"issue": 3, "comment": 3}


def found(key: str) -> dict[str, Any]:
    if key not in ISSUES:
        raise ValueError(f"No issue {key}")
    return ISSUES[key]


def brief(issue: dict[str, Any]) -> dict[str, Any]:
    return {name: issue[name] for name in ("key", "title", "state", "labels", "pinned")}


@server.tool()
def create_issue(title: str, body: str, author_id: str = "ana", labels: list[str] | None = None) -> dict[str, Any]:
    """Open an issue."""
    last["issue"] += 1
    key = f"ISS-{last['issue']}"
    author = PEOPLE[author_id]
    issue = {"key": key, "title": title, "body": body, "state": "open", "labels": labels or [], "pinned": False}
    ISSUES[key] = {**issue, "author": author, "created_at": now(), "comments": []}
    return ISSUES[key]


@server.tool()
def get_issue(key: str) -> dict[str, Any]:
    """One issue, with its comments."""
    return found(key)


@server.tool()
def list_issues(state: str | None = None, label: str | None = None, limit: int = 50, offset: int = 0) -> dict[str, Any]:
    """Issues, newest first."""
    fitting = [
        issue
        for issue in reversed(ISSUES.values())
        if state in (None, issue["state"]) and (label is None or label in issue["labels"])
    ]
    return {"total": len(fitting), "issues": [brief(issue) for issue in fitting[offset : offset + limit]]}


@server.tool()
def search_issues(query: str) -> dict[str, Any]:
    """Issues whose title or body holds a text, oldest first."""
    fitting = [issue for issue in ISSUES.values() if query.lower() in (issue["title"] + issue["body"]).lower()]
    return {"matches": [{"key": issue["key"], "title": issue["title"]} for issue in fitting]}


@server.tool()
def update_issue(
    key: str, title: str | None = None, body: str | None = None, pinned: bool | None = None
) -> dict[str, Any]:
    """Change an issue."""
    issue = found(key)
    issue |= {
        name: value for name, value in (("title", title), ("body", body), ("pinned", pinned)) if value is not None
    }
    return issue


@server.tool()
def close_issue(key: str) -> dict[str, Any]:
    """Close an issue."""
    issue = found(key)
    issue["state"] = "closed"
    return {"key": key, "state": "closed"}


@server.tool()
def delete_issue(key: str) -> str:
    """Delete an issue for good."""
    issue = found(key)
    del ISSUES[key]
    return f"Deleted {key} ({issue['title']})"


@server.tool()
def add_comment(issue_key: str, text: str, author_id: str = "bo") -> dict[str, Any]:
    """Comment on an issue."""
    issue = found(issue_key)
    last["comment"] += 1
    comment = {"id": last["comment"], "text": text, "author_id": author_id}
    issue["comments"].append(comment)
    return comment


@server.tool()
def list_comments(issue_key: str) -> list[dict[str, Any]]:
    """The comments of an issue."""
    return found(issue_key)["comments"]


@server.tool()
def guess_workload(weeks: int) -> str:
    """Says how busy the coming weeks will be."""
    return f"In {weeks} weeks: {'busy' if weeks * 7 % 3 else 'quiet'}, about {weeks * 13 % 7} issues a day"


if __name__ == "__main__":
    server.run()

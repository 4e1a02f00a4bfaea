"""The tools of a SQLite server, with the texts of the reference server, which reports errors as ordinary replies."""

import sqlite3
from contextlib import closing

from simtrain.contracts.handler import HandlerContext, Reply, takes_time
from simtrain.worlds.handlers.sqlite_server.sandbox import Sandbox
from simtrain.worlds.handlers.sqlite_server.store import image, load, save, taken

_NO_INSIGHT = "No business insights have been discovered yet."
_HEADING = "📊 Business Intelligence Memo 📊\n\nKey Insights Discovered:\n\n"
_SUMMARY = (
    "\nSummary:\nAnalysis has revealed {count} key business insights that suggest opportunities for strategic optimization "
    "and growth."
)


@takes_time
def read_query(context: HandlerContext) -> Reply:
    """Return the rows of a SELECT."""
    query = _text(context, "query")
    # The reference server's own test, which refuses WITH as well.
    if not query.strip().upper().startswith("SELECT"):
        return Reply("Error: Only SELECT queries are allowed for read_query")
    return _reply(context, query)


@takes_time
def write_query(context: HandlerContext) -> Reply:
    """Run any statement but a SELECT, and return the number of rows that an INSERT, UPDATE or DELETE affected, else its rows."""
    query = _text(context, "query")
    if query.strip().upper().startswith("SELECT"):
        return Reply("Error: SELECT queries are not allowed for write_query")
    return _reply(context, query, writes=True)


@takes_time
def create_table(context: HandlerContext) -> Reply:
    """Run a CREATE TABLE."""
    query = _text(context, "query")
    if not query.strip().upper().startswith("CREATE TABLE"):
        return Reply("Error: Only CREATE TABLE statements are allowed")
    return _reply(context, query, writes=True, done="Table created successfully")


@takes_time
def list_tables(context: HandlerContext) -> Reply:
    """Return the names of all tables."""
    return _reply(context, "SELECT name FROM sqlite_master WHERE type='table'")


@takes_time
def describe_table(context: HandlerContext) -> Reply:
    """Return the columns of a table. The name is inserted into the statement unescaped, as in the reference server."""
    return _reply(context, f"PRAGMA table_info({_text(context, 'table_name')})")


def append_insight(context: HandlerContext) -> Reply:
    """Add a line to the memo."""
    context.write("insert into memo (insight) values (:insight)", {"insight": _text(context, "insight")})
    return Reply("Insight added to memo", updated=("memo://insights",))


def insights(context: HandlerContext) -> Reply:
    """Return the memo, which the server offers as a resource."""
    lines = [row["insight"] for row in context.read("select insight from memo order by id")]
    if not lines:
        return Reply(_NO_INSIGHT)
    listed = "\n".join(f"- {line}" for line in lines)
    return Reply(_HEADING + listed + (_SUMMARY.format(count=len(lines)) if len(lines) > 1 else ""))


def _reply(context: HandlerContext, sql: str, *, writes: bool = False, done: str | None = None) -> Reply:
    """Run one statement, and return its rows as Python's repr, as the reference server does. An error changes nothing."""
    before = load(context.read)
    try:
        sandbox = Sandbox(image(before, now=context.now), now=context.now)
        with closing(sandbox):
            rows = sandbox.run(sql)
            after = taken(sandbox.connection) if writes else before
    except (sqlite3.Error, sqlite3.Warning) as error:
        return Reply(f"Database error: {error}")
    if writes:
        save(context, before, after)
    return Reply(done or str(rows))


def _text(context: HandlerContext, argument: str) -> str:
    return context.arguments[argument]

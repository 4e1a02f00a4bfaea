"""The handlers behind the service-sized stand-ins: search with operators, Markdown and blocks, typed properties, times to meet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_session import Session

from simtrain.worlds.handlers.note_markdown import NoteBlock, parse, render

ISSUES = "select id from cards where "


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("team:rte is:open", "team = 'RTE' and state_type not in ('completed', 'canceled')"),
        ('state:"in review" -label:bug', "state = 'In Review' and not instr(\"labels:json\", '\"bug\"')"),
        ("csv OR blank team:DRV", "(title like '%csv%' or title like '%blank%') and team = 'DRV'"),
        ('"endpoint" assignee:me', "title like '%endpoint%' and assignee = 'USR-01'"),
        ("assignee:none priority:2", "assignee is null and priority = 2"),
        ("created:>2031-06-09 created:<=2031/6/12", "substr(created_at, 1, 10) between '2031-06-10' and '2031-06-12'"),
        ("is:parent team:DAT", "team = 'DAT' and id in (select parent from issues)"),
        ("-is:blocked team:DAT", "team = 'DAT' and id not in (select issue from open_blockers)"),
        ("is:archived OR priority:1", "archived_at is not null or priority = 1"),
        ('project:"Offline Routes" creator:jonas', "project = 'PRJ-03' and creator = 'USR-02'"),
    ],
)  # fmt: skip
def test_a_query_finds_what_its_operators_mean(query: str, condition: str) -> None:
    tracker = Session("tracker")
    found = {issue["id"] for issue in tracker.pages("issues.search", "issues", query=query)}
    assert found == {row["id"] for row in tracker.state.query(ISSUES + condition)}


def test_the_cases_of_a_query_are_not_all_empty() -> None:
    tracker = Session("tracker")
    assert tracker.call("issues.search", query="csv OR blank team:DRV")["total"] > 3
    assert tracker.call("issues.search", query="is:parent team:DAT")["total"] > 3


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("colour:red", "Unknown search operator 'colour'. Known: assignee, created"),
        ("is:shiny", "is: knows open, closed, blocked, parent, archived, not 'shiny'."),
        ("created:yesterday", "created: needs a day such as 2031-03-05, not 'yesterday'."),
        (" ".join(["word"] * 31), "The query has too many terms"),
    ],
)
def test_a_query_that_means_nothing_is_refused_with_what_would(query: str, words: str) -> None:
    assert words in Session("tracker").refused("issues.search", query=query)


@pytest.mark.parametrize(
    "query", ["'; drop table issues; --", "% _ %", '"', "OR", "- :", ":value0 :now {where}", '"unclosed word']
)
def test_whatever_stands_in_a_query_is_only_looked_for(query: str) -> None:
    for world, tool in (("tracker", "issues.search"), ("messenger", "messages.search"), ("mailbox", "mail.search")):
        assert not Session(world).ask(tool, query=query).is_error


def test_a_span_counts_back_from_the_virtual_day() -> None:
    mail = Session("mailbox")
    found = {thread["id"] for thread in mail.pages("mail.search", "threads", query="in:anywhere newer_than:1w")}
    wanted = mail.state.query("select distinct thread from messages where sent_at >= '2031-10-27'")
    assert found == {row["thread"] for row in wanted} and found
    assert "needs a span" in mail.refused("mail.search", query="newer_than:soon")


LISTED = ("bulleted", "numbered", "to_do")
PLAIN = st.from_regex(r"[abc][abc 12.:,*#>\[\]-]{0,9}[abc]", fullmatch=True)


@st.composite
def pages(draw: st.DrawFn) -> list[NoteBlock]:
    """Blocks as a page can hold them: an item lies at most one level deeper than the one before it."""
    blocks: list[NoteBlock] = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from([*LISTED, "paragraph", "heading_1", "heading_3", "quote", "code", "divider"]))
        listed = kind in LISTED
        room = blocks[-1].depth + 1 if blocks and blocks[-1].kind in LISTED else 0
        depth = draw(st.integers(0, room)) if listed else 0
        checked = draw(st.booleans()) if kind == "to_do" else None
        language = draw(st.sampled_from([None, "python"])) if kind == "code" else None
        blocks.append(NoteBlock(kind, "" if kind == "divider" else draw(PLAIN), depth, checked, language))
    return blocks


@given(pages())
@settings(max_examples=80)
def test_blocks_survive_the_way_through_markdown(blocks: list[NoteBlock]) -> None:
    assert parse(render(blocks)) == blocks


@given(st.text(alphabet=st.sampled_from("#-*>`[] x1.a\n\t"), max_size=60))
@settings(max_examples=150)
def test_any_text_is_markdown_and_its_items_never_skip_a_level(text: str) -> None:
    depth = 0
    for block in parse(text):
        assert block.depth <= depth + 1
        depth = block.depth


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"Hours": "two"}, "Hours takes a number"),
        ({"Hours": True}, "Hours takes a number"),
        ({"Due": "2031-02-30"}, "Due takes a date"),
        ({"Status": "Someday"}, "Status has no option 'Someday'; there are To do, Doing, Waiting, Done"),
        ({"Tags": "site"}, "Tags takes a list"),
        ({"Assignee": ["user-99"]}, "Assignee cannot refer to 'user-99'"),
        ({"Project": ["page-0001"]}, "Project cannot refer to 'page-0001'"),
        ({"Owner": ["user-02"]}, "no property 'Owner'; there are Assignee, Due, Hours, Project, Status, Tags"),
    ],
)
def test_a_property_takes_only_what_it_can_hold(properties: dict[str, object], words: str) -> None:
    notes = Session("notes")
    page = notes.state.query("select id from pages where database = 'db-tasks' limit 1")[0]["id"]
    assert words in notes.refused("pages.set_properties", page=page, properties=properties)


def test_only_a_row_of_a_database_has_properties() -> None:
    notes = Session("notes")
    page = notes.state.query("select id from pages where database is null limit 1")[0]["id"]
    refused = notes.refused("pages.set_properties", page=page, properties={"Hours": 2})
    assert f"validation_error: {page} is a page, not a row of a database" in refused


DOING = ("Status", "equals", "Doing")
NOT_DONE = ("Status", "does_not_equal", "Done")
TASKS = """
    with given as (
        select page, max(value) filter (where property = 'Assignee') as assignee, max(value) filter (where property = 'Tags') as tags,
            max(value ->> '$') filter (where property = 'Status') as status, max(value ->> '$') filter (where property = 'Hours') as hours,
            max(value ->> '$') filter (where property = 'Due') as due
        from property_values where database = 'db-tasks' group by page)
    select p.id from pages p join given on page = p.id where
"""


@pytest.mark.parametrize(
    ("filters", "match", "condition"),
    [
        ([DOING, ("Hours", "greater_than", 4)], "all", "status = 'Doing' and hours > 4"),
        ([("Due", "on_or_before", "2031-04-01"), ("Hours", "is_empty")], "any", "due <= '2031-04-01' or hours is null"),
        (
            [("Assignee", "contains", "user-05"), ("Title", "contains", "PLAN")],
            "all",
            "assignee like '%user-05%' and title like '%plan%'",
        ),
        (
            [("Tags", "does_not_contain", "site"), ("Due", "less_than", "2031-03-30")],
            "all",
            "coalesce(tags, '') not like '%site%' and due < '2031-03-30'",
        ),
        (
            [NOT_DONE, ("Due", "is_not_empty"), ("Hours", "on_or_after", 8)],
            "all",
            "status <> 'Done' and due is not null and hours >= 8",
        ),
    ],
)
def test_a_filter_finds_what_it_says(filters: list[tuple[object, ...]], match: str, condition: str) -> None:
    notes = Session("notes")
    named = [dict(zip(("property", "operator", "value"), entry, strict=False)) for entry in filters]
    rows = notes.pages("databases.query", "rows", database="db-tasks", filters=named, match=match)
    wanted = {row["id"] for row in notes.state.query(TASKS + condition)}
    assert {row["id"] for row in rows} == wanted and wanted


def test_rows_are_sorted_by_several_properties_and_empty_ones_come_last() -> None:
    notes = Session("notes")
    sorts = [{"property": "Status", "direction": "descending"}, {"property": "Hours"}]
    rows = notes.pages("databases.query", "rows", database="db-tasks", sorts=sorts)
    seen = [(row["properties"]["Status"], row["properties"]["Hours"]) for row in rows]
    assert [status for status, _ in seen] == sorted((status for status, _ in seen), reverse=True)
    doing = [hours for status, hours in seen if status == "Doing"]
    filled = [hours for hours in doing if hours is not None]
    assert doing == sorted(filled) + [None] * (len(doing) - len(filled))


@pytest.mark.parametrize("minutes", [30, 45, 90, 240])
def test_the_times_to_meet_are_the_first_at_which_nobody_is_busy(minutes: int) -> None:
    mail = Session("mailbox")
    emails = [row["email"] for row in mail.state.query("select email from people where active order by email limit 5")]
    wanted = {"emails": emails, "minutes": minutes, "from_day": "2031-11-07", "to_day": "2031-11-11"}
    times = mail.call("calendar.find_times", **wanted, opens="08:30", closes="17:00")["times"]
    sql = """
        with day (d) as (values ('2031-11-07'), ('2031-11-10'), ('2031-11-11')),
            slot as (
                select d || 'T' || begins || ':00Z' as starts_at,
                    strftime('%Y-%m-%dT%H:%M:%SZ', d || 'T' || begins, :minutes || ' minutes') as ends_at, d || 'T17:00:00Z' as closes
                from day, half_hours where begins >= '08:30')
        select starts_at, ends_at from slot where ends_at <= closes and not exists (
            select 1 from busy b where (b.email in (select value from json_each(:emails)) or b.email like 'ines.okafor@%')
                and b.starts_at < slot.ends_at and b.ends_at > slot.starts_at)
        order by starts_at limit 10"""
    rows = mail.state.query(sql, {"minutes": minutes, "emails": str(emails).replace("'", '"')})
    assert times == rows

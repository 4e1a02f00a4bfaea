"""The service-sized stand-ins: every tool works, what is written is found again, and what must not happen is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from service_session import Session, shipped_world
from typer.testing import CliRunner

from simtrain.cli import build
from simtrain.worlds.service.world import ServiceWorld

pytestmark = pytest.mark.slow

HOUR = {"starts_at": "2031-11-05T10:00:00Z", "ends_at": "2031-11-05T11:00:00Z"}
WORLDS = ("mailbox", "messenger", "notes", "tracker")


def all_tools(session: Session) -> set[str]:
    return {tool.name for tool in session.world.tools}


@pytest.mark.parametrize("name", WORLDS)
def test_a_stand_in_has_the_size_of_a_service(name: str) -> None:
    world = shipped_world(name)
    assert isinstance(world, ServiceWorld)
    rows = [world.query(f'select count(*) as n from "{table}"')[0]["n"] for table in world.columns()]
    assert 15 <= len(world.tools) <= 30 and len({tool.name.partition(".")[0] for tool in world.tools}) >= 4
    assert len(rows) >= 5 and 500 <= sum(rows) <= 2000
    assert len(set(world.rules)) >= 8
    assert [tool.name for tool in world.tools if tool.output_schema is None] == []


def test_an_issue_lives_from_triage_to_the_archive_and_every_tool_of_the_tracker_works() -> None:
    tracker = Session("tracker")
    me = tracker.call("users.me")
    assert {"key": "RTE", "my_role": "lead"}.items() <= tracker.call("teams.list")["teams"][3].items()
    team = tracker.call("teams.get", team="RTE")
    cycle = next(cycle for cycle in tracker.call("cycles.list", team="RTE")["cycles"] if cycle["phase"] == "current")
    assert team["current_cycle"][0]["id"] == cycle["id"]
    project = tracker.call("projects.list", team="RTE", status="started")["projects"][0]

    made = tracker.call("issues.create", team="RTE", title="Zebra crossing on the map", labels=["bug", "customer"])
    issue = made["issue"]["id"]
    assert made["issue"]["state"] == {"name": "Triage", "type": "triage"}
    fields = {"state": "Todo", "priority": 2, "estimate": 5, "assignee": me["id"]}
    changed = tracker.call("issues.update", issue=issue, **fields, project=project["id"], cycle=cycle["id"])["issue"]
    assert changed["cycle"]["id"] == cycle["id"] and changed["assignee"]["handle"] == "mirela"
    labelled = tracker.call("issues.set_labels", issue=issue, add=["chore"], remove=["bug"])["issue"]
    assert labelled["labels"] == ["chore", "customer"]
    part = tracker.call("issues.create", team="RTE", title="Zebra tests", parent=issue)["issue"]["id"]
    assert tracker.refused("issues.update", issue=issue, state="Done") == "open_sub_issues"
    copy = tracker.call("issues.create", team="RTE", title="Zebra crossing on the map")["issue"]["id"]
    assert tracker.call("issues.mark_duplicate", issue=copy, original=issue)["issue"]["state"]["name"] == "Duplicate"
    blocker = tracker.call("issues.list", team="RTE", state="In Progress")["issues"][0]["id"]
    tracker.call("issues.link", issue=blocker, kind="blocks", other=issue)
    assert tracker.refused("issues.link", issue=issue, kind="blocks", other=blocker) == "blocking_circle"
    relations = tracker.call("issues.get", issue=issue)["relations"]
    assert {(link["kind"], link["id"]) for link in relations} == {("blocked_by", blocker), ("has_duplicate", copy)}
    tracker.call("issues.update", issue=part, state="Canceled")
    assert tracker.refused("issues.update", issue=issue, state="Done") == "blocked"
    tracker.call("issues.unlink", issue=issue, kind="blocked_by", other=blocker)

    comment = tracker.call("comments.create", issue=issue, body="First")["comment"]["id"]
    answer = tracker.call("comments.create", issue=issue, body="Second", reply_to=comment)["comment"]["id"]
    assert tracker.refused("comments.delete", comment=comment) == "has_replies"
    tracker.call("comments.update", comment=answer, body="Last")
    assert [entry["body"] for entry in tracker.call("comments.list", issue=issue)["comments"]] == ["First", "Last"]
    tracker.call("comments.delete", comment=answer)
    found = tracker.call("issues.search", query="zebra -is:closed assignee:me")["issues"]
    assert [hit["id"] for hit in found] == [issue]
    assert tracker.refused("issues.archive", issue=issue) == "still_open"
    done = tracker.call("issues.update", issue=issue, state="Done", clear=["cycle"])["issue"]
    assert done["finished_at"] == done["updated_at"] and done["cycle"] is None
    tracker.call("issues.archive", issue=issue)
    assert tracker.refused("issues.update", issue=issue, title="Later") == "archived"
    assert tracker.call("issues.restore", issue=issue)["issue"]["archived_at"] is None

    before = tracker.call("projects.get", project=project["id"])
    assert tracker.refused("projects.update", project=project["id"], status="paused") == "not_project_lead"
    tracker.state.execute("update projects set lead = 'USR-01' where id = :id", {"id": project["id"]})
    assert tracker.refused("projects.update", project=project["id"], status="completed") == "open_issues_left"
    assert tracker.call("projects.update", project=project["id"], status="paused")["project"]["status"] == "paused"
    tracker.call("projects.post_update", project=project["id"], health="at_risk", body="Paused for a week.")
    assert tracker.call("projects.get", project=project["id"])["latest_update"] != before["latest_update"]
    assert [user["id"] for user in tracker.call("users.search", text="jonas")["users"]] == ["USR-02", "USR-03"]
    assert tracker.called == all_tools(tracker)


def test_a_channel_and_its_messages_come_and_go_and_every_tool_of_the_messenger_works() -> None:
    chat = Session("messenger")
    room = chat.call("channels.create", name="zebra-watch", purpose="Zebras")["channel"]["id"]
    assert chat.refused("channels.create", name="zebra-watch") == "name_taken"
    maren = chat.call("users.list", text="maren.holt@")["users"][0]
    assert chat.call("users.info", user=maren["id"])["user"]["title"] == "Warehouse Lead"
    assert chat.call("channels.invite", channel=room, users=[maren["id"]])["channel"]["members"] == 2
    assert chat.call("channels.set_topic", channel=room, topic="Stripes")["channel"]["topic"] == "Stripes"
    assert [member["id"] for member in chat.call("channels.members", channel=room)["members"]] == ["U1001", "U1004"]

    first = chat.call("messages.post", channel=room, text="A zebra at bay 4, <@U1004>!")["message"]["ts"]
    reply = chat.call("messages.post", channel=room, text="Gone again.", thread_ts=first)["message"]["ts"]
    assert chat.refused("messages.post", channel=room, text="x", thread_ts=reply) == "thread_not_found"
    assert chat.refused("messages.delete", channel=room, ts=first) == "has_replies"
    chat.call("reactions.add", channel=room, ts=first, emoji="eyes")
    chat.call("pins.add", channel=room, ts=first)
    edited = chat.call("messages.update", channel=room, ts=first, text="A zebra at bay 5, <@U1004>!")["message"]
    assert edited["edited_at"] and edited["pinned"] and edited["reply_count"] == 1
    assert edited["reactions"] == [{"name": "eyes", "count": 1, "users": ["U1001"]}]
    assert [message["ts"] for message in chat.call("messages.history", channel=room)["messages"]] == [first]
    thread = chat.call("messages.replies", channel=room, ts=first)["messages"]
    assert [message["ts"] for message in thread] == [first, reply]
    found = chat.call("messages.search", query='"bay 5" in:#zebra-watch with:@maren from:me has::eyes:')
    assert [message["ts"] for message in found["messages"]] == [first]
    assert [pin["ts"] for pin in chat.call("pins.list", channel=room)["pins"]] == [first]
    chat.call("messages.delete", channel=room, ts=reply)
    assert chat.refused("messages.delete", channel=room, ts=first) == "is_pinned"
    chat.call("pins.remove", channel=room, ts=first)
    assert chat.call("reactions.remove", channel=room, ts=first, emoji="eyes")["message"]["reactions"] == []
    chat.call("messages.delete", channel=room, ts=first)
    assert chat.call("messages.history", channel=room)["messages"] == []

    later = chat.call("messages.schedule", channel=room, text="Zebra report", post_at="2031-09-23T07:00:00Z")["id"]
    assert later in {message["id"] for message in chat.call("messages.scheduled")["scheduled"]}
    chat.call("messages.unschedule", id=later)
    assert later not in {message["id"] for message in chat.call("messages.scheduled")["scheduled"]}
    assert chat.call("channels.open_direct", user=maren["id"])["channel"]["name"] == "maren"
    returns = chat.call("channels.list", name="help-returns", joined=False)["channels"][0]["id"]
    assert chat.call("channels.join", channel=returns)["channel"]["joined"]
    chat.call("channels.leave", channel=returns)
    assert not chat.call("channels.info", channel=returns)["channel"]["joined"]
    chat.call("channels.archive", channel=room)
    assert chat.refused("messages.post", channel=room, text="x") == "is_archived"
    assert chat.call("users.set_status", text="Zebra hunt", emoji="eyes")["status"]["text"] == "Zebra hunt"
    group = chat.call("groups.list")["groups"][0]
    assert len(chat.call("groups.members", user_group=group["id"])["members"]) == group["members"]
    assert chat.called == all_tools(chat)


def test_a_page_is_written_filed_and_thrown_away_and_every_tool_of_the_notes_works() -> None:
    notes = Session("notes")
    assert notes.call("users.me")["id"] == "user-01"
    levels = {space["name"]: space["level"] for space in notes.call("spaces.list")["spaces"]}
    assert levels == {"Handbook": "view", "Office": "edit", "People": "comment", "Studio": "full"}
    markdown = "# Zebra\n\nStripes are a facade.\n\n- black\n  - and white\n- [ ] paint it"
    page = notes.call("pages.create", parent_page="page-0007", title="Zebra house", markdown=markdown)["page"]
    assert page["path"] == "Studio / Library / Zebra house"
    assert notes.call("pages.export", page=page["id"])["markdown"] == markdown
    blocks = notes.call("blocks.list", page=page["id"])["blocks"]
    assert [block["kind"] for block in blocks] == ["heading_1", "paragraph", "bulleted", "to_do"]
    below = notes.call("blocks.list", page=page["id"], parent=blocks[2]["id"])["blocks"]
    assert [block["text"] for block in below] == ["and white"]
    notes.call("blocks.append", page=page["id"], markdown="> As seen.", after=blocks[1]["id"])
    assert notes.call("blocks.update", block=blocks[3]["id"], checked=True)["block"]["checked"] is True
    assert notes.refused("blocks.update", block=blocks[0]["id"], checked=True) == "not_a_to_do"
    assert notes.refused("blocks.delete", block=blocks[2]["id"]) == "has_children"
    notes.call("blocks.delete", block=blocks[0]["id"])
    exported = notes.call("pages.export", page=page["id"])["markdown"]
    assert exported.startswith("Stripes are a facade.\n\n> As seen.\n\n- black")
    found = notes.call("search.find", query="as seen", where="content")["results"]
    assert [hit["id"] for hit in found] == [page["id"]]

    comment = notes.call("comments.create", page=page["id"], text="Nice.", block=blocks[1]["id"])["comment"]
    assert notes.refused("blocks.delete", block=blocks[1]["id"]) == "open_discussion"
    notes.call("comments.create", page=page["id"], text="Very.", discussion=comment["discussion"])
    assert [entry["text"] for entry in notes.call("comments.list", page=page["id"])["comments"]] == ["Nice.", "Very."]
    notes.call("comments.resolve", discussion=comment["discussion"])
    assert notes.call("comments.list", page=page["id"])["comments"] == []

    assert notes.call("pages.update", page=page["id"], title="Zebra hall")["page"]["title"] == "Zebra hall"
    moved = notes.call("pages.move", page=page["id"], parent_page="page-0008")["page"]
    assert (moved["path"], moved["space"]) == ("Office / Premises / Zebra hall", "spc-office")
    assert notes.refused("pages.move", page="page-0008", parent_page=page["id"]) == "below_itself"
    notes.call("pages.move", page=page["id"], parent_page="page-0007")
    notes.call("pages.set_lock", page=page["id"], locked=True)
    assert notes.refused("pages.trash", page=page["id"]) == "page_locked"
    notes.call("pages.set_lock", page=page["id"], locked=False)
    assert notes.call("pages.trash", page=page["id"])["page"]["in_trash"]
    assert notes.call("search.find", query="zebra")["results"] == []
    assert not notes.call("pages.restore", page=page["id"])["page"]["in_trash"]
    assert page["id"] in {child["id"] for child in notes.call("pages.get", page="page-0007")["child_pages"]}

    database = next(entry["id"] for entry in notes.call("databases.list")["databases"] if entry["title"] == "Tasks")
    notes.call("databases.add_option", database=database, property="Tags", option="zebra")
    assert "zebra" in notes.call("databases.get", database=database)["properties"][5]["options"]
    person = notes.call("users.list")["users"][1]["id"]
    values = {"Status": "Doing", "Assignee": [person], "Due": "2031-04-30", "Hours": 2.5, "Tags": ["zebra"]}
    row = notes.call("pages.create", database=database, title="Draw stripes", properties=values)["page"]["id"]
    only = [{"property": "Tags", "operator": "contains", "value": "zebra"}]
    hit = notes.call("databases.query", database=database, filters=only)["rows"][0]
    assert hit["id"] == row and hit["properties"] == {**values, "Project": None}
    cleared = notes.call("pages.set_properties", page=row, properties={"Hours": None, "Status": "Done"})["properties"]
    assert (cleared["Hours"], cleared["Status"], cleared["Due"]) == (None, "Done", "2031-04-30")
    assert notes.called == all_tools(notes)


def test_mail_and_meetings_are_written_changed_and_removed_and_every_tool_of_the_mailbox_works() -> None:
    mail = Session("mailbox")
    paul = mail.call("contacts.search", text="paul.verne")["contacts"][0]["email"]
    asked = mail.call("mail.search", query="in:inbox from:@cobalthomes.example -is:starred")["threads"][0]
    opened = mail.call("mail.get_thread", thread=asked["id"])
    assert opened["thread"] == asked and len(opened["messages"]) == asked["message_count"]
    answer = mail.call("mail.reply", thread=asked["id"], body="The zebra is yours.")["message"]
    assert answer["recipients"][0].endswith("@cobalthomes.example")
    label = mail.call("labels.create", name="Zebras")["label"]["id"]
    filed = mail.call("mail.modify", thread=asked["id"], add=["Zebras", "STARRED"], remove=["INBOX"])["thread"]
    assert {"Zebras", "STARRED"} <= set(filed["labels"]) and "INBOX" not in filed["labels"]
    found = mail.call("mail.search", query="label:Zebras is:starred in:archive zebra from:me newer_than:1d")
    assert [thread["id"] for thread in found["threads"]] == [asked["id"]]
    assert mail.refused("mail.trash", thread=asked["id"]) == "starred"
    mail.call("mail.modify", thread=asked["id"], remove=["STARRED"])
    assert "TRASH" in mail.call("mail.trash", thread=asked["id"])["thread"]["labels"]
    assert mail.call("mail.search", query="label:zebras")["total"] == 0
    assert mail.call("mail.search", query="label:zebras in:trash")["total"] == 1
    assert "INBOX" in mail.call("mail.untrash", thread=asked["id"])["thread"]["labels"]
    assert mail.call("labels.rename", label=label, name="Stripes")["label"]["name"] == "Stripes"
    mail.call("labels.delete", label=label)
    assert "Stripes" not in {entry["name"] for entry in mail.call("labels.list")["labels"]}

    sent = mail.call("mail.send", to=[paul], subject="Zebra", body="See attached.", attachments=["at-0001"])["message"]
    assert sent["attachments"][0]["filename"] == opened_filename(mail)
    draft = mail.call("drafts.create", subject="Zebra crossing", body="Dear")["draft"]["id"]
    assert mail.refused("drafts.send", draft=draft) == "draft_incomplete"
    mail.call("drafts.update", draft=draft, to=[paul], body="Dear Paul")
    assert mail.call("drafts.get", draft=draft)["draft"]["body"] == "Dear Paul"
    assert mail.call("drafts.send", draft=draft)["message"]["body"] == "Dear Paul"
    spare = mail.call("drafts.create", subject="x", body="x")["draft"]["id"]
    mail.call("drafts.delete", draft=spare)
    assert {draft, spare}.isdisjoint(entry["id"] for entry in mail.call("drafts.list")["drafts"])

    assert mail.call("calendar.calendars")["calendars"][1]["my_role"] == "reader"
    hour = {"emails": [paul], "minutes": 60, "from_day": "2031-11-06", "to_day": "2031-11-07"}
    slot = mail.call("calendar.find_times", **hour)["times"][0]
    made = mail.call("calendar.create_event", title="Zebra talks", **slot, attendees=[paul])
    event = made["event"]["id"]
    assert made["attendees"][0]["response"] == "needs_action"
    busy = mail.call("calendar.free_busy", emails=[paul], from_day="2031-11-06", to_day="2031-11-06")["busy"]
    assert {"email": paul, **slot} in busy
    next_slot = mail.call("calendar.find_times", **hour)["times"][0]
    assert next_slot["starts_at"] >= slot["ends_at"]
    moved = mail.call("calendar.update_event", event=event, **next_slot, uninvite=[paul])
    assert (moved["event"]["starts_at"], moved["attendees"]) == (next_slot["starts_at"], [])
    listed = mail.call("calendar.events", from_day="2031-11-06", to_day="2031-11-07", text="zebra")["events"]
    assert [entry["id"] for entry in listed] == [event]
    mail.call("calendar.cancel_event", event=event)
    assert mail.call("calendar.get_event", event=event)["event"]["status"] == "cancelled"
    invitation = mail.state.query(
        "select event from attendees a join events e on e.id = a.event "
        "where a.email like 'ines.%' and not a.optional and e.status = 'confirmed' order by event limit 1"
    )[0]["event"]
    assert mail.refused("calendar.respond", event=invitation, response="declined") == "comment_missing"
    assert mail.call("calendar.respond", event=invitation, response="declined", comment="Zebra.")["comment"] == "Zebra."
    assert mail.called == all_tools(mail)


def opened_filename(mail: Session) -> str:
    return mail.state.query("select filename from attachments where id = 'at-0001'")[0]["filename"]


def test_of_a_series_one_day_or_the_rest_is_cancelled() -> None:
    mail = Session("mailbox")
    days = [row["id"] for row in mail.state.query("select id from events where series = 'sr-001' order by starts_at")]
    assert mail.refused("calendar.cancel_event", event=days[0]) == "past"
    one = mail.call("calendar.cancel_event", event=days[3])["cancelled"]
    rest = mail.call("calendar.cancel_event", event=days[4], scope="following")["cancelled"]
    assert ([gone["id"] for gone in one], [gone["id"] for gone in rest]) == ([days[3]], days[4:])
    assert mail.count("select count(*) from events where series = 'sr-001' and status = 'confirmed'") == 3


@pytest.mark.parametrize(
    ("world", "tool", "arguments", "rule"),
    [
        ("tracker", "issues.get", {"issue": "RTE-1"}, "Issue not found: RTE-1"),
        ("tracker", "issues.update", {"issue": "SUP-201", "priority": 1}, "not_a_member"),
        ("tracker", "issues.update", {"issue": "RTE-201", "estimate": 4}, "bad_estimate"),
        ("tracker", "issues.update", {"issue": "RTE-201", "assignee": "USR-03"}, "assignee_outside_team"),
        ("tracker", "issues.set_labels", {"issue": "RTE-201", "add": ["bug", "chore"]}, "label_group_taken"),
        ("tracker", "issues.create", {"team": "SEC", "title": "x"}, "team_not_found"),
        ("tracker", "issues.create", {"team": "RTE", "title": "x", "state": "Todo"}, "triage_incomplete"),
        ("messenger", "channels.info", {"channel": "C2013"}, "channel_not_found: C2013"),
        ("messenger", "messages.post", {"channel": "C2002", "text": "x"}, "restricted_action"),
        ("messenger", "messages.post", {"channel": "C2006", "text": "x"}, "not_in_channel"),
        ("messenger", "channels.leave", {"channel": "C2001"}, "cant_leave_general"),
        ("messenger", "messages.schedule", {"channel": "C2001", "text": "x", "post_at": "2031-09-21T00:00:00Z"}, "time_in_past"),
        ("notes", "pages.get", {"page": "page-0006"}, "object_not_found: page page-0006"),
        ("notes", "pages.create", {"parent_page": "page-0005", "title": "x"}, "restricted"),
        ("notes", "comments.create", {"page": "page-0005", "text": "x"}, "restricted"),
        ("notes", "databases.add_option", {"database": "db-tasks", "property": "Due", "option": "x"}, "no_options"),
        ("notes", "databases.query", {"database": "db-nothing"}, "object_not_found"),
        ("mailbox", "mail.send", {"to": ["no address"], "subject": "x", "body": "x"}, "bad_address"),
        ("mailbox", "labels.create", {"name": "No/Such/Parent"}, "label_without_parent"),
        ("mailbox", "labels.delete", {"label": "lb-10"}, "label_has_children"),
        ("mailbox", "labels.rename", {"label": "INBOX", "name": "x"}, "system_label"),
        ("mailbox", "calendar.create_event", {**HOUR, "title": "x", "calendar": "cal-house"}, "calendar_read_only"),
        ("mailbox", "calendar.create_event", {**HOUR, "title": "x", "attendees": ["x@y.example"]}, "unknown_attendee"),
    ],
)  # fmt: skip
def test_a_refusal_names_its_rule_and_changes_nothing(world: str, tool: str, arguments: dict[str, object], rule: str) -> None:  # fmt: skip
    session = Session(world)
    assert session.refused(tool, **arguments) == rule
    assert session.state.changes() == {}


@pytest.mark.parametrize(
    ("world", "tool", "key", "arguments", "sql"),
    [
        ("tracker", "issues.list", "issues", {"team": "RTE"}, "select id from issues where team = 'RTE' and archived_at is null"),
        ("tracker", "issues.search", "issues", {"query": "is:open"},
         "select id from cards where state_type not in ('completed', 'canceled')"),
        ("messenger", "messages.search", "messages", {"query": "in:#help-it"}, "select ts as id from messages where channel = 'C2005'"),
        ("messenger", "users.list", "users", {}, "select id from users"),
        ("notes", "databases.query", "rows", {"database": "db-tasks"}, "select id from pages where database = 'db-tasks'"),
        ("notes", "search.find", "results", {"query": "e", "kind": "page", "where": "title"},
         "select id from page_cards where trashed_at is null and title like '%e%'"),
        ("mailbox", "mail.search", "threads", {"query": "in:inbox"}, "select thread as id from thread_labels where label = 'INBOX'"),
        ("mailbox", "contacts.search", "contacts", {"text": "example"}, "select email as id from people union select email from contacts"),
    ],
)  # fmt: skip
def test_the_pages_of_a_list_join_to_the_whole(
    world: str, tool: str, key: str, arguments: dict[str, object], sql: str
) -> None:
    session = Session(world)
    names = [item.get("id") or item.get("ts") or item["email"] for item in session.pages(tool, key, **arguments)]
    wanted = [row["id"] for row in session.state.query(sql)]
    assert len(names) == len(set(names)) and set(names) == set(wanted) and len(names) > 20


def test_a_family_of_a_stand_in_is_solved_over_mcp(tmp_path: Path) -> None:
    command = ["run", "notes/action_items", "--via", "mcp", "--agent", "oracle", "--episodes", "2"]
    done = CliRunner().invoke(build(), [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0 and "100.0%" in done.output

"""Drafts: worlds from captured servers, played through an official client, and what stays undone in them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import drafting
import pytest
import real_servers
from drafting import capture, connected, draft, recorded, served, simtrain

from simtrain.assembly import load_world
from simtrain.manifest import Exchange, Manifest, ServerManifest, Surface, write_manifest
from simtrain.testing import FakeOpenAI, Say

TRACKER = [sys.executable, str(Path(__file__).with_name("tracker_server.py"))]
TRACKER_PROBES = """\
probes:
  - {call: list_issues}
  - {call: get_issue, with: {key: ISS-1}}
  - {call: get_issue, with: {key: ISS-2}}
  - {call: get_issue, with: {key: ISS-3}}
  - {call: get_issue, with: {key: ISS-99}}
  - {call: list_issues, with: {state: open}}
  - {call: list_issues, with: {label: web}}
  - {call: list_issues, with: {limit: 2}}
  - {call: list_issues, with: {limit: 2, offset: 2}}
  - {call: create_issue, with: {title: Roof leaks, body: Over the stairs, labels: [house]}}
  - {call: create_issue, with: {title: Bell is mute, body: At the gate, author_id: bo}}
  - {call: list_issues}
  - {call: search_issues, with: {query: stairs}}
  - {call: search_issues, with: {query: door}}
  - {call: update_issue, with: {key: ISS-4, title: Roof leaks again, pinned: true}}
  - {call: update_issue, with: {key: ISS-2, body: It sticks when wet}}
  - {call: update_issue, with: {key: ISS-99, title: Nothing}}
  - {call: get_issue, with: {key: ISS-4}}
  - {call: close_issue, with: {key: ISS-1}}
  - {call: close_issue, with: {key: ISS-99}}
  - {call: get_issue, with: {key: ISS-1}}
  - {call: list_issues, with: {state: closed}}
  - {call: list_comments, with: {issue_key: ISS-3}}
  - {call: add_comment, with: {issue_key: ISS-3, text: Only in the morning}}
  - {call: add_comment, with: {issue_key: ISS-4, text: Bucket placed, author_id: ana}}
  - {call: add_comment, with: {issue_key: ISS-99, text: Lost}}
  - {call: list_comments, with: {issue_key: ISS-3}}
  - {call: get_issue, with: {key: ISS-4}}
  - {call: guess_workload, with: {weeks: 2}}
  - {call: guess_workload, with: {weeks: 3}}
  - {call: delete_issue, with: {key: ISS-5}}
  - {call: delete_issue, with: {key: ISS-5}}
  - {call: list_issues}
  - {call: create_issue, with: {title: Tap drips, body: In the kitchen}}
  - {call: get_issue, with: {key: ISS-6}}
"""
TODO_PROBES = """\
probes:
  - {call: task_list}
  - {call: task_create, with: {name: Buy flour, desc: for the bread, tags: [home, food], due_date: "2031-04-02", priority: high}}
  - {call: task_create, with: {name: Call Ana, priority: low}}
  - {call: task_create, with: {name: Write report, desc: quarterly figures, tags: [work], due_date: "2031-03-20", priority: medium}}
  - {call: task_list}
  - {call: task_get, with: {id: 1}}
  - {call: task_get, with: {id: 2}}
  - {call: task_get, with: {id: 99}}
  - {call: task_list, with: {priority: high}}
  - {call: task_list, with: {tags: [work]}}
  - {call: task_list, with: {keyword: report}}
  - {call: task_list, with: {keyword: figures}}
  - {call: task_list, with: {orderby: id, order: desc}}
  - {call: task_list, with: {limit: 1}}
  - {call: task_update, with: {id: 2, name: Call Ana Lima, progress: left a message}}
  - {call: task_get, with: {id: 2}}
  - {call: task_update, with: {id: 1, status: completed}}
  - {call: task_get, with: {id: 1}}
  - {call: task_list}
  - {call: task_list, with: {status: completed}}
  - {call: task_list, with: {status: all}}
  - {call: task_update, with: {id: 99, name: x}}
  - {call: task_delete, with: {id: 3}}
  - {call: task_delete, with: {id: 3}}
  - {call: task_get, with: {id: 3}}
  - {call: task_create, with: {name: Water plants}}
  - {call: task_list, with: {status: all}}
"""


@pytest.fixture(scope="session")
def tracker(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The manifest of the fixture tracker, captured once for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "tracker"
    folder.mkdir(exist_ok=True)
    out = folder / "tracker.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return out if out.exists() else capture(TRACKER, out, name="tracker", probes=TRACKER_PROBES)


def share_bound(report: dict[str, Any]) -> float:
    return report["bound"] / len(report["tools"])


@pytest.mark.full
async def test_a_real_list_of_tasks_from_pypi_is_drafted_whole(tmp_path: Path) -> None:
    command = real_servers.todo(tmp_path / "home")
    manifest = capture(command, tmp_path / "todo.json", name="todo", probes=TODO_PROBES)
    world = tmp_path / "worlds" / "todo.yaml"
    report = draft(manifest, world)
    assert (share_bound(report), report["share"]) == (1.0, 1.0)
    async with connected(served(world)) as said:
        assert await said("task_list") == []
        assert (
            await said("task_create", name="Mend the fence", tags=["garden"]) == "Task created successfully with ID: 1"
        )
        assert await said("task_create", name="Sow beans", priority="high") == "Task created successfully with ID: 2"
        task = await said("task_get", id=1)
        assert (task["name"], task["tags"], task["status"], task["completed_at"]) == (
            "Mend the fence",
            ["garden"],
            "active",
            None,
        )
        assert [task["id"] for task in await said("task_list", keyword="beans")] == [2]
        assert [task["id"] for task in await said("task_list", tags=["garden", "house"])] == [1]
        assert await said("task_update", id=2, status="completed") == "Task 2 updated successfully"
        assert (await said("task_get", id=2))["completed_at"] is not None
        assert [task["id"] for task in await said("task_list")] == [1]
        assert {task["id"] for task in await said("task_list", status="all")} == {1, 2}
        assert await said("task_delete", id=1) == "Task deleted successfully"
        assert await said("task_get", id=1) == "Task not found"
        assert await said("task_update", id=7, name="x") == "Error: Task with ID 7 not found"


@pytest.mark.full
async def test_a_real_server_of_projects_from_npm_is_drafted_from_a_recording(tmp_path: Path) -> None:
    command = real_servers.task_manager(tmp_path / "tasks.db")
    manifest = capture(command, tmp_path / "all.json", name="tasks")
    recording = tmp_path / "rec.jsonl"
    nobody = "11111111-1111-4111-8111-111111111111"
    async with connected(recorded(command, recording)) as said:
        first = (await said("createProject", projectName="Website"))["project_id"]
        other = (await said("createProject"))["project_id"]
        draw = (await said("addTask", project_id=first, description="Draw the wireframes", priority="high"))["task_id"]
        copy = (await said("addTask", project_id=first, description="Write the copy", dependencies=[draw]))["task_id"]
        await said("addTask", project_id=other, description="Something else", status="in-progress")
        await said("listTasks", project_id=first)
        await said("listTasks", project_id=first, status="todo")
        await said("showTask", project_id=first, task_id=draw)
        await said("showTask", project_id=first, task_id=copy)
        await said("setTaskStatus", project_id=first, task_ids=[draw], status="done")
        await said("listTasks", project_id=first, status="done")
        await said("getNextTask", project_id=first)
        await said("updateTask", project_id=first, task_id=copy, description="Write good copy", priority="low")
        await said("showTask", project_id=first, task_id=copy)
        await said("showTask", project_id=first, task_id=nobody)
        await said("updateTask", project_id=first, task_id=nobody, priority="low")
        await said("listTasks", project_id=nobody)
        await said("addTask", project_id=nobody, description="x")
        await said("deleteTask", project_id=first, task_ids=[draw])
        await said("deleteTask", project_id=first, task_ids=[draw])
        await said("listTasks", project_id=first)
        await said("deleteProject", project_id=other)
        await said("listTasks", project_id=other)
        await said("deleteProject", project_id=other)
    world = tmp_path / "tasks.yaml"
    report = draft(manifest, world, "--recording", recording)
    assert share_bound(report) >= 0.6
    assert {name for name, tool in report["tools"].items() if not tool["bound"]} == {
        "expandTask", "getNextTask", "exportProject", "importProject",
    }  # fmt: skip
    assert report["share"] >= 0.85
    async with connected(served(world)) as said:
        project = (await said("createProject", projectName="Shed"))["project_id"]
        one = await said("addTask", project_id=project, description="Buy planks")
        two = await said(
            "addTask", project_id=project, description="Buy nails", priority="high", dependencies=[one["task_id"]]
        )
        assert one["task_id"] != two["task_id"] and (one["status"], one["priority"]) == ("todo", "medium")
        assert [task["description"] for task in await said("listTasks", project_id=project)] == [
            "Buy planks",
            "Buy nails",
        ]
        assert (await said("showTask", project_id=project, task_id=two["task_id"]))["dependencies"] == [one["task_id"]]
        changed = await said("updateTask", project_id=project, task_id=one["task_id"], description="Buy oak planks")
        assert changed["description"] == "Buy oak planks" and changed["updated_at"] != one["updated_at"]
        assert await said(
            "setTaskStatus", project_id=project, task_ids=[one["task_id"], two["task_id"]], status="review"
        ) == {
            "success": True,
            "updated_count": 2,
        }
        assert [task["status"] for task in await said("listTasks", project_id=project, status="review")] == [
            "review"
        ] * 2
        assert await said("deleteTask", project_id=project, task_ids=[one["task_id"]]) == {
            "success": True,
            "deleted_count": 1,
        }
        gone = f"Task with ID {one['task_id']} not found in project {project}."
        assert await said("showTask", project_id=project, task_id=one["task_id"]) == f"error: MCP error -32602: {gone}"
        assert await said("deleteProject", project_id=project) == {"success": True}
        assert "not found" in await said("listTasks", project_id=project)
        assert (
            await said("getNextTask", project_id=project)
            == "error: getNextTask is not supported by this simulated server."
        )


@pytest.mark.full
async def test_a_real_server_of_tasks_from_npm_is_drafted_and_refuses_what_nothing_explains(tmp_path: Path) -> None:
    command = real_servers.task_orchestrator(tmp_path / "tasks.json")
    manifest = capture(command, tmp_path / "all.json", name="orchestrator")
    recording = tmp_path / "rec.jsonl"
    async with connected(recorded(command, recording)) as said:
        await said("listTasks")
        fence = await said(
            "createTask",
            name="Paint the fence",
            description="Two coats of green",
            completion_criteria=["No wood shows"],
            constraints=["Only in dry weather"],
        )
        lawn = await said("createTask", name="Mow the lawn")
        paint = await said("createTask", name="Buy the paint", description="Green, five litres")
        first, second, third = (made["task"]["id"] for made in (fence, lawn, paint))
        await said("listTasks")
        await said("getTask", id=first)
        await said("getTask", id=second)
        await said("getTask", id="nobody")
        await said("updateTask", id=second, name="Mow the big lawn", description="Before noon")
        await said("getTask", id=second)
        await said("updateTask", id="nobody", name="x")
        await said("updateTask", id=third, status="done", resolution="In the shed")
        await said("getTask", id=third)
        await said("deleteTask", id=second)
        await said("deleteTask", id=second)
        await said("getTask", id=second)
        await said("listTasks")
        # Tasks are done in their order: to start this one before the others is refused.
        rake = await said("createTask", name="Rake the leaves")
        await said("startTask", id=first)
        await said("startTask", id=rake["task"]["id"])
        await said("startTask", id="nobody")
        await said("completeTask", id=first, resolution="It is green")
    world = tmp_path / "orchestrator.yaml"
    report = draft(manifest, world, "--recording", recording)
    unbound = {name: tool["reason"] for name, tool in report["tools"].items() if not tool["bound"]}
    assert share_bound(report) >= 0.6 and set(unbound) == {"startTask", "completeTask"}
    assert "it would do what the server refused" in unbound["startTask"]
    bound = [tool for name, tool in report["tools"].items() if name not in unbound]
    assert sum(tool["same"] for tool in bound) >= 0.85 * sum(tool["calls"] for tool in bound)
    async with connected(served(world)) as said:
        one = (await said("createTask", name="Dig", constraints=["By hand"]))["task"]
        two = (await said("createTask", name="Sow", description="Beans"))["task"]
        assert (one["status"], one["constraints"], two["description"]) == ("todo", ["By hand"], "Beans")
        assert "constraints" not in two and one["id"] != two["id"]
        assert await said("getTask", id=one["id"]) == {"task": one}
        assert (await said("listTasks"))["tasks"] == [one, two]
        changed = await said("updateTask", id=two["id"], name="Sow beans", status="in_progress")
        assert changed["task"] == {**two, "name": "Sow beans", "status": "in_progress"}
        assert await said("deleteTask", id=one["id"]) == {"id": one["id"]}
        assert [task["name"] for task in (await said("listTasks"))["tasks"]] == ["Sow beans"]
        gone = await said("getTask", id=one["id"])
        assert "TASK_NOT_FOUND" in gone and f"Task with id '{one['id']}' not found" in gone
        assert await said("startTask", id=two["id"]) == "error: startTask is not supported by this simulated server."


async def test_a_server_with_structured_content_and_a_beginning_is_drafted(tracker: Path, tmp_path: Path) -> None:
    world = tmp_path / "tracker.yaml"
    report = draft(tracker, world)
    assert share_bound(report) == 0.9 and report["tools"]["guess_workload"]["reason"]
    assert report["share"] == pytest.approx(35 / 37, abs=1e-4)
    assert {name: table["rows"] for name, table in report["tables"].items()} == {
        "authors": 2,
        "issues": 3,
        "comments": 3,
    }
    async with connected(served(world)) as said:
        assert [issue["key"] for issue in (await said("list_issues"))["issues"]] == ["ISS-3", "ISS-2", "ISS-1"]
        made = await said("create_issue", title="Gate squeaks", body="All day", author_id="bo", labels=["noise"])
        assert (made["key"], made["author"], made["comments"]) == ("ISS-4", {"id": "bo", "name": "Bo Chen"}, [])
        await said("add_comment", issue_key="ISS-4", text="Oil it")
        assert await said("get_issue", key="ISS-4") == {
            **made,
            "comments": [{"id": 4, "text": "Oil it", "author_id": "bo"}],
        }
        assert (await said("list_issues", label="noise", limit=1))["total"] == 1
        assert (await said("list_issues", limit=1, offset=3))["issues"][0]["key"] == "ISS-1"
        assert (await said("search_issues", query="SLOWLY"))["matches"] == [
            {"key": "ISS-3", "title": "Page loads slowly"}
        ]
        assert (await said("update_issue", key="ISS-2", pinned=False))["pinned"] is False
        await said("close_issue", key="ISS-2")
        assert [issue["key"] for issue in (await said("list_issues", state="closed"))["issues"]] == ["ISS-2"]
        assert await said("delete_issue", key="ISS-4") == "Deleted ISS-4 (Gate squeaks)"
        assert await said("get_issue", key="ISS-4") == "error: Error executing tool get_issue"
        # An id that became free is never given again, as the recording shows.
        assert (await said("create_issue", title="Next", body="one"))["key"] == "ISS-5"
        assert (
            await said("guess_workload", weeks=2) == "error: guess_workload is not supported by this simulated server."
        )


def test_the_same_input_gives_the_same_bytes(tracker: Path, tmp_path: Path) -> None:
    texts = []
    for seed in ("1", "2"):
        out = tmp_path / "worlds" / "tracker.yaml"
        words = [sys.executable, "-m", "simtrain", "world", "draft", str(tracker), "--out", str(out), "--force"]
        subprocess.run(
            words, check=True, capture_output=True, timeout=drafting.LIMIT, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        texts.append(out.read_bytes())
    assert texts[0] == texts[1]


def test_the_surface_stays_that_of_the_capture(tracker: Path, tmp_path: Path) -> None:
    world = tmp_path / "tracker.yaml"
    draft(tracker, world)
    again = capture(served(world), tmp_path / "again.json", name="again")
    first, second = (json.loads(path.read_text())["servers"] for path in (tracker, again))
    shown = [surface["lists"]["tools/list"] for surface in first["tracker"]["surfaces"]]
    assert [surface["lists"]["tools/list"] for surface in second["again"]["surfaces"]] == shown
    for mistake in ("unknown_tool", "bad_arguments"):
        assert second["again"]["profile"][mistake] == first["tracker"]["profile"][mistake]


def test_without_recorded_calls_every_tool_stays_unbound_and_the_draft_serves(tmp_path: Path) -> None:
    manifest = capture(TRACKER, tmp_path / "bare.json", name="bare")
    report = draft(manifest, tmp_path / "bare.yaml")
    assert report["bound"] == 0 and report["tables"] == {}
    assert {tool["reason"] for tool in report["tools"].values()} >= {"no recorded call shows what it does"}
    assert len(load_world(tmp_path / "bare.yaml").build().tools) == 10


def test_of_several_servers_one_is_named(tracker: Path, tmp_path: Path) -> None:
    servers = json.loads(tracker.read_text())
    servers["servers"] = {"one": servers["servers"]["tracker"], "two": servers["servers"]["tracker"]}
    both = tmp_path / "both.json"
    both.write_text(json.dumps(servers))
    out = tmp_path / "one.yaml"
    assert "name one with --server: one, two" in simtrain("world", "draft", both, "--out", out, code=2)
    assert "did you mean 'one'" in simtrain("world", "draft", both, "--out", out, "--server", "onee", code=2)
    assert not out.exists()
    report = draft(both, out, "--server", "one")
    assert report["bound"] == 9 and "manifest: one.manifest.json" in out.read_text()
    assert "--force replaces it" in simtrain("world", "draft", both, "--out", out, "--server", "one", code=2)


def test_bad_input_is_refused_and_nothing_is_written(tracker: Path, tmp_path: Path) -> None:
    out = tmp_path / "w.yaml"
    no_manifest = tmp_path / "no.json"
    no_manifest.write_text("[]")
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"format":"simtrain-recording/9","server":"x","transport":"stdio"}\n')
    assert "this is no manifest" in simtrain("world", "draft", no_manifest, "--out", out, code=2)
    assert "not 'simtrain-recording/1'" in simtrain(
        "world", "draft", tracker, "--recording", torn, "--out", out, code=2
    )
    assert "ends in .yaml" in simtrain("world", "draft", tracker, "--out", tmp_path / "w.json", code=2)
    assert not out.exists()


def hostile(tools: list[dict[str, Any]], calls: list[tuple[str, dict[str, Any], str]], path: Path) -> Path:
    """A manifest of a server that says whatever it likes."""
    surface = Surface(
        "2025-11-25",
        {},
        {"serverInfo": {"name": "h", "version": "1"}, "capabilities": {"tools": {}}},
        {"tools/list": ({"tools": tools},)},
    )
    exchanges = tuple(
        Exchange(
            "tools/call",
            {"name": name, "arguments": arguments},
            {"result": {"content": [{"type": "text", "text": text}]}},
            "2025-11-25",
        )
        for name, arguments, text in calls
    )
    write_manifest(Manifest({"h": ServerManifest("h", {"command": ["h"]}, (surface,), exchanges)}), path)
    return path


def test_what_a_server_says_is_never_taken_for_sql_templates_or_yaml(tmp_path: Path) -> None:
    key = "a'b\"c -- \n drop"
    thing = {
        "id": 1,
        key: "{{ 7 * 7 }}",
        "select": "x'; drop table things; --",
        "ID": 2,
        "note": "# no comment\n- item: {}",
    }
    tools = [
        {
            "name": "get_thing",
            "description": "line\n  - name: evil\u2028x",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        },
        {"name": "list_things", "inputSchema": {"type": "object", "properties": {"select": {"type": "string"}}}},
        {"name": "odd\nname: {{ 1 }}", "inputSchema": {"type": "object"}},
    ]
    plain = {"id": 2, "select": "{% raw %}", "note": "true"}
    calls = [
        ("get_thing", {"id": 1}, json.dumps({name: value for name, value in thing.items() if name not in (key, "ID")})),
        ("get_thing", {"id": 2}, json.dumps(plain)),
        ("get_thing", {"id": 3}, "nothing {{ here }} for 3 {% if %}"),
        ("list_things", {}, json.dumps([{"id": 1, "note": thing["note"]}, {"id": 2, "note": "true"}])),
        ("list_things", {"select": "{% raw %}"}, json.dumps([{"id": 2, "note": "true"}])),
        ("odd\nname: {{ 1 }}", {}, json.dumps(thing)),
    ]
    world = tmp_path / "h.yaml"
    report = draft(hostile(tools, calls, tmp_path / "h.json"), world)
    assert report["tools"]["get_thing"] == {
        "bound": True,
        "reason": None,
        "notes": [],
        "calls": 3,
        "same": 3,
        "first_difference": None,
    }
    assert report["tools"]["list_things"]["same"] == 2
    built = load_world(world).build()
    assert len(built.tools) == 3 and built.query('select "select" as s from things order by id')[1] == {
        "s": "{% raw %}"
    }


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"read": {"result": {"value": "select 'In ' || :weeks || ' weeks'"}}}, "recorded replies"),
        ({"write": ["attach database 'x' as y"], "read": {"result": {"value": "select 1"}}}, "may not do this"),
        ({"read": {"result": {"value": "delete from issues returning 1"}}}, "tools["),
        ({"handler": "memory_read_graph"}, "'handler' is not allowed"),
        ("no JSON at all", "not JSON"),
    ],
)  # fmt: skip
def test_what_a_model_writes_is_refused_unless_it_gives_the_recorded_replies(
    entry: object, reason: str, tracker: Path, tmp_path: Path
) -> None:
    said = Say(entry if isinstance(entry, str) else json.dumps(entry))
    with FakeOpenAI([said, said]) as server:
        report = draft(tracker, tmp_path / "t.yaml", "--chat", "fake", "--base-url", server.url)
    tool = report["tools"]["guess_workload"]
    assert not tool["bound"] and reason in tool["reason"] and report["share"] == pytest.approx(35 / 37, abs=1e-4)
    assert len(server.chats) == 2


async def test_a_model_writes_a_tool_that_the_recordings_confirm(tracker: Path, tmp_path: Path) -> None:
    words = "select 'In ' || :weeks || ' weeks: ' || iif(:weeks * 7 % 3, 'busy', 'quiet')"
    words += " || ', about ' || (:weeks * 13 % 7) || ' issues a day'"
    entry = {"read": {"result": {"value": words}}, "text": "{{ result }}"}
    wrong = {"read": {"result": {"value": "select 'quiet'"}}}
    world = tmp_path / "t.yaml"
    with FakeOpenAI([Say(json.dumps(wrong)), Say(f"```json\n{json.dumps(entry)}\n```")]) as server:
        report = draft(tracker, world, "--chat", "fake", "--base-url", server.url)
    assert (report["bound"], report["share"]) == (10, 1.0)
    assert "written by a chat model" in report["tools"]["guess_workload"]["notes"][0]
    asked = server.chats[0]["messages"][1]["content"]
    assert "create table issues" in asked and "In 2 weeks" in asked
    assert "That does not hold" in server.chats[1]["messages"][-1]["content"]
    async with connected(served(world)) as said:
        assert await said("guess_workload", weeks=5) == "In 5 weeks: busy, about 2 issues a day"


def test_the_report_is_read_by_people(tracker: Path, tmp_path: Path) -> None:
    shown = simtrain("world", "draft", tracker, "--out", tmp_path / "t.yaml")
    assert "9 of 10 tools are bound to SQL; 35 of 37 recorded replies come out the same." in " ".join(shown.split())
    text = (tmp_path / "t.yaml").read_text()
    assert "# Left to be filled in: not understood: the value of 'result'." in text
    assert max(map(len, simtrain("world", "draft", "--help").splitlines())) <= 80

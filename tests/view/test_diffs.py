"""Edits of a coding agent in the viewer and on a terminal: lines that came and went are marked, and nothing in them is taken for HTML."""

import re
from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console

from simtrain.contracts.drawing import DiffDrawing
from simtrain.contracts.registry import resolve
from simtrain.contracts.trajectory import Event, Step
from simtrain.runs.reading import print_trajectory
from simtrain.testing.example_worlds import play_example
from simtrain.values.types import Action, Change, JsonObject, Observation
from simtrain.view.shown_episode import shown_turns
from simtrain.view.viewer_templates import viewer_templates

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old = '<b>'\n+new = '<script>alert(1)</script>'\n"


def test_lines_that_came_or_went_are_marked_and_escaped() -> None:
    page = viewer_templates().from_string(
        '{% from "parts.html.jinja" import drawing with context %}{{ drawing(parts) }}'
    )
    html = page.render(parts=[DiffDrawing(DIFF)])
    assert '<span class="bad">-old = &#39;&lt;b&gt;&#39;</span>' in html
    assert '<span class="good">+new = &#39;&lt;script&gt;alert(1)&lt;/script&gt;&#39;</span>' in html
    assert "<script>" not in html


def test_a_changed_text_of_several_lines_is_shown_as_a_diff_under_the_name_of_its_file() -> None:
    before = {"host": "oak", "path": "/srv/x.py", "size": 9, "content": "one\ntwo\n<b>\n"}
    after = {**before, "size": 7, "content": "one\n<i>\n<b>\n"}
    page = viewer_templates().from_string(
        '{% from "parts.html.jinja" import changed with context %}{{ changed(trajectory) }}'
    )
    html = page.render(
        trajectory={"changes": {"files": (Change(3, before, after), Change(4, None, {"host": "oak", "path": "/a\nb"}))}}
    )
    assert "changed: host oak path /srv/x.py" in html and "<del>9</del> <ins>7</ins>" in html
    lines = re.findall(r'<span(?: class="(\w+)")?>([^<]*)</span>', html)
    assert lines[:6] == [
        ("soft", "@@ -1,3 +1,3 @@"),
        ("", " one"),
        ("bad", "-two"),
        ("good", "+&lt;i&gt;"),
        ("", " &lt;b&gt;"),
        ("soft", "@@ -0,0 +1,2 @@"),
    ]


async def test_pages_leave_out_arguments_that_the_drawn_reply_shows() -> None:
    played = await play_example(place="host")

    def argued(action: Action, content: JsonObject, **other: Any) -> str:
        step = replace(played.steps[0], action=action, observation=Observation("text", structured=content), **other)
        turns = (replace(played.turns[0], steps=(step,)),)
        return shown_turns(replace(played, turns=turns), resolve("domains", "terminal")())[0].steps[0].arguments

    prompted: JsonObject = {"stdout": "", "stderr": "", "exit_code": 0, "prompt": "$ "}
    assert argued(Action("1", "bash", {"command": "ls"}), prompted) == ""
    assert argued(Action("1", "bash", {"command": "ls", "timeout": 5}), prompted) == '{"timeout":5}'
    keys: JsonObject = {"commands": [{"keystrokes": "ls\n"}, {"keystrokes": "C-c", "duration": 0.5}]}
    assert argued(Action("1", "keystrokes", keys), {"screen": ""}) == "ls⏎ (1 s)\nC-c (0.5 s)"
    edit = Action("1", "edit", {"file_path": "/x.py", "old_string": "old", "new_string": "new"})
    assert argued(edit, {"file_path": "/x.py", "diff": DIFF}) == "/x.py"
    assert '"old_string"' in argued(edit, {})
    # What was perturbed is not drawn, so all of the call is told.
    assert '"ls"' in argued(
        Action("1", "bash", {"command": "ls"}),
        prompted,
        events=(Event("x", "x", "reply", 1, None, Observation("text")),),
    )


async def test_a_terminal_shows_an_edit_as_a_diff_and_the_end_of_a_long_output() -> None:
    played = await play_example(place="host")
    edit = Action("1", "edit", {"file_path": "/x.py", "old_string": "old", "new_string": "new"})
    run = Action("2", "bash", {"command": "pytest"})
    report = "".join(f"line {number}\n" for number in range(200)) + "1 failed, 50 passed in 0.07s"
    content = {"stdout": report, "stderr": "", "exit_code": 1, "prompt": "$ "}
    first, second = played.steps[:2]
    steps: tuple[Step, ...] = (
        replace(
            first, action=edit, observation=Observation("updated", structured={"file_path": "/x.py", "diff": DIFF})
        ),
        replace(second, action=run, observation=Observation(report, structured=content)),
    )
    screen = StringIO()
    turns = (replace(played.turns[0], steps=steps),)
    print_trajectory(Console(file=screen, width=80, color_system=None), replace(played, turns=turns))
    shown = screen.getvalue()
    assert "  1  edit /x.py\n" in shown and "     -old = '<b>'\n" in shown
    assert "old_string" not in shown and "updated" not in shown
    assert "line 0\n" in shown and "line 100\n" not in shown and "1 failed, 50 passed in 0.07s\n" in shown

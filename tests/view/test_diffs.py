"""Edits of a coding agent in the viewer and on a terminal: lines that came and went are marked, and nothing in them is taken for HTML."""

from dataclasses import replace
from io import StringIO

from rich.console import Console

from simtrain.contracts.drawing import DiffDrawing
from simtrain.contracts.trajectory import Step
from simtrain.runs.reading import print_trajectory
from simtrain.testing.example_worlds import play_example
from simtrain.values.types import Action, Observation
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

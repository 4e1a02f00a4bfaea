"""The SWE domain: how calls of a coding agent are written for a world model, read from its prediction, and drawn."""

import pytest

from simtrain.contracts.drawing import DiffDrawing, TableDrawing, TextDrawing
from simtrain.contracts.registry import resolve
from simtrain.contracts.request import Request
from simtrain.values.types import Action, JsonObject, Observation, ToolSpec
from simtrain.world_models.domains.swe import SweDomain
from simtrain.worlds.machine.coding.tools import coding_tools
from simtrain.worlds.machine.tool import bash_tool

TOOLS = {tool.name: tool for tool in (bash_tool("oak", "ann", 120), *coding_tools("oak", "ann"))}
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n"


def _request(tool: str, arguments: JsonObject) -> Request:
    return Request(TOOLS[tool], arguments, 0, 0)


def test_the_prompt_names_the_tools_of_the_episode() -> None:
    domain = SweDomain()
    prompt = domain.system_prompt([TOOLS["read"], TOOLS["edit"]])
    assert "coding agent" in prompt
    assert "## edit" in prompt and "## grep" not in prompt
    assert "screen" in domain.system_prompt([ToolSpec("keystrokes", "", {})])


def test_a_call_is_json_and_a_command_line_is_a_command_line() -> None:
    domain = resolve("domains", "swe")()
    assert domain.write_action(_request("read", {"file_path": "/x"}), turn=2) == (
        '### Turn 2\n\n**Action:**\n```json\n{"name":"read","arguments":{"file_path":"/x"}}\n```'
    )
    assert domain.write_action(_request("bash", {"command": "pytest -q"}), turn=1).endswith("```bash\npytest -q\n```")
    assert domain.write_observation(Observation("no", is_error=True)) == "**Environment Observation:**\nError: no"


def test_a_prediction_is_text_with_an_exit_code_or_an_error() -> None:
    domain = SweDomain()
    ran = domain.parse("**Environment Observation:**\n1 failed\n[exit code 1]", _request("bash", {"command": "pytest"}))
    assert ran.structured == {"stdout": "1 failed", "stderr": "", "exit_code": 1}
    found = domain.parse("**Environment Observation:**\nFound 1 file\n/x", _request("grep", {"pattern": "x"}))
    assert found == Observation("Found 1 file\n/x")
    refused = domain.parse("Error: File does not exist.", _request("read", {"file_path": "/x"}))
    assert refused == Observation("File does not exist.", is_error=True)
    with pytest.raises(ValueError, match="repeats the call"):
        domain.parse('{"name":"read","arguments":{"file_path":"/x"}}', _request("read", {"file_path": "/x"}))


def test_an_edit_is_drawn_as_a_diff_and_a_list_of_things_to_do_as_a_table() -> None:
    domain = SweDomain()
    edit = Action("1", "edit", {"file_path": "/x.py", "old_string": "2", "new_string": "3"})
    (diff,) = domain.draw(edit, Observation("done", structured={"diff": DIFF}))
    assert isinstance(diff, DiffDrawing)
    assert [look for _, look in diff.lines] == ["soft", "soft", "soft", "", "bad", "good"]
    todos: JsonObject = {"todos": [{"content": "Run the tests", "status": "in_progress"}]}
    (table,) = domain.draw(Action("2", "todo_write", todos), Observation("done", structured=todos))
    assert isinstance(table, TableDrawing) and table.rows == [["[>]", "Run the tests"]]
    ran = Observation("1 passed", structured={"stdout": "1 passed", "stderr": "", "exit_code": 0, "prompt": "$ "})
    assert domain.draw(Action("3", "bash", {"command": "pytest"}), ran) == [TextDrawing("$ pytest\n1 passed")]
    assert domain.draw(Action("4", "grep", {"pattern": "x"}), Observation("No files found")) == [
        TextDrawing("No files found")
    ]

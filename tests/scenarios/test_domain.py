"""A scenario that names no domain has that of its world's tools: replies are drawn, and faults worded, as they should be there."""

from pathlib import Path

import pytest

from simtrain.scenarios.load import load_scenario_file

WORLD = """
kind: machine
name: desk
hostname: desk
user: kim
users: {kim: {}}
"""
SCENARIO = """
name: look
world: {{use: desk, with: {{actions: {actions}}}}}
{domain}
prompt: What is here?
rubric: [{{use: answer, with: {{sql: "select 1", as: number}}}}]
"""


@pytest.mark.parametrize(
    ("actions", "written", "domain"),
    [("bash", "", "terminal"), ("keystrokes", "", "terminal"), ("coding", "", "swe"), ("coding", "domain: mcp", "mcp")],
)
def test_it_is_that_of_the_worlds_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, actions: str, written: str, domain: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "scenarios" / "look.yaml"
    for path in (tmp_path / "worlds" / "desk.yaml", file):
        path.parent.mkdir()
        path.write_text(WORLD)
    file.write_text(SCENARIO.format(actions=actions, domain=written))
    assert load_scenario_file(file, "look").spec.domain == domain

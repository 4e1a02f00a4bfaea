"""A machine of a dozen files, for tests of perturbations that are met in a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perturbing import Played

from simtrain import load_scenario, open_episode
from simtrain.episodes.proxy import Proxy
from simtrain.values.types import Action

WORLD = """\
kind: machine
name: bench
description: A machine for tests.
seed: 3
clock: {start: 2031-03-03T09:00:00Z, per_step: 5s}
hostname: bench
user: kim
users: {kim: {groups: [adm], sudo: true}, lee: {}}
disk: {size: 20G}
schema: create table towns (name text primary key, people integer not null);
rows:
  towns: {count: 60, with: {name: "{city} {seq}", people: {int: [900, 90000]}}}
files:
  - {path: /srv/towns.csv, lines: "select name || ',' || people from towns order by name", owner: kim}
  - {path: /srv/notes.txt, content: "The list is made anew each year.\\nAsk lee.\\n", owner: kim}
  - {path: /srv/app.log, content: "2031-03-03T08:00:01Z started\\n2031-03-03T08:10:01Z took 40 ms\\n", group: adm}
  - {path: /srv/app/settings.json, content: "{\\"port\\": 9000}\\n", owner: kim}
  - {path: /srv/app/tests/test_app.py, content: "def test_port():\\n    pass\\n\\n\\ndef test_name():\\n    pass\\n", owner: kim}
commands:
  pytest: {template: "..                                                                       [100%]\\n2 passed in 0.01s"}
services:
  web: {description: A web server, command: /usr/sbin/web, port: 8080}
  api: {description: An interface, command: /usr/sbin/api, port: 9000, state: inactive}
index: {apt: {jq: 1.6-2.1, tree: 2.1.0-1}, pip: {rich: 13.7.1}}
repositories:
  - path: /srv/lib
    owner: kim
    commits:
      - message: Begin
        author: Kim <kim@bench>
        date: 2031-03-01T09:00:00Z
        files: {rates.py: "def rate(day):\\n    return \\"low\\"\\n"}
      - message: Take the weekend into account
        author: Lee <lee@bench>
        date: 2031-03-02T09:00:00Z
        files: {rates.py: "def rate(day):\\n    return \\"high\\" if day > 4 else \\"low\\"\\n"}
machines:
  other: {users: {kim: {}}, files: [{path: /srv/copy.txt, content: "a copy\\n", owner: kim}]}
"""
SCENARIO = """\
name: bench
world: bench.yaml
domain: terminal
prompt: Look around.
rubric: {calls: optional, graders: [{use: answer, with: {value: done}}]}
"""


async def type_in(
    folder: Path, perturbation: dict[str, Any] | None, *commands: str | tuple[str, dict[str, Any]]
) -> Played:
    """Type the command lines one after the other; a pair is a call of another tool."""
    more = "" if perturbation is None else f"perturbations: [{json.dumps(perturbation)}]\n"
    (folder / "bench.yaml").write_text(WORLD)
    path = folder / "scenario.yaml"
    path.write_text(SCENARIO + more)
    environment = open_episode(load_scenario(path))
    assert isinstance(environment, Proxy)
    async with environment:
        for number, typed in enumerate(commands):
            tool, arguments = ("bash", {"command": typed}) if isinstance(typed, str) else typed
            environment.begin_turn()
            await environment.step(Action(str(number), tool, arguments))
        return Played(list(environment.steps), environment.finished().changes, environment.tools)

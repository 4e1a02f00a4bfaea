"""Refusals of captured servers: bad calls to real servers that nobody looked at before, and to what stands in for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import real_servers
from drafting import capture
from refusing import Tally, compare, served

pytestmark = pytest.mark.full


async def test_refusals_of_unseen_servers_are_worded_alike_and_none_names_the_wrong_parameter(tmp_path: Path) -> None:
    tallies: dict[str, Tally] = {}
    for server in real_servers.UNSEEN:
        (tmp_path / server).mkdir()
        command = real_servers.unseen(server, tmp_path / server)
        manifest = capture(command, tmp_path / server / "captured.json", name=server)
        tallies[server] = tally = await compare(command, served(manifest, sys.executable), tmp_path / server)
        print(f"{server}: {tally.same} of {tally.refused} refusals are worded alike")
        print(*tally.different, sep="\n")
    same, refused = (sum(getattr(tally, key) for tally in tallies.values()) for key in ("same", "refused"))
    print(f"{same} of {refused} refusals are worded alike")
    assert all(tally.refused for tally in tallies.values())
    assert {server: tally.misled for server, tally in tallies.items() if tally.misled} == {}
    assert same >= 0.75 * refused


async def test_a_server_that_does_not_say_which_tools_read_is_worded_alike_when_all_may_be_asked(
    tmp_path: Path,
) -> None:
    command = real_servers.unseen("docs", tmp_path)
    manifest = capture(command, tmp_path / "captured.json", "--probe-writes", name="docs")
    tally = await compare(command, served(manifest, sys.executable), tmp_path)
    print(f"docs, all tools asked: {tally.same} of {tally.refused} refusals are worded alike")
    assert (tally.same, tally.misled) == (tally.refused, [])
    assert tally.refused > 10

"""Refusals of captured servers: bad calls to real servers that nobody looked at before, and to what stands in for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import real_servers
from drafting import capture
from refusing import Tally, compare, served

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """The tallies of the servers that were asked so far."""
    return {}


@pytest.mark.parametrize("server", real_servers.UNSEEN)
async def test_no_refusal_of_an_unseen_server_names_the_wrong_parameter(
    server: str, tmp_path: Path, tallies: dict[str, Tally]
) -> None:
    command = real_servers.unseen(server, tmp_path)
    manifest = capture(command, tmp_path / "captured.json", name=server)
    tallies[server] = tally = await compare(command, served(manifest, sys.executable), tmp_path)
    print(f"{server}: {tally.same} of {tally.refused} refusals are worded alike")
    print(*tally.different, sep="\n")
    assert tally.refused and not tally.misled


def test_three_of_four_refusals_of_unseen_servers_are_worded_alike(tallies: dict[str, Tally]) -> None:
    assert len(tallies) == len(real_servers.UNSEEN)
    same, refused = (sum(getattr(tally, key) for tally in tallies.values()) for key in ("same", "refused"))
    print(f"{same} of {refused} refusals are worded alike")
    assert same >= 0.75 * refused

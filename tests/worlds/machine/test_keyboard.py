"""Terminals of machines against a real bash in a real pseudo-terminal: the same keys, the same screens."""

import sys
from pathlib import Path
from shutil import which

import pytest

from tests.worlds.machine.keyboard.compare import compare
from tests.worlds.machine.keyboard.sessions import SESSIONS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or which("bash") is None or which("less") is None or which("git") is None,
    reason="compares with GNU bash, less and git in a pseudo-terminal",
)

LEAST = 95.0
"""Least share of sessions that are equal in every screen, in percent."""
EVERY = 20


def test_there_are_enough_sessions() -> None:
    assert len(SESSIONS) >= 60


def test_a_sample_of_the_sessions_shows_what_bash_shows(tmp_path: Path) -> None:
    names = [*SESSIONS][::EVERY]
    differences = {name: compare(name, tmp_path / str(number)) for number, name in enumerate(names)}
    assert [name for name, difference in differences.items() if difference is not None] == []


@pytest.mark.full
def test_nearly_all_sessions_show_what_bash_shows(tmp_path: Path) -> None:
    differences = {name: compare(name, tmp_path / str(number)) for number, name in enumerate(SESSIONS)}
    # On a busy machine the real terminal may be looked at before it has written; ours draws the same each time.
    for number, name in enumerate(name for name, difference in differences.items() if difference is not None):
        differences[name] = compare(name, tmp_path / f"again-{number}")
    wrong = {name: difference for name, difference in differences.items() if difference is not None}
    share = 100 * (1 - len(wrong) / len(SESSIONS))
    told = "\n".join(f"{name}: {difference}" for name, difference in wrong.items())
    print(f"{len(SESSIONS) - len(wrong)} of {len(SESSIONS)} sessions equal, {share:.1f} %\n{told}")
    assert share >= LEAST, told

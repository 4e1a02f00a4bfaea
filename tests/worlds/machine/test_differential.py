"""The shell of a machine world against the bash of this machine: the same output and exit code for the same line."""

import sys
from pathlib import Path
from shutil import which

import pytest

from tests.worlds.machine.differential.comparing import compare
from tests.worlds.machine.differential.entries import commands, scripts
from tests.worlds.machine.differential.generated import generated

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or which("bash") is None, reason="compares with GNU bash and coreutils"
)

EVERY = 50
LISTED, GENERATED = 95.0, 88.0
"""Least shares of equal outcomes, in percent."""


def test_the_list_has_the_promised_size_and_no_line_twice() -> None:
    texts = [entry.text for entry in [*commands(), *scripts()]]
    assert len(commands()) >= 600 and len(scripts()) >= 60
    assert len(set(texts)) == len(texts)


def test_a_sample_of_the_list_gives_what_bash_gives(tmp_path: Path) -> None:
    found = compare([*commands()[::EVERY], *scripts()[::EVERY]], tmp_path)
    assert found.share >= 90, found.told()


@pytest.mark.full
def test_nearly_all_of_the_list_gives_what_bash_gives(tmp_path: Path) -> None:
    found = compare([*commands(), *scripts()], tmp_path)
    assert found.share >= LISTED, found.told()


@pytest.mark.full
def test_most_generated_lines_give_what_bash_gives(tmp_path: Path) -> None:
    found = compare(generated(500), tmp_path)
    assert found.share >= GENERATED, found.told()

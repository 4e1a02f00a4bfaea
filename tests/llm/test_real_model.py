"""A real model on a real server in every place where a model can be: `make real`, and what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PLAY = Path(__file__).parents[1] / "real" / "play.py"
MINUTES = 12
PARTS = (
    "agent, chat:smollm2",
    "agent, malformed call",
    "agent, token ids",
    "agent, refused",
    "world, use: chat",
    "judge",
    "world enrich",
    "closed book",
)


@pytest.mark.full
def test_a_real_model_is_agent_world_judge_and_writer_and_no_episode_is_lost() -> None:
    done = subprocess.run(
        [sys.executable, str(PLAY)], capture_output=True, text=True, timeout=MINUTES * 60, stdin=subprocess.DEVNULL
    )
    if done.returncode == 3:
        pytest.skip(f"NO REAL MODEL WAS PLAYED WITH: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    said = dict(re.findall(r"^(\S.*?) \(\d+ s\)\n((?:    .*\n)+)", done.stdout, re.M))
    assert tuple(said) == PARTS
    assert "6 episodes" in said[PARTS[0]] and " 0 lost; " in said[PARTS[0]]
    assert " 0 lost; 3 calls, 3 malformed" in said[PARTS[1]] and "the server answers 500" in said[PARTS[1]]
    assert re.search(r"\b2 episodes, \d+ ids sampled", said[PARTS[2]])
    told = re.search(r"the prompt has (\d+) tokens with 2 tools, and (\d+) without", said[PARTS[3]])
    assert told is not None and told[1] == told[2]
    assert re.search(r"replies, \d cut off; item F1 0\.000", said[PARTS[7]])
    assert done.stdout.endswith(" s\n") and "all held" in done.stdout


def test_what_plays_with_a_real_model_says_where_there_is_none(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.prefix = {str(tmp_path)!r}; import runpy; runpy.run_path({str(PLAY)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "SmolLM2 and its server are not installed: `make real` installs them\n"

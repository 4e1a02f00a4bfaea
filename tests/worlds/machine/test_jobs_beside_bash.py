"""Jobs in the background see what others do after they began: held against the bash of this machine, in a folder of its own."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.machines import machine_of, shell_on

SCRIPTS = (
    "(sleep .2; cat f) & echo later > f; wait",
    "echo old > f; (sleep .2; cat f) & sleep .1; echo new > f; wait; echo .",
    "(sleep .3; ls) & sleep .1; touch one two; wait",
    "(sleep .3; cat f; sleep .3; cat f) & echo a > f; sleep .4; echo b > f; wait",
    "(sleep .2; [ -f f ] && echo there > o || echo gone > o) & sleep .1; touch f; wait; cat o",
    "until [ -f flag ]; do sleep .1; done && echo seen > o & sleep .35; touch flag; wait $!; echo $?; cat o",
    "(until [ -f flag ]; do sleep .1; done; exit 3) & sleep .15; touch flag; wait $!; echo $?",
    "while [ ! -e stop ]; do echo x >> o; sleep .2; done & sleep .5; touch stop; wait; wc -l < o; jobs",
    "(sleep .1; echo a > f) & (sleep .2; cat f; echo b > f) & (sleep .3; cat f) & wait",
    "(sleep .2; cat f > g; sleep .2; cat g f > h) & sleep .1; echo 1 > f; sleep .2; echo 2 > f; wait; cat g h",
    "for i in 0.9 1.5 2.1; do (sleep $i; tail -n 1 f >> o) & done; for i in 1 2 3; do echo $i >> f; sleep .1; done; wait; cat f",
    "x=1; f() { sleep .2; echo $x $(cat f); }; f & x=2; echo 3 > f; wait",
    "(sleep .2; rm f && echo gone) & touch f; wait; ls",
    "(mkdir l 2> /dev/null && sleep .3; rmdir l) & (sleep .1; until mkdir l 2> /dev/null; do sleep .1; done; echo mine) & wait",
    "echo 'sleep .2; cat f' > s.sh; bash s.sh & echo late > f; wait",
    "(sleep .2; echo 1 > go) & (until [ -f go ]; do sleep .1; done; echo 2 > t; mv t on) & until [ -f on ]; do sleep .1; done; cat go on",
    "(sleep .2; echo b >> log) & echo a > log; (sleep .4; echo c >> log) & sleep .3; sed -i s/a/A/ log; wait; cat log",
    "(sleep .1; kill -0 $$ && cat f | sort | head -n 1) & printf 'b\\na\\n' > f; wait",
    "(sleep .3; cat f) & p=$!; echo x > f; kill $p; wait $p; echo $?",
)  # fmt: skip


SLOWER = 6
"""Sleeps are so many times as long as they are written: a busy machine starts a program late."""


@dataclass(frozen=True)
class Left:
    """What a script prints, its exit code, and the files that it leaves."""

    printed: str
    code: int
    files: dict[str, str]


def slower(script: str) -> str:
    return re.sub(r"sleep (\.\d+)", lambda found: f"sleep {float(found[1]) * SLOWER:g}", script)


def left_by_bash(script: str, folder: Path) -> Left:
    folder.mkdir()
    ended = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    files = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    return Left(ended.stdout, ended.returncode, files)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Left]:
    """What bash makes of each script, all at the same time."""
    folders = [tmp_path_factory.mktemp("bash") / "home" for _ in SCRIPTS]
    with ThreadPoolExecutor(len(SCRIPTS)) as threads:
        return dict(zip(SCRIPTS, threads.map(left_by_bash, map(slower, SCRIPTS), folders), strict=True))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_job_sees_what_is_written_after_it_began_as_with_bash(script: str, real: dict[str, Left]) -> None:
    machine = machine_of()
    ours = shell_on(machine).run(slower(script))
    home = "/home/ann"
    files = {
        name: node.content.decode()
        for name in machine.tree.names(home)
        if (node := machine.tree.get(f"{home}/{name}")) is not None and node.kind == "file"
    }
    assert Left(ours.stdout, ours.exit_code, files) == real[script]

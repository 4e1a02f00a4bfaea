"""A page of figures is believed only as far as each figure was measured, with the code that is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from change import ratios, table  # noqa: E402
from page import code_digest, problems, record  # noqa: E402
from report import Figure, ratio  # noqa: E402

PAGE = """\
## Figures

| figure | measured | target | floor |
|---|---|---|---|
| a step | 0.40 ms | 0.5 ms | 0.34 ms |
| lines a second | 19,000 / 5 | 10,000 | |

### Others
| elsewhere | 7 | | |
"""


def recorded(*values: float) -> dict[str, object]:
    return {"code": "now", "benchmarks": {"loop": [{"name": "x", "value": value} for value in values]}}


def test_every_figure_has_to_be_measured_in_the_precision_in_which_it_stands() -> None:
    assert problems(PAGE, recorded(0.398, 19_321.7, 5.2), "now") == []
    assert problems(PAGE, recorded(0.41, 18_400, 5.2), "now") == [
        "a step: 0.40 was not measured",
        "lines a second: 19,000 was not measured",
    ]


def test_figures_of_other_code_and_no_figures_at_all_are_refused() -> None:
    assert "other code" in problems(PAGE, recorded(0.4, 19_000, 5), "later")[0]
    assert "no figures" in problems(PAGE, None, "now")[0]


def test_what_is_recorded_is_kept_until_the_code_is_another(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    record(file, "one", [{"name": "x", "value": 1}])
    record(file, "two", [{"name": "y", "value": 2}])
    assert code_digest() in file.read_text() and '"one"' in file.read_text()
    file.write_text(file.read_text().replace(code_digest(), "other"))
    record(file, "two", [{"name": "y", "value": 2}])
    assert '"one"' not in file.read_text()


@pytest.mark.full
def test_every_benchmark_records_its_figures() -> None:
    for file in sorted(BENCHMARKS.glob("bench_*.py")):
        told = subprocess.run([sys.executable, file, "--help"], capture_output=True, text=True, check=True, timeout=60)
        assert "--record" in told.stdout, file.name


def test_figures_are_compared_as_multiples_of_their_floor_or_of_a_yardstick() -> None:
    assert ratio(Figure("a step", 0.6, "ms", floor=0.3), yardstick=0.5) == 2.0
    assert ratio(Figure("a build", 8.0, "s"), yardstick=0.5) == 16.0
    assert ratio(Figure("episodes", 100.0, "/s"), yardstick=0.5) == 50.0
    assert ratio(Figure("memory", 40.0, "KB"), yardstick=0.5) == 40.0


def test_the_change_of_each_figure_is_told_under_the_name_of_what_it_is_a_part_of() -> None:
    figures = [
        {"name": "a step", "ratio": 1.5},
        {"name": "  by the clock", "ratio": 3.0},
        {"name": "a call", "ratio": 2.0},
        {"name": "  by the clock", "ratio": 4.0},
        {"name": "loaded", "ratio": 0},
    ]
    now = ratios({"benchmarks": {"loop": figures}})
    before = {"loop / a step": 1.0, "loop / a call": 2.0, "loop / loaded": 0.0, "loop / an old one": 7.0}
    rows = [re.split(r"  +", row) for row in table(before, now)[1:]]
    assert rows == [
        ["loop / a step", "1", "1.5", "+50%"],
        ["loop / a step: by the clock", "-", "3", "new"],
        ["loop / a call", "2", "2", "same"],
        ["loop / a call: by the clock", "-", "4", "new"],
        ["loop / loaded", "0", "0", "same"],
        ["loop / an old one", "7", "-", "gone"],
    ]


def test_environments_of_peers_are_pinned_without_an_address() -> None:
    pinned = sorted((BENCHMARKS / "peers").glob("*.txt"))
    assert {path.stem for path in pinned} == {"verifiers", "inspect_ai", "langchain"}
    for path in pinned:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+-]+", line)] == []
        assert any(line.startswith(f"{path.stem}==") for line in lines)


@pytest.mark.full
def test_the_episode_that_peers_play_is_played_right_and_measured() -> None:
    command = [
        sys.executable,
        BENCHMARKS / "peers" / "compare.py",
        "simtrain",
        "--rounds",
        "1",
        "--episodes",
        "8",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    [found] = [json.loads(line) for line in done.stdout.splitlines()]
    assert 0 < found["in_process"] < found["http"]


@pytest.mark.full
def test_a_peer_that_is_not_known_and_a_checkout_that_is_not_there_are_refused_in_one_line() -> None:
    for given, said in (
        (["trl"], "no peer is called trl"),
        (["tau2"], "name a checkout"),
        (["--tau2", "nowhere"], "nowhere"),
    ):
        command = [sys.executable, BENCHMARKS / "peers" / "compare.py", *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2 and said in done.stderr.splitlines()[-1]


def test_the_last_figures_are_of_benchmarks_that_are_there() -> None:
    last = json.loads((BENCHMARKS / "last.json").read_text())
    shown = re.compile(r'show\(\s*f?"([^"{]+)')
    titles = tuple(title for file in BENCHMARKS.glob("bench_*.py") for title in shown.findall(file.read_text()))
    assert last and [name for name in last if not name.startswith(titles)] == []
